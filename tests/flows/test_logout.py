"""Signing out at the service, by the contract's address and by RP-initiated logout."""

import time
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from flows.visits import BYE, signed_in_application
from host_app.models import db


def is_signed_in(client: FlaskClient, application: hosting.Client) -> bool:
    location = client.get(hosting.authorize_path(application, prompt="none")).headers["Location"]
    return "code=" in location


def test_logout_signs_out_at_once(app: Flask, client: FlaskClient) -> None:
    """Without `next`, or with one that may not be followed, the sign-in page."""
    person, application, _ = signed_in_application(app, client)
    for address in ("/logout", "/logout?next=https://evil.example/", "/logout?next=//evil.example"):
        assert is_signed_in(client, application)
        assert client.get(address).headers["Location"] == "/sign-in"
        assert not is_signed_in(client, application)
        hosting.sign_in(client, person)


def test_next_leads_back_to_the_application(app: Flask, client: FlaskClient) -> None:
    """Also when nobody was signed in; never for an application that was switched off."""
    _, application, _ = signed_in_application(app, client)
    address = "/logout?next=" + quote("https://app.example.org/?a=1&b=2", safe="")
    # What other applications send besides does not turn it into another kind of request.
    for further in ("", "", "&ui_locales=ru", "&state=x", f"&client_id={application.client_id}"):
        response = client.get(address + further)
        assert response.headers["Location"] == "https://app.example.org/?a=1&b=2"
    hosting.run(app, "idsync", "application", "deactivate", application.client_id)
    assert client.get(address).headers["Location"].startswith("/sign-in")


def test_sign_out_ends_access_but_not_offline_access(app: Flask, client: FlaskClient) -> None:
    """And consent stays: the next sign-in asks for the password only."""
    person, application, offline = signed_in_application(app, client)
    back = client.get(hosting.authorize_path(application, scope="openid"))
    code = parse_qs(urlsplit(back.headers["Location"]).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": hosting.REDIRECT_URI}
    online = client.post("/oauth/token", data=form, auth=application.basic).json
    client.get("/logout")

    def userinfo(tokens: Any) -> int:
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        return client.get("/oauth/userinfo", headers=bearer).status_code

    assert userinfo(online) == 401
    assert userinfo(offline) == 200
    hosting.sign_in(client, person)
    assert is_signed_in(client, application)


def test_a_code_does_not_outlive_the_sign_out(app: Flask, client: FlaskClient) -> None:
    """Not one that asks for offline access either: whoever has it was not signed in by it yet."""
    _, application, _ = signed_in_application(app, client)
    back = client.get(hosting.authorize_path(application))
    code = parse_qs(urlsplit(back.headers["Location"]).query)["code"][0]
    client.get("/logout")
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": hosting.REDIRECT_URI}
    refused = client.post("/oauth/token", data=form, auth=application.basic)
    assert refused.status_code == 400
    assert refused.json is not None
    assert refused.json["error"] == "invalid_grant"


def test_a_valid_hint_signs_out_and_returns(app: Flask, client: FlaskClient) -> None:
    """To a registered address, with the state; an expired hint will do."""
    _, application, tokens = signed_in_application(app, client)
    with mock.patch("time.time", return_value=time.time() + 7200):
        response = client.get(
            "/logout",
            query_string={
                "id_token_hint": tokens["id_token"],
                "post_logout_redirect_uri": BYE,
                "state": "a:b c",
                "client_id": application.client_id,
            },
        )
    assert response.headers["Location"] == BYE + "?state=a%3Ab%20c"
    assert not is_signed_in(client, application)


def test_a_post_without_our_cookie_does_not_pretend_to_sign_out(
    app: Flask, client: FlaskClient
) -> None:
    """SameSite keeps the cookie from another site's POST; the person is signed out by the GET."""
    _, application, tokens = signed_in_application(app, client)
    form = {"id_token_hint": tokens["id_token"], "post_logout_redirect_uri": BYE}
    posted = app.test_client().post("/logout", data=form)
    assert posted.location.startswith("/logout?")
    assert client.get(posted.location).location == BYE
    assert not is_signed_in(client, application)


@pytest.mark.parametrize("damage", ["altered", "unsigned", "garbage", "other client"])
def test_a_hint_that_is_not_ours_does_nothing(app: Flask, client: FlaskClient, damage: str) -> None:
    """Shown on our page; the person stays signed in."""
    _, application, tokens = signed_in_application(app, client)
    head, body, signature = tokens["id_token"].split(".")
    unsigned = "eyJhbGciOiJub25lIn0." + body + "."
    query = {
        "id_token_hint": {
            "altered": f"{head}.{body}.{signature[:-8]}AAAAAAAA",
            "unsigned": unsigned,
            "garbage": "nonsense",
            "other client": tokens["id_token"],
        }[damage],
        "post_logout_redirect_uri": BYE,
    }
    if damage == "other client":
        query["client_id"] = hosting.register_application(app, "Other").client_id
    response = client.get("/logout", query_string=query)
    assert response.status_code == 400
    assert "Location" not in response.headers
    assert is_signed_in(client, application)


@pytest.mark.parametrize(
    "address", [BYE + "/", BYE + "?x=1", "https://evil.example/", hosting.REDIRECT_URI]
)
def test_an_unregistered_address_after_logout_is_refused(
    app: Flask, client: FlaskClient, address: str
) -> None:
    """Character for character, and nothing happens."""
    _, application, tokens = signed_in_application(app, client)
    query = {"id_token_hint": tokens["id_token"], "post_logout_redirect_uri": address}
    response = client.get("/logout", query_string=query)
    assert response.status_code == 400
    assert "Location" not in response.headers
    assert is_signed_in(client, application)


def test_without_a_hint_the_person_is_asked(app: Flask, client: FlaskClient) -> None:
    """By GET and by POST; the form is bound to the session; then it leads to the address."""
    person, application, _ = signed_in_application(app, client)
    query = {"client_id": application.client_id, "post_logout_redirect_uri": BYE, "state": "s"}
    posted = client.post("/logout", data=query)
    assert posted.status_code == 303  # another site's POST comes without the cookie, a GET with it
    for ask in (client.get("/logout", query_string=query), client.get(posted.location)):
        assert ask.status_code == 200
        assert "Sign out?" in ask.text
    assert is_signed_in(client, application)
    fields = hosting.hidden_fields(ask.text)
    stranger = app.test_client()
    hosting.sign_in(stranger, person)
    planted = hosting.hidden_fields(stranger.get("/logout", query_string=query).text)["confirm"]
    assert client.post("/logout", data={**fields, "confirm": planted}).status_code == 200
    assert is_signed_in(client, application)
    response = client.post("/logout", data=fields)
    assert response.headers["Location"] == BYE + "?state=s"
    assert not is_signed_in(client, application)


def test_somebody_elses_hint_asks_first(app: Flask, client: FlaskClient) -> None:
    """A page cannot sign out a person it does not know."""
    _, application, tokens = signed_in_application(app, client)
    eve = hosting.add_person(app, "Eve", "eve@example.org", "pass word")
    other = app.test_client()
    hosting.authorize(other, application, eve)
    response = other.get("/logout", query_string={"id_token_hint": tokens["id_token"]})
    assert "Sign out?" in response.text
    assert is_signed_in(other, application)


def test_only_state_asks_and_ends_on_the_sign_in_page(app: Flask, client: FlaskClient) -> None:
    """There is nowhere to return to."""
    signed_in_application(app, client)
    fields = hosting.hidden_fields(client.get("/logout?state=x").text)
    response = client.post("/logout", data=fields)
    assert response.headers["Location"].startswith("/sign-in")


def test_another_person_at_the_same_browser_ends_the_first_ones_grants(
    app: Flask, client: FlaskClient
) -> None:
    """Also those with offline_access; the same person signing in again ends none."""
    ada, application, tokens = signed_in_application(app, client)

    def refresh(token: str) -> Any:
        form = {"grant_type": "refresh_token", "refresh_token": token}
        return client.post("/oauth/token", data=form, auth=application.basic)

    hosting.authorize(client, application, ada, prompt="login")
    again = refresh(tokens["refresh_token"])
    assert again.status_code == 200
    eve = hosting.add_person(app, "Eve", "eve@example.org", "pass word")
    hosting.authorize(client, application, eve, prompt="login")
    # The grant was ada's first session's, which was set aside and taken up again by ada herself.
    back = hosting.authorize(client, application, ada, prompt="login")
    code = parse_qs(urlsplit(back.headers["Location"]).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": hosting.REDIRECT_URI}
    own = client.post("/oauth/token", data=form, auth=application.basic).json
    hosting.authorize(client, application, eve, prompt="login")
    assert refresh(own["refresh_token"]).json["error"] == "invalid_grant"


def test_a_signed_out_cookie_stays_dead_after_pruning(app: Flask, client: FlaskClient) -> None:
    """A cookie that names a session needs its row, living."""
    person, application, _ = signed_in_application(app, client)
    name = app.config["SESSION_COOKIE_NAME"]
    cookie = client.get_cookie(name)
    assert cookie is not None
    client.get("/logout")
    later = time.time() + 86_500
    with mock.patch("time.time", return_value=later):
        hosting.run(app, "idsync", "prune")
    thief = app.test_client()
    thief.set_cookie(name, cookie.decoded_value)
    assert person.name not in thief.get("/").text
    assert not is_signed_in(thief, application)


def test_a_session_ends_after_its_lifetime(app: Flask, client: FlaskClient) -> None:
    """For the host's own pages and for authorize alike."""
    person, application, _ = signed_in_application(app, client)
    assert person.name in client.get("/").text
    with app.app_context():
        db.session.execute(text("UPDATE idsync_session SET auth_time = auth_time - 2592001"))
        db.session.commit()
    assert person.name not in client.get("/").text
    assert not is_signed_in(client, application)


def test_the_same_person_keeps_offline_grants_even_when_the_old_session_is_gone(
    app: Flask, client: FlaskClient
) -> None:
    """Whose grants end is decided by the grants, not by a session row that may be pruned."""
    ada, application, tokens = signed_in_application(app, client)
    page = hosting.follow(client, client.get(hosting.authorize_path(application, prompt="login")))
    with app.app_context():
        db.session.execute(text("DELETE FROM idsync_session"))
        db.session.commit()
    hosting.sign_in(client, ada, address=page.request.full_path)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert client.post("/oauth/token", data=form, auth=application.basic).status_code == 200


def test_signing_in_again_does_not_shield_older_tokens_from_sign_out(
    app: Flask, client: FlaskClient
) -> None:
    """One's own grants without offline_access move to the new session."""
    ada = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party")
    back = hosting.authorize(client, application, ada, scope="openid")
    code = parse_qs(urlsplit(back.headers["Location"]).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": hosting.REDIRECT_URI}
    tokens = client.post("/oauth/token", data=form, auth=application.basic).json
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    hosting.authorize(client, application, ada, scope="openid", prompt="login")
    assert client.get("/oauth/userinfo", headers=bearer).status_code == 200
    client.get("/logout")
    assert client.get("/oauth/userinfo", headers=bearer).status_code == 401


def test_a_hint_of_another_issuer_is_refused(app: Flask, client: FlaskClient) -> None:
    """Even when the same keys signed it, as after a change of address."""
    _, application, tokens = signed_in_application(app, client)
    parts = app.extensions["idsync"]
    original = parts.logout._issuer
    parts.logout._issuer = lambda: "https://other.example"
    response = client.get("/logout", query_string={"id_token_hint": tokens["id_token"]})
    parts.logout._issuer = original
    assert response.status_code == 400
    assert is_signed_in(client, application)
