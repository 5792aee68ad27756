"""What the pages say of the code is there: files, functions, tests, settings, commands."""

import re
from pathlib import Path

import click
import pytest

from idsync import Settings
from idsync.cli import commands

REPOSITORY = Path(__file__).parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]

FOLDERS = ("", "src", "src/idsync", "src/idsync/templates")


def in_code(text: str) -> list[str]:
    """What a text has between single backticks."""
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    """Paths are given from the top, or from one of the folders of the library."""
    paths = re.findall(
        r"`((?:[\w.]+/)+[\w.]+\.(?:py|js|md|html|toml))(?:::(\w+))?`", page.read_text("utf-8")
    )
    for path, function in paths:
        found = [REPOSITORY / folder / path for folder in FOLDERS]
        files = [file for file in found if file.exists()]
        assert files, path
        if function:
            assert f"def {function}(" in files[0].read_text("utf-8"), (path, function)


def test_every_step_of_a_sign_in_is_where_the_page_says() -> None:
    """In one of the files of its row."""
    page = (REPOSITORY / "docs/follow-one-sign-in.md").read_text("utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for _, files, names in rows:
        source = ""
        for name in in_code(files):
            host = name.startswith("host_app/")
            source += (REPOSITORY / ("" if host else "src/idsync") / name).read_text("utf-8")
        for name in in_code(names):
            assert re.search(rf"^\s*(?:def|class) {name}\b", source, re.MULTILINE), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    """Those of a consuming service and of the tests have pages of their own."""
    if page.name == "settings.md":
        return  # another test compares it
    known = {f"IDSYNC_{name.upper()}" for name in Settings.__dataclass_fields__}
    tests = {"IDSYNC_TEST_POSTGRESQL", "IDSYNC_REQUIRE_POSTGRESQL"}
    named = {*re.findall(r"\bIDSYNC_[A-Z_0-9]+\b", page.read_text("utf-8"))}
    assert named <= known | tests


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    """`flask idsync …` in texts and examples, up to the first argument, with its options."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    for line in re.findall(r"\bidsync ((?:[a-z][a-z-]*\b ?){1,3}[^`\n]*)", flask_only(text)):
        words = line.split()
        command: click.Command = commands()
        while isinstance(command, click.Group):
            assert words, line
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        options = {option for one in command.params for option in one.opts + one.secondary_opts}
        assert {*re.findall(r"(?<=\s)--[a-z-]+", " " + " ".join(words))} <= options | {"--help"}, (
            line
        )


def flask_only(text: str) -> str:
    """The lines and spans in which `flask … idsync` is typed."""
    spans = re.findall(r"`(flask [^`\n]*idsync [^`\n]+)`", text)
    lines = re.findall(r"^(flask .*idsync .+)$", text, re.MULTILINE)
    return "\n".join([*spans, *lines])
