"""How the database would run a statement. Needs no pytest."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event


def explained(engine: Engine, work: Callable[[], Any]) -> list[str]:
    """The plan of each statement that `work` makes."""
    seen: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    work()
    event.remove(engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
    with engine.connect() as connection:
        return [
            "\n".join(
                str(row[-1])
                for row in connection.exec_driver_sql(f"{explain} {statement}", parameters)
            )
            for statement, parameters in seen
        ]
