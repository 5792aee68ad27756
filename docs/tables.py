"""The table of settings in settings.md, made from the code: `python3 docs/tables.py` writes it.

It stands in the page, so that it can be read without building anything; a test compares.
"""

from __future__ import annotations

import re
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from idsync import Settings

PAGE = Path(__file__).with_name("settings.md")
BEGIN, END = "<!-- made from src/idsync/settings.py -->\n", "<!-- until here -->\n"


def table() -> str:
    """Every setting of idsync, one row each."""
    defaults = Settings()
    rows = ["| Setting | Default | What it is |", "|---|---|---|"]
    for one in fields(Settings):
        name, default = f"IDSYNC_{one.name.upper()}", _shown(one, getattr(defaults, one.name))
        rows.append(f"| `{name}` | {default} | {_in_a_row(one.metadata['description'])} |")
    return "".join(f"{row}\n" for row in rows)


def with_table(page: str) -> str:
    """The page with the table as it should be."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def _shown(one: Field[Any], default: Any) -> str:
    if re.search(r"\bRequired[.,]", one.metadata["description"]):
        return "required"
    if isinstance(default, dict):
        return ", ".join(f"`{tag}`: `{role}`" for tag, role in default.items())
    if default == "":
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _in_a_row(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
