"""The pictures of the pages."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "docs/images"
LARGEST = 60_000
"""Bytes; a page with a few of them is still a light one."""


def test_each_picture_is_shown_somewhere_and_each_has_words() -> None:
    """Whoever sees none reads what is on it."""
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
    shown = [
        found
        for page in pages
        for found in re.findall(
            r"!\[([^\]]*)\]\((?:docs/)?images/([\w.-]+)\)", page.read_text("utf-8")
        )
    ]
    assert {name for _, name in shown} == {file.name for file in FOLDER.iterdir()}
    assert all(len(words) > 10 for words, _ in shown)


def test_each_picture_is_small() -> None:
    """They travel with every copy of the project."""
    assert {file.name for file in FOLDER.iterdir() if file.stat().st_size > LARGEST} == set()
