"""docs/settings.md names every setting, as the code has it."""

import json
import re
import runpy
from dataclasses import fields
from pathlib import Path

from host_app.configuration import DEFAULTS
from idsync import Settings
from idsync.consumer import __main__ as consumer_commands

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs/settings.md").read_text(encoding="utf-8")


def test_the_table_of_idsync_is_made_from_the_code() -> None:
    """`python3 docs/tables.py` writes it anew."""
    made = runpy.run_path(str(REPOSITORY / "docs/tables.py"))
    assert made["with_table"](PAGE) == PAGE


UNITS = re.compile(r"\b(seconds|days|iterations|passes|KiB|lanes|tried|codes)\b", re.IGNORECASE)


def test_every_number_has_its_unit() -> None:
    """In words, for people who do not read code."""
    for one in fields(Settings):
        if type(one.default) is int:
            assert UNITS.search(one.metadata["description"]), one.name


def test_the_reference_host_has_no_setting_that_is_not_there() -> None:
    """With the default that it has."""
    files = (REPOSITORY / "host_app").rglob("*.py")
    named = {name for file in files for name in re.findall(r"\bHOST_[A-Z_]+", file.read_text())}
    assert len(named) > 2
    rows = dict(re.findall(r"^\| `(HOST_\w+)` \| (.+?) \|", PAGE, re.MULTILINE))
    assert rows.keys() == named
    for name in named & DEFAULTS.keys():
        if DEFAULTS[name] is not None:  # worked out at the start
            assert rows[name] == (
                "none" if DEFAULTS[name] == "" else f"`{written(DEFAULTS[name])}`"
            )


def written(value: object) -> str:
    """As in the environment: JSON, and text without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def test_a_consuming_service_has_no_variable_that_is_not_there() -> None:
    """As its own help lists them."""
    pattern = r"\bIDSYNC_[A-Z_]+"
    section = PAGE.partition("## A consuming service")[2]
    assert {*re.findall(pattern, section)} == {*re.findall(pattern, consumer_commands.__doc__)}
