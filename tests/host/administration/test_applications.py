"""Applications in the console: registered, changed, switched off, given a new secret."""

import re
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

import console_kit
import hosting
from account_api.calling import Service, register
from console_kit import Desk

TERMS = {"name": "Wiki", "redirect_uri": "https://wiki.example/callback"}


def secret_in(answer: TestResponse) -> str:
    found = re.search(r'id="secret">(ids_[^<]+)<', answer.text)
    assert found, answer.text
    return found[1]


def client_id_in(answer: TestResponse) -> str:
    found = re.search(r"app_\w+", answer.text)
    assert found, answer.text
    return found[0]


def works(app: Flask, service: Service, secret: str) -> bool:
    client = hosting.Client(service.client.client_id, secret, "", "")
    return Service(app, client).list().status_code == 200


def test_an_application_is_registered_and_signs_people_in(app: Flask, desk: Desk) -> None:
    """Its secret is in the answer and nowhere else; not in an address, not in the session."""
    made = desk.fill_in("/applications/new", **TERMS)
    assert made.status_code == 200
    assert "Location" not in made.headers
    assert made.headers["Cache-Control"] == "no-store"
    secret, client_id = secret_in(made), client_id_in(made)
    for path in ("/applications", f"/applications/{client_id}", "/audit", "/audit.csv"):
        assert secret not in desk.get(path).text
    assert secret not in str(desk.browser.get_cookie("identity_session"))
    client = hosting.Client(client_id, secret, TERMS["redirect_uri"], "openid profile email")
    answer = hosting.authorize(app.test_client(), client, desk.person, prompt="login")
    assert 'name="code"' in answer.text or "code=" in answer.headers.get("Location", "")


def test_everything_can_be_said(app: Flask, desk: Desk) -> None:
    """As with the command."""
    made = desk.fill_in(
        "/applications/new",
        name="Wiki",
        redirect_uri="https://wiki.example/a\r\n\r\n https://wiki.example/b ",
        post_logout_redirect_uri="https://wiki.example/bye",
        scope=["email", "offline_access"],
        first_party="y",
        accounts="y",
        service_tag="wiki",
        id_token_alg="ES256",
        backchannel_logout_uri="https://wiki.example/ended",
        backchannel_logout_session_required="y",
    )
    shown = hosting.run(app, "idsync", "application", "show", client_id_in(made), "--json")
    assert shown["redirect_uris"] == ["https://wiki.example/a", "https://wiki.example/b"]
    assert shown["post_logout_redirect_uris"] == ["https://wiki.example/bye"]
    assert shown["scopes"] == ["openid", "email", "offline_access"]
    assert (shown["first_party"], shown["accounts"], shown["service_tag"]) == (True, True, "wiki")
    assert (shown["id_token_algorithm"], shown["public"]) == ("ES256", False)
    assert shown["backchannel_logout_uri"] == "https://wiki.example/ended"
    assert shown["backchannel_logout_session_required"] is True
    assert "https://wiki.example/ended" in desk.text(f"/applications/{client_id_in(made)}")


def test_a_public_application_has_no_secret(desk: Desk) -> None:
    made = desk.fill_in("/applications/new", **TERMS, kind="public")
    assert "ids_" not in made.text
    address = f"/applications/{client_id_in(made)}"
    assert "none: public" in desk.text(address)
    assert desk.get(f"{address}/secret").status_code == 303


@pytest.mark.parametrize(
    ("field", "said", "terms"),
    [
        ("name", "Please enter a name.", {"name": ""}),
        ("name", "between 1 and 200 characters", {"name": "x" * 201}),
        ("redirect_uri", "at least one is needed", {"redirect_uri": ""}),
        ("redirect_uri", "must be https", {"redirect_uri": "http://wiki.example/"}),
        ("redirect_uri", "has a fragment", {"redirect_uri": "https://wiki.example/#x"}),
        ("redirect_uri", "names a user", {"redirect_uri": "https://a@wiki.example/"}),
        ("redirect_uri", "must be https", {"redirect_uri": "javascript:alert(1)"}),
        ("redirect_uri", "do not belong in an address", {"redirect_uri": "https://w.example/ x"}),
        ("post_logout_redirect_uri", "must be https", {"post_logout_redirect_uri": "ftp://x/"}),
        (
            "backchannel_logout_uri",
            "must be https",
            {"backchannel_logout_uri": "http://x.example/"},
        ),
        (
            "backchannel_logout_session_required",
            "needs a",
            {"backchannel_logout_session_required": "y"},
        ),
        ("service_tag", "1 to 64 printable characters", {"service_tag": "x" * 65}),
        ("accounts", "needs a secret", {"accounts": "y", "kind": "public"}),
        (
            "first_party",
            "can be claimed by any program",
            {"first_party": "y", "kind": "public", "redirect_uri": "org.example.app:/callback"},
        ),
    ],
)
def test_an_unsafe_registration_is_refused_at_its_field(
    app: Flask, desk: Desk, field: str, said: str, terms: dict[str, str]
) -> None:
    """Registered or changed; nothing is written."""
    service = register(app, "Mail")
    answer = desk.fill_in("/applications/new", **{**TERMS, **terms})
    assert answer.status_code == 422
    assert said in at_field(answer.text, field)
    if "kind" not in terms and not (field == "redirect_uri" and terms[field] == ""):
        address = f"/applications/{service.client.client_id}/edit"
        answer = desk.fill_in(address, **terms)
        assert answer.status_code == 422
        assert said in at_field(answer.text, field)
    (only,) = hosting.run(app, "idsync", "application", "list", "--json")
    assert only["name"] == "Mail"


def at_field(page: str, field: str) -> str:
    """The part of a form that belongs to a field: up to the next label."""
    return next(part for part in page.split('class="mb-3') if f'name="{field}"' in part)


def test_a_change_is_made_and_the_rest_stays(app: Flask, desk: Desk) -> None:
    service = register(app, "Mail", "--service-tag", "mail")
    address = f"/applications/{service.client.client_id}"
    before = hosting.run(app, "idsync", "application", "list", "--json")[0]
    assert desk.fill_in(f"{address}/edit", name="Post").status_code == 303
    after = hosting.run(app, "idsync", "application", "list", "--json")[0]
    assert after == {**before, "name": "Post"}
    events = desk.text("/audit", application=service.client.client_id)
    assert "fields: name" in events
    assert "Ada Lovelace" in events


def test_a_right_taken_away_meanwhile_does_not_come_back(app: Flask, desk: Desk) -> None:
    """The form still has it, and is shown anew."""
    service = register(app, "Mail")
    address = f"/applications/{service.client.client_id}"
    fields = console_kit.filled_in(desk.get(f"{address}/edit").text)
    edit = ("idsync", "application", "edit", service.client.client_id, "--no-accounts")
    hosting.run(app, *edit, "--redirect-uri", "https://new.example/")
    assert "somebody else changed" in desk.done(f"{address}/edit", **{**fields, "name": "Post"})
    shown = hosting.run(app, "idsync", "application", "show", service.client.client_id, "--json")
    assert (shown["name"], shown["accounts"]) == ("Mail", False)
    assert shown["redirect_uris"] == ["https://new.example/"]


def test_a_change_of_nothing_is_none(app: Flask, desk: Desk) -> None:
    """So that audit does not tell of it."""
    service = register(app, "Mail", "--scope", "email profile")
    desk.fill_in(f"/applications/{service.client.client_id}/edit")
    events = desk.text("/audit", application=service.client.client_id, kind="application changed")
    assert "Nothing was found" in events


def test_a_new_secret_works_beside_the_old_one(app: Flask, desk: Desk) -> None:
    """For as long as was chosen; a button pressed twice does not end the one in use."""
    service = register(app, "Mail")
    old, address = str(service.client.client_secret), f"/applications/{service.client.client_id}"
    new = secret_in(desk.fill_in(f"{address}/secret", overlap="7"))
    assert works(app, service, old)
    assert works(app, service, new)
    assert "The old secret still works, until" in desk.text(address)
    again = desk.fill_in(f"{address}/secret", overlap="7")
    assert again.status_code == 422
    assert "the secret before this one still works" in again.text
    assert works(app, service, old)
    newest = secret_in(desk.fill_in(f"{address}/secret", overlap="0"))
    assert [works(app, service, one) for one in (old, new, newest)] == [False, False, True]


@pytest.mark.parametrize("overlap", ["", "-1", "365", "x"])
def test_another_overlap_is_refused(app: Flask, desk: Desk, overlap: str) -> None:
    service = register(app, "Mail")
    address = f"/applications/{service.client.client_id}/secret"
    assert desk.fill_in(address, overlap=overlap).status_code == 422
    assert works(app, service, str(service.client.client_secret))


def test_an_application_is_switched_off_and_on(app: Flask, desk: Desk) -> None:
    service = register(app, "Mail")
    address = f"/applications/{service.client.client_id}"
    assert "is switched off" in desk.done(f"{address}/deactivate")
    assert not works(app, service, str(service.client.client_secret))
    assert "is switched on" in desk.done(f"{address}/activate")
    assert works(app, service, str(service.client.client_secret))


@pytest.mark.parametrize("path", ["", "/edit", "/secret"])
def test_an_application_that_is_not_there_is_not_found(desk: Desk, path: str) -> None:
    assert desk.get(f"/applications/app_nothing{path}").status_code == 404
    assert desk.post("/applications/app_nothing/activate").status_code == 404


def test_a_secret_is_in_no_log(desk: Desk, caplog: Any) -> None:
    caplog.set_level(0)
    secret = secret_in(desk.fill_in("/applications/new", **TERMS))
    assert secret not in caplog.text


def test_what_is_wrong_with_choices_is_tied_to_them(desk: Desk) -> None:
    """A screen reader says it together with the group."""
    page = desk.fill_in("/applications/new", kind="nonsense").text
    told = re.search(r'<fieldset[^>]*aria-describedby="([\w-]+)"[^>]*aria-invalid="true"', page)
    assert told
    assert f'class="invalid-feedback d-block" id="{told[1]}"' in page
