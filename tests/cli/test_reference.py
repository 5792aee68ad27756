"""docs/commands.md says what the commands do, and every command says it itself."""

import click
import pytest
from flask import Flask

from cli.reference import DOCUMENT, leaves, reference, written
from idsync.cli import commands

COMMANDS = dict(leaves(commands()))


def test_the_document_is_what_the_commands_say() -> None:
    """Run `PYTHONPATH=.:tests python -m cli.reference` after a change of one."""
    assert written(DOCUMENT.read_text(encoding="utf-8")).strip() == reference().strip()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself(app: Flask, name: str) -> None:
    """With what it does and what each option means; --json wherever it prints a result."""
    command = COMMANDS[name]
    result = app.test_cli_runner().invoke(args=["idsync", *name.split(), "--help"])
    assert result.exit_code == 0
    assert len(command.help or "") > 15
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []
    assert any(one.name == "as_json" for one in options) or name == "audit export"


def test_the_document_names_every_command_in_its_overview() -> None:
    by_hand = DOCUMENT.read_text(encoding="utf-8").split("## Every command")[0]
    missing = [name for name in COMMANDS if f"`{name}" not in by_hand]
    assert missing == []
