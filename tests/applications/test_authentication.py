"""How a client application proves who it is."""

import base64
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applications.sound import SOUND
from idsync.applications.application import Application
from idsync.applications.authentication import BASIC, NONE, POST, authenticate_client
from idsync.crypto import identifiers
from idsync.errors import ClientRefused, MalformedCredentials

SECRET = "ids_-correct_horse~battery.staple"
CONFIDENTIAL = replace(SOUND, client_id="app_c", secret_digest=identifiers.digest(SECRET))
PUBLIC = replace(SOUND, client_id="app_p", secret_digest=None)
INACTIVE = replace(CONFIDENTIAL, client_id="app_i", active=False)
EVERYONE = {one.client_id: one for one in (CONFIDENTIAL, PUBLIC, INACTIVE)}


def basic(client_id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


def authenticate(
    header: str | None = None, form: dict[str, str] | None = None
) -> tuple[Application, str]:
    return authenticate_client(EVERYONE.get, header, form or {})


def test_a_confidential_application_uses_the_header_or_the_body() -> None:
    """Both ways work for every confidential application."""
    assert authenticate(basic("app_c", SECRET)) == (CONFIDENTIAL, BASIC)
    form = {"client_id": "app_c", "client_secret": SECRET}
    assert authenticate(form=form) == (CONFIDENTIAL, POST)


def test_a_public_application_sends_its_client_id_only() -> None:
    """In the body, or as Basic with an empty password."""
    assert authenticate(form={"client_id": "app_p"}) == (PUBLIC, NONE)
    assert authenticate(basic("app_p", "")) == (PUBLIC, NONE)


def test_basic_values_are_percent_decoded() -> None:
    """RFC 6749 §2.3.1; one library encodes even the underscore."""
    encoded = "".join(f"%{byte:02X}" for byte in SECRET.encode())
    assert authenticate(basic(quote("app_c"), encoded))[0] == CONFIDENTIAL
    assert authenticate(basic("app%5Fc", SECRET))[0] == CONFIDENTIAL


def test_the_header_may_be_repeated_by_the_same_client_id_in_the_body() -> None:
    """One library sends Basic and repeats client_id."""
    assert authenticate(basic("app_c", SECRET), {"client_id": "app_c"})[1] == BASIC


def test_other_authorization_schemes_are_not_ours() -> None:
    """A stray Bearer header does not hide the body's credentials."""
    form = {"client_id": "app_c", "client_secret": SECRET}
    assert authenticate("Bearer at_x", form) == (CONFIDENTIAL, POST)


@pytest.mark.parametrize(
    ("header", "form"),
    [
        (None, {}),
        (None, {"client_id": "app_unknown"}),
        (None, {"client_secret": SECRET}),
        (None, {"client_id": "app_c"}),
        (None, {"client_id": "app_c", "client_secret": "wrong"}),
        (None, {"client_id": "app_c", "client_secret": "é\ud800"}),
        (None, {"client_id": "app_p", "client_secret": "anything"}),
        (None, {"client_id": "app_i", "client_secret": SECRET}),
        (basic("app_c", "wrong"), {}),
        (basic("app_c", ""), {}),
        (basic("app_c", "wrong"), {"client_id": "app_c"}),
        (basic("app_p", "anything"), {}),
        (basic("app_i", SECRET), {}),
        ("Basic", {"client_id": "app_p"}),
        ("Basic ", {"client_id": "app_p"}),
        ("Basic !!!", {"client_id": "app_p"}),
        ("Basic " + base64.b64encode(b"\xff\xfe:x").decode(), {"client_id": "app_p"}),
        ("Basic " + base64.b64encode(b"app_c:%ff").decode(), {"client_id": "app_p"}),
        ("Basic " + base64.b64encode(b"app_p").decode(), {}),
        (basic("app_c", SECRET) + " extra", {}),
    ],
)
def test_wrong_credentials_are_refused(header: str | None, form: dict[str, str]) -> None:
    """Unknown, wrong, inactive, unreadable: one error, and never method none instead."""
    with pytest.raises(ClientRefused):
        authenticate(header, form)


@pytest.mark.parametrize(
    "form",
    [
        {"client_id": "app_p"},
        {"client_secret": SECRET},
        {"client_id": "app_c", "client_secret": SECRET},
    ],
)
def test_credentials_sent_in_two_places_are_refused(form: dict[str, str]) -> None:
    """A wrong header beside a public client_id must not pass as that public application."""
    for header in (basic("app_c", SECRET), basic("app_c", "wrong")):
        with pytest.raises(MalformedCredentials):
            authenticate(header, form)


@given(header=st.text(), form=st.dictionaries(st.text(), st.text()))
def test_no_input_is_anything_but_refused(header: str, form: dict[str, str]) -> None:
    """Arbitrary text ends in one of the two errors, never in another exception."""
    for value in (
        header,
        "Basic " + header,
        "Basic " + base64.b64encode(header.encode("utf-8", "surrogatepass")).decode(),
    ):
        with pytest.raises((ClientRefused, MalformedCredentials)):
            authenticate_client(EVERYONE.get, value, {"client_id": "app_c", **form})
