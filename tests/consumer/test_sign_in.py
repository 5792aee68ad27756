"""Signing in with the identity service, as a service without any framework would."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

import hosting
import live
from consumer_kit import Consumer, FalseService, answering
from idsync.consumer import (
    ServiceAway,
    SignIn,
    SignInRefused,
    UnreadableAnswer,
    Verdict,
    admit_signed_in,
)
from idsync.consumer import sign_in as module
from live import LiveHost


@pytest.fixture
def ada(host: LiveHost, wiki: Consumer) -> hosting.Person:
    address = f"ada@{wiki.tag}.example.org"
    return hosting.add_person(host.app, "Ada", address, "pass word", "--tag", wiki.tag)


@pytest.fixture
def signing(host: LiveHost, wiki: Consumer) -> SignIn:
    return SignIn(host.url, *wiki.client.basic)


@pytest.fixture
def browser() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


def go(
    signing: SignIn, browser: requests.Session, person: hosting.Person, decision: str = "allow"
) -> tuple[dict[str, str], dict[str, str]]:
    """Begin, go through the identity service, and give what comes back and what was kept."""
    departure = signing.begin(hosting.REDIRECT_URI, login_hint=person.email)
    location = live.authorize(browser, departure.url, person, decision)
    assert location.startswith(hosting.REDIRECT_URI)
    return dict(parse_qsl(urlsplit(location).query)), departure.kept


def test_a_person_signs_in_and_is_looked_up(
    host: LiveHost, wiki: Consumer, ada: hosting.Person, signing: SignIn, browser: requests.Session
) -> None:
    answer, kept = go(signing, browser, ada)
    arrival = signing.finish(answer, kept)
    assert (arrival.subject, arrival.claims["name"]) == (ada.id, "Ada")
    assert "access_token" in arrival.tokens
    assert arrival.tokens["access_token"] not in repr(arrival)
    admitted = admit_signed_in(wiki.copy, arrival.subject)
    assert admitted.verdict is Verdict.ADMITTED
    with pytest.raises(SignInRefused) as again:
        signing.finish(answer, kept)
    assert again.value.code == "invalid_grant"


def test_a_refusal_is_told(
    host: LiveHost, ada: hosting.Person, signing: SignIn, browser: requests.Session
) -> None:
    answer, kept = go(signing, browser, ada, "deny")
    with pytest.raises(SignInRefused) as refused:
        signing.finish(answer, kept)
    assert refused.value.code == "access_denied"


@pytest.mark.parametrize(
    "altered",
    [
        {"state": "another"},
        {"state": ""},
        {"iss": "https://evil.example.org"},
        {"iss": None},
        {"code": "ac_stolen"},
        {"kept": None},
        {"kept": {}},
        {"nonce": "another"},
        {"verifier": "another" * 8},
        {"redirect_uri": "https://app.example.org/other"},
    ],
)
def test_an_altered_answer_is_not_believed(
    host: LiveHost,
    ada: hosting.Person,
    signing: SignIn,
    browser: requests.Session,
    altered: dict[str, Any],
) -> None:
    answer, kept = go(signing, browser, ada)
    given: dict[str, str] | None = kept
    for name, value in altered.items():
        if name == "kept":
            given = value
        elif name in ("nonce", "verifier", "redirect_uri"):
            kept[name] = value
        elif value is None:
            del answer[name]
        else:
            answer[name] = value
    with pytest.raises(SignInRefused):
        signing.finish(answer, given)


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "exp", "nonce", "at_hash", "signature"])
def test_an_altered_id_token_is_not_believed(
    ada: hosting.Person,
    signing: SignIn,
    browser: requests.Session,
    claim: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wrongly signed, or rightly signed with one wrong claim."""
    answer, kept = go(signing, browser, ada)
    original = module.jwt.decode

    def decode(text: str, *args: Any, **options: Any) -> Any:
        if claim == "signature":
            text = text[:-8] + "AAAAAAAA"
        token = original(text, *args, **options)
        if claim != "signature":
            token.claims[claim] = {"exp": 1000, "sub": 7}.get(claim, "another")
        return token

    monkeypatch.setattr(module.jwt, "decode", decode)
    with pytest.raises(SignInRefused) as refused:
        signing.finish(answer, kept)
    assert refused.value.code == "invalid_answer"


def test_something_else_at_the_address_is_told(false: FalseService) -> None:
    false.then(answering(200, b"<html>"), answering(404), answering(200, b"[]"))
    for _ in range(3):
        with pytest.raises(UnreadableAnswer):
            SignIn(false.url, "a", "b").begin("https://x.example.org/")
    false.answer = answering(200, b'{"issuer":"https://evil.example.org"}')
    with pytest.raises(UnreadableAnswer):
        SignIn(false.url, "a", "b").begin("https://x.example.org/")
    with pytest.raises(ServiceAway):
        SignIn("http://127.0.0.1:1", "a", "b").begin("https://x.example.org/")
