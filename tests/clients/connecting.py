"""docs/connect-an-application.md as programs: what stands in its blocks, run word for word.

Only the examples' address and names give way to those of a running service.
"""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import hosting
from live import LiveHost

PAGE = Path(__file__).parents[2] / "docs" / "connect-an-application.md"
ISSUER = "https://id.example.org"


def section(title: str) -> str:
    """The text below a heading that begins like this."""
    (found,) = re.findall(
        rf"^## {re.escape(title)}.*?(?=^## |\Z)",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return str(found)


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def register(host: LiveHost, text: str, *, moved: tuple[str, str] = ("", "")) -> hosting.Client:
    """Register the application as the first command of a section says.

    moved: an origin of the page, and where the application really runs.
    """
    command = shlex.split(blocks(text, "sh")[0].replace("\\\n", "").replace(*moved))
    assert command[:3] == ["flask", "--app", "host_app"]
    printed = hosting.run(host.app, *command[3:], "--json")
    given = dict(pairwise(command))
    return hosting.Client(
        printed["client_id"],
        printed.get("client_secret"),
        given["--redirect-uri"],
        given["--scope"],
    )
