"""A person signs in at an application: the whole path through the reference host."""

from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from joserfc import jwt
from joserfc.jwk import KeySet

import hosting
from clients.flow import CHALLENGE, VERIFIER, answer, redeem
from flows.rows import execute


def test_sign_in_consent_code_tokens_userinfo(app: Flask, client: FlaskClient) -> None:
    """The contract's overall flow, from the first redirect to the person's name."""
    person = hosting.add_person(
        app, "Ада Лавлейс", "ada@example.org", "pass word", "--tag", "ученик"
    )
    application = hosting.register_application(app)
    first = client.get(hosting.authorize_path(application, state="a:b c", nonce="n-0"))
    assert urlsplit(first.headers["Location"]).path == "/oauth/authorize"
    back = answer(
        hosting.authorize(
            client,
            application,
            person,
            state="a:b c",
            nonce="n-0",
            code_challenge=CHALLENGE,
            code_challenge_method="S256",
        )
    )
    assert set(back) == {"code", "state", "iss"}
    assert (back["state"], back["iss"]) == ("a:b c", hosting.ISSUER)

    response = redeem(client, application, back["code"], code_verifier=VERIFIER)
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    tokens = response.json
    assert tokens["scope"] == "openid profile email offline_access"

    keys = KeySet.import_key_set(client.get("/oauth/jwks").json)
    claims = jwt.decode(tokens["id_token"], keys, algorithms=["RS256"]).claims
    assert claims["sub"] == person.id
    assert claims["nonce"] == "n-0"
    assert claims["name"] == "Ада Лавлейс"
    assert claims["email"] == "ada@example.org"

    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    userinfo = client.get("/oauth/userinfo", headers=bearer)
    assert userinfo.json["sub"] == person.id
    assert userinfo.json["roles"] == ["student"]
    assert userinfo.json["email"] == "ada@example.org"
    assert isinstance(userinfo.json["updated_at"], int)


def test_prompt_none_never_shows_a_page(app: Flask, client: FlaskClient) -> None:
    """login_required, consent_required, and a code once everything is settled."""
    person = hosting.add_person(app)
    application = hosting.register_application(app)
    silent = hosting.authorize_path(application, prompt="none")
    assert answer(client.get(silent))["error"] == "login_required"
    hosting.sign_in(client, person)
    assert answer(client.get(silent))["error"] == "consent_required"
    hosting.decide(client, hosting.authorize_path(application))
    assert "code" in answer(client.get(silent))


@pytest.mark.parametrize(
    "parameters", [{"prompt": "login"}, {"prompt": "select_account"}, {"max_age": "0"}]
)
def test_a_fresh_sign_in_is_demanded_once(
    app: Flask, client: FlaskClient, parameters: dict[str, str]
) -> None:
    """The person signs in again and is then let through; the old session does not do."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party")
    hosting.sign_in(client, person)
    page = hosting.follow(client, client.get(hosting.authorize_path(application, **parameters)))
    assert 'name="password"' in page.text
    back = hosting.follow(client, hosting.sign_in(client, person, address=page.request.full_path))
    assert "code" in answer(back)


def test_max_age_asks_again_only_when_the_sign_in_is_older(app: Flask, client: FlaskClient) -> None:
    """Measured by the session's auth_time."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party")
    hosting.sign_in(client, person)
    path = hosting.authorize_path(application, max_age="100")
    assert "code" in answer(client.get(path))
    execute(app, "UPDATE idsync_session SET auth_time = auth_time - 101")
    assert client.get(path).headers["Location"].startswith("/oauth/authorize?pending=")


def test_authorize_takes_post_and_goes_on_by_get(app: Flask, client: FlaskClient) -> None:
    """Without a CSRF token: another site sends it."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party")
    hosting.sign_in(client, person)
    path, _, query = hosting.authorize_path(application).partition("?")
    posted = client.post(path, data=dict(parse_qs(query)))
    assert posted.status_code == 303
    assert "code" in answer(client.get(posted.headers["Location"]))
    assert client.post(path, data={"client_id": "app_unknown"}).status_code == 400


def test_a_service_admits_only_people_with_its_tag(app: Flask, client: FlaskClient) -> None:
    """access_denied with a plain description."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Wiki", "--service-tag", "wiki")
    back = answer(hosting.authorize(client, application, person))
    assert back["error"] == "access_denied"
    assert "no access" in back["error_description"]


def test_a_disabled_account_is_signed_in_nowhere(app: Flask, client: FlaskClient) -> None:
    """Not at the sign-in page, not by a session that was open, not by a code or a token."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party")
    tokens = redeem(
        client, application, answer(hosting.authorize(client, application, person))["code"]
    ).json
    code = answer(client.get(hosting.authorize_path(application)))["code"]
    execute(app, "UPDATE idsync_account SET disabled_by = 'service'")
    assert redeem(client, application, code).json["error"] == "invalid_grant"
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert client.get("/oauth/userinfo", headers=bearer).status_code == 401
    silent = hosting.authorize_path(application, prompt="none")
    assert answer(client.get(silent))["error"] == "login_required"
    assert hosting.sign_in(client, person).status_code != 302


def test_a_session_ends_with_the_epoch_and_with_sign_out(app: Flask, client: FlaskClient) -> None:
    """A copied cookie is worth nothing after either."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party")
    silent = hosting.authorize_path(application, prompt="none")
    hosting.sign_in(client, person)
    stolen = client.get_cookie(app.config["SESSION_COOKIE_NAME"])
    assert stolen is not None
    thief = app.test_client()
    thief.set_cookie(app.config["SESSION_COOKIE_NAME"], stolen.decoded_value)
    assert "code" in answer(thief.get(silent))
    hosting.submit(client, "/", {}, post_to="/sign-out")
    assert answer(thief.get(silent))["error"] == "login_required"
    assert person.name not in thief.get("/").text

    hosting.sign_in(client, person)
    execute(app, "UPDATE idsync_account SET epoch = :epoch", epoch=b"x" * 8)
    assert answer(client.get(silent))["error"] == "login_required"
    assert person.name not in client.get("/").text


def test_every_sign_in_makes_a_new_session(app: Flask, client: FlaskClient) -> None:
    """A session an attacker planted is not the one that gets signed in (fixation)."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    planted = client.get_cookie(app.config["SESSION_COOKIE_NAME"])
    assert planted is not None
    victim = app.test_client()
    victim.set_cookie(app.config["SESSION_COOKIE_NAME"], planted.decoded_value)
    hosting.submit(victim, "/", {}, post_to="/sign-out")
    hosting.sign_in(victim, person)
    application = hosting.register_application(app, "Ours", "--first-party")
    silent = hosting.authorize_path(application, prompt="none")
    assert answer(client.get(silent))["error"] == "login_required"
    assert "code" in answer(victim.get(silent))
