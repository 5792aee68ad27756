"""docs/consuming-service.md as a program: its blocks, run one after the other."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

import hosting
from idsync.consumer import NoSuchAccount, Verdict
from live import LiveHost, authorize

PAGE = (Path(__file__).parents[2] / "docs/consuming-service.md").read_text(encoding="utf-8")


@dataclass
class CalledBack:
    """The request that comes when somebody has signed in."""

    names: dict[str, Any]
    person: hosting.Person

    @property
    def args(self) -> Mapping[str, str]:
        with requests.Session() as browser:
            address = authorize(browser, self.names["departure"].url, self.person)
        return dict(parse_qsl(urlsplit(address).query))


@pytest.fixture
def names(host: LiveHost, copy_url: str, tag: str) -> dict[str, Any]:
    """What the examples take for given: a registered service, and an open copy."""
    (command,) = re.findall(
        r"^flask (--app host_app idsync application add .+?)\npip", PAGE, re.M | re.S
    )
    words = shlex.split(command.replace("\\\n", "").replace("tag wiki", f"tag {tag}"))[2:]
    printed = hosting.run(host.app, *words)
    return {
        "client_id": printed["client_id"],
        "client_secret": printed["client_secret"],
        "address": host.url,
        "database": copy_url,
        "tag": tag,
    }


def run(block: str, names: dict[str, Any]) -> None:
    """Run a block with what is true here instead of the examples' address, database and tag."""
    for shown, name in (
        ("https://id.example.org", "address"),
        ("sqlite:////var/lib/wiki/accounts.sqlite3", "database"),
    ):
        block = block.replace(shown, names[name])
    exec(block.replace('"wiki"', repr(names["tag"])), names)  # noqa: S102


def test_each_example_does_what_the_page_says(host: LiveHost, names: dict[str, Any]) -> None:
    """Set up, let in by password and by the identity service, create, change, take away."""
    set_up, let_in, sign_in, change = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    email = f"grace@{names['tag']}.example"
    grace = hosting.add_person(host.app, "Grace", email, "correct horse", "--tag", names["tag"])
    run(set_up, names)
    try:
        let = []
        names.update(email=grace.email, password=grace.password, log_in=let.append)
        run(let_in, names)
        assert let == [grace.id]

        names.update(session={}, request=CalledBack(names, grace))
        run(sign_in, names)
        assert names["admission"].verdict is Verdict.ADMITTED
        assert names["admission"].account.id == grace.id

        run(change, names)
        ada = names["created"].account
        assert names["copy"].store.by_id(ada.id) is None, "she has lost the tag"
        with pytest.raises(NoSuchAccount):
            names["copy"].change("nobody", name="Nobody")
    finally:
        names["copy"].store.close()
