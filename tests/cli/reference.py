"""Every command as its own help describes it, for docs/commands.md.

`PYTHONPATH=.:tests python -m cli.reference` writes it there. Needs no pytest.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from idsync.cli import commands

DOCUMENT = Path(__file__).parents[2] / "docs" / "commands.md"
BEGIN = "<!-- Written by `python -m cli.reference` from the commands' own help; not by hand. -->\n"


def leaves(group: click.Group, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its whole name, in the order of the help."""
    for one, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, f"{name}{one} ")
        else:
            yield f"{name}{one}", command


def reference() -> str:
    """A section for each command: how it is called, what it does, its options."""
    return "\n".join(_section(name, command) for name, command in leaves(commands()))


def written(document: str) -> str:
    """The part of the document that is not written by hand."""
    return document.partition(BEGIN)[2]


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command)
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    called = " ".join([name, *(one.make_metavar(context) for one in arguments)])
    paragraphs = (command.help or "").split("\n\n")
    text = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    flags = [one for one in command.params if isinstance(one, click.Option)]
    records = [one.get_help_record(context) for one in flags]
    options = [f"- `{option}`: {said}" for option, said in filter(None, records)]
    parts = [f"### {name}", f"`flask idsync {called}`", text]
    if options:
        parts.append("\n".join(options))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    by_hand = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[0]
    DOCUMENT.write_text(by_hand + BEGIN + "\n" + reference(), encoding="utf-8")
