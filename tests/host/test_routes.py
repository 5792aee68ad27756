"""The table of addresses in the documentation says of each who may call it, and is right."""

import re
from pathlib import Path

import pytest
from flask import Flask

import hosting
from host_app import create_app

TABLE = Path(__file__).parents[2] / "docs/routes.md"
WHO = dict(re.findall(r"^\| `(/[^`]*)` \| (.+) \|$", TABLE.read_text(), re.MULTILINE))
RULES = {
    rule.rule: rule for rule in create_app(hosting.configuration("sqlite://")).url_map.iter_rules()
}
TO_SIGN_IN = ("first step", "signed in", "recently")
KINDS = ("anybody", *TO_SIGN_IN, "administrator", "application", "service")


def test_every_address_is_in_the_table() -> None:
    """And nothing that is no address; whoever adds one says who may call it."""
    assert set(WHO) == set(RULES)
    assert {who for who in WHO.values() if not who.startswith(KINDS)} == set()


def test_the_console_is_for_administrators() -> None:
    """All of it, and nothing else."""
    for address, rule in RULES.items():
        console = rule.endpoint.startswith("administration.")
        assert (WHO[address] == "administrator") is console, address


@pytest.mark.parametrize(
    "address", [one for one, who in WHO.items() if who.startswith((*TO_SIGN_IN, "administrator"))]
)
def test_a_stranger_is_sent_to_sign_in(app: Flask, address: str) -> None:
    """By every method that the address has, with a token of their own."""
    client = app.test_client()
    token = hosting.hidden_fields(client.get("/sign-in").text)["csrf_token"]
    path = re.sub(r"<[^>]*>", "x", address)
    for method in ("GET", "POST"):
        if method in RULES[address].methods:
            answer = client.open(path, method=method, data={"csrf_token": token})
            if address == "/oauth/consent":
                assert answer.status_code == 400  # there is no request to agree to
            else:
                assert answer.status_code in (302, 303)
                assert answer.headers["Location"].startswith("/sign-in"), method


@pytest.mark.parametrize("address", [one for one, who in WHO.items() if who.startswith("service")])
def test_a_stranger_is_no_service(app: Flask, address: str) -> None:
    for method in ("GET", "POST"):
        answer = app.test_client().open(re.sub(r"<[^>]*>", "x", address), method=method, json={})
        assert answer.status_code in (401, 404, 405), method
