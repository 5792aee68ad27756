"""How Alembic reaches the database: through the application's own engine.

Each upgrade is one transaction on both databases, and upgrades started at once take turns.
"""

from __future__ import annotations

from typing import Any

from alembic import context
from flask import current_app
from sqlalchemy import Connection, event, text

# The key of PostgreSQL's advisory lock for upgrades; any number will do.
UPGRADE_LOCK = 0x1D5F0000


def run() -> None:
    """Run the migrations, or print their SQL (`--sql`)."""
    migrate = current_app.extensions["migrate"]
    options = {**migrate.configure_args, "target_metadata": migrate.db.metadata}
    if context.is_offline_mode():
        address = migrate.db.engine.url.render_as_string(hide_password=False)
        context.configure(url=address, literal_binds=True, **options)
        with context.begin_transaction():
            context.run_migrations()
        return
    with migrate.db.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            run_on_sqlite(connection, options)
        else:
            run_on_postgresql(connection, options)


def run_on_postgresql(connection: Connection, options: dict[str, Any]) -> None:
    context.configure(connection=connection, **options)
    with context.begin_transaction():
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": UPGRADE_LOCK})
        context.run_migrations()


def run_on_sqlite(connection: Connection, options: dict[str, Any]) -> None:
    """Like PostgreSQL, with two of SQLite's habits kept at bay.

    Its driver commits before each change of the schema, unless the transaction was begun by hand.
    And rebuilding a table, the only way to change one, would delete what refers to it.
    """
    driver: Any = connection.connection.dbapi_connection
    level, driver.isolation_level = driver.isolation_level, None
    driver.execute("PRAGMA foreign_keys = OFF")
    event.listen(connection, "begin", begin_immediate)
    try:
        context.configure(connection=connection, transactional_ddl=True, **options)
        with context.begin_transaction():
            context.run_migrations()
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
            if broken:
                raise RuntimeError(
                    f"The migration would leave rows that refer to nothing: {broken}"
                )
    finally:
        driver.execute("PRAGMA foreign_keys = ON")
        driver.isolation_level = level


def begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


run()
