"""docs/existing-site.md as a program: its diffs are applied and its commands run, word for word.

A diff block has no line numbers. `--- path` names the file for what follows, `@@` begins another
place in the same file. The lines of a place must occur exactly once; a file of added lines only is
new. So the guide cannot drift away from the site in `site/`, and the tests apply nothing else.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "existing-site.md"


class GuideDoesNotFit(Exception):
    """The guide describes a line that the site does not have, or has more than once."""


@dataclass
class Edit:
    """One place in one file: the lines as they are and as they become."""

    path: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    def apply(self, folder: Path) -> None:
        file = folder / self.path
        if not self.before:
            if file.exists():
                raise GuideDoesNotFit(f"{self.path} is there already")
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, self.after)
            return
        lines, length = file.read_text(encoding="utf-8").splitlines(), len(self.before)
        places = [at for at in range(len(lines)) if lines[at : at + length] == self.before]
        if len(places) != 1:
            before = "\n".join(self.before)
            raise GuideDoesNotFit(f"{self.path} has {len(places)} times:\n{before}")
        lines[places[0] : places[0] + length] = self.after
        _write(file, lines)


def edits(text: str) -> Iterator[Edit]:
    """The edits in a guide's diff blocks, in their order."""
    for block in _blocks(text, "diff"):
        edit = Edit("")
        for line in block:
            if line.startswith("--- ") or line == "@@":
                if edit.after != edit.before:
                    yield edit
                edit = Edit(edit.path if line == "@@" else line.removeprefix("--- "))
                continue
            # An editor may have stripped the one space of an empty context line.
            mark, content = line[:1] or " ", line[1:]
            if mark not in " +-":
                raise GuideDoesNotFit(f"not a line of a diff: {line}")
            if mark in " -":
                edit.before.append(content)
            if mark in " +":
                edit.after.append(content)
        yield edit


def commands(text: str) -> Iterator[list[str]]:
    """The commands in a guide's shell blocks, in their order."""
    for block in _blocks(text, "sh"):
        yield from (shlex.split(line) for line in block)


def _write(file: Path, lines: list[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _blocks(text: str, language: str) -> list[list[str]]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block.splitlines() for block in found]
