"""A person signs in at an application: the whole path through the reference host."""

import secrets
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from joserfc import jwt
from joserfc.jwk import KeySet
from sqlalchemy import text

import hosting
from host_app.models import db

CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # RFC 7636, appendix B


def answer(response: Any) -> dict[str, str]:
    """The parameters with which the person was sent back to the application."""
    assert response.status_code == 303
    assert response.headers["Location"].startswith(hosting.REDIRECT_URI + "?")
    query = parse_qs(urlsplit(response.headers["Location"]).query)
    return {name: value for name, (value,) in query.items()}


def redeem(client: FlaskClient, application: hosting.Client, code: str, **form: str) -> Any:
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": application.redirect_uri,
        **form,
    }
    if application.client_secret is None:
        return client.post("/oauth/token", data={"client_id": application.client_id, **fields})
    return client.post("/oauth/token", data=fields, auth=application.basic)


def execute(app: Flask, statement: str, **values: object) -> None:
    with app.app_context():
        db.session.execute(text(statement), values)
        db.session.commit()


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


def test_consent_is_remembered_and_asked_again_only_for_new_rights(
    app: Flask, client: FlaskClient
) -> None:
    """And on prompt=consent, always."""
    person = hosting.add_person(app)
    application = hosting.register_application(app)
    assert "code" in answer(hosting.authorize(client, application, person, scope="profile"))
    again = client.get(hosting.authorize_path(application, scope="openid"))
    assert "code" in answer(again)
    wider = client.get(hosting.authorize_path(application, scope="profile email"))
    assert wider.status_code == 200
    assert "See your e-mail address" in wider.text
    asked = client.get(hosting.authorize_path(application, scope="openid", prompt="consent"))
    assert asked.status_code == 200
    path = hosting.authorize_path(application, scope="profile email")
    assert "code" in answer(hosting.decide(client, path))
    assert "code" in answer(client.get(hosting.authorize_path(application, scope="profile email")))


def test_refusal_goes_back_as_access_denied(app: Flask, client: FlaskClient) -> None:
    """With state and iss; the refusal is not remembered as consent."""
    person = hosting.add_person(app)
    application = hosting.register_application(app)
    hosting.sign_in(client, person)
    path = hosting.authorize_path(application)
    refused = answer(hosting.decide(client, path, "deny"))
    assert refused["error"] == "access_denied"
    assert (refused["state"], refused["iss"]) == ("state-1", hosting.ISSUER)
    assert client.get(path).status_code == 200


def test_first_party_signs_in_without_the_consent_page(app: Flask, client: FlaskClient) -> None:
    """Unless the application prompts for it."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party")
    hosting.sign_in(client, person)
    assert "code" in answer(client.get(hosting.authorize_path(application)))
    assert client.get(hosting.authorize_path(application, prompt="consent")).status_code == 200


@pytest.mark.parametrize(
    "query",
    ["", "?client_id=app_unknown", "?client_id=app_unknown&redirect_uri=https://evil.example/"],
)
def test_an_unknown_application_is_shown_and_never_redirected(
    client: FlaskClient, query: str
) -> None:
    """The service's own page."""
    response = client.get("/oauth/authorize" + query)
    assert response.status_code == 400
    assert "Location" not in response.headers
    assert "not registered" in response.text
    assert "evil" not in response.text


def test_a_foreign_return_address_is_shown_and_never_redirected(
    app: Flask, client: FlaskClient
) -> None:
    """Exact match, trailing slash included; also when the request is otherwise wrong."""
    application = hosting.register_application(app)
    for uri in ("https://evil.example/", application.redirect_uri + "/", ""):
        for more in ({}, {"response_type": "token"}, {"prompt": "none"}):
            path = hosting.authorize_path(application, redirect_uri=uri, **more)
            response = client.get(path)
            assert response.status_code == 400
            assert "Location" not in response.headers


def test_an_inactive_application_is_refused_everywhere(app: Flask, client: FlaskClient) -> None:
    """Own page at authorize, 401 at token, 401 at userinfo."""
    person = hosting.add_person(app)
    application = hosting.register_application(app)
    code = answer(hosting.authorize(client, application, person))["code"]
    tokens = redeem(client, application, code).json
    execute(app, "UPDATE idsync_application SET active = false")
    assert client.get(hosting.authorize_path(application)).status_code == 400
    refused = redeem(client, application, code)
    assert (refused.status_code, refused.json["error"]) == (401, "invalid_client")
    assert refused.headers["WWW-Authenticate"].startswith("Basic")
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert client.get("/oauth/userinfo", headers=bearer).status_code == 401


def test_errors_of_the_request_travel_with_state_and_iss(app: Flask, client: FlaskClient) -> None:
    """Every one of them."""
    application = hosting.register_application(app)
    wrong = {
        "unsupported_response_type": {"response_type": "token"},
        "request_not_supported": {"request": "eyJ"},
        "request_uri_not_supported": {"request_uri": "https://app.example.org/r"},
        "invalid_request": {"code_challenge": "x"},
        "login_required": {"prompt": "none"},
    }
    for error, parameters in wrong.items():
        back = answer(client.get(hosting.authorize_path(application, **parameters)))
        assert back["error"] == error
        assert back["state"] == "state-1"
        assert back["iss"] == hosting.ISSUER


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


def test_the_consent_form_is_bound_to_session_and_account(app: Flask, client: FlaskClient) -> None:
    """A form shown to one person, or in one browser, is nobody else's agreement."""
    ada = hosting.add_person(app)
    eve = hosting.add_person(app, "Eve", "eve@example.org", "pass word")
    application = hosting.register_application(app)
    path = hosting.authorize_path(application)
    attacker = app.test_client()
    hosting.sign_in(attacker, eve)
    form = hosting.hidden_fields(attacker.get(path).text)
    hosting.sign_in(client, ada)
    own = hosting.hidden_fields(client.get(path).text)
    planted = {**own, "pending": form["pending"], "decision": "allow"}
    response = client.post("/oauth/consent", data=planted)
    assert response.headers["Location"].startswith("/oauth/authorize?pending=")
    assert client.get(response.headers["Location"]).status_code == 200  # asked again

    without_token = {"pending": own["pending"], "decision": "allow"}
    assert client.post("/oauth/consent", data=without_token).status_code == 400
    neither = client.post("/oauth/consent", data={**own, "decision": "perhaps"})
    assert neither.headers["Location"].startswith("/oauth/authorize?pending=")
    forged = client.post("/oauth/consent", data={**own, "pending": "x.y", "decision": "allow"})
    assert forged.status_code == 400


def test_a_pending_request_cannot_be_altered_or_kept(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed with the time it was first seen; forged or left lying it is an expired page."""
    application = hosting.register_application(app)
    location = client.get(hosting.authorize_path(application)).headers["Location"]
    assert client.get(location + "A").status_code == 400
    assert client.get(location[:-1]).status_code == 400
    import time

    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3700)
    expired = client.get(location)
    assert expired.status_code == 400
    assert "expired" in expired.text


def test_pages_refuse_to_be_framed_cached_or_scripted(app: Flask, client: FlaskClient) -> None:
    """Clickjacking, caches and inline script; no form-action on the way to an application."""
    person = hosting.add_person(app)
    application = hosting.register_application(app)
    hosting.sign_in(client, person)
    for response in (
        client.get(hosting.authorize_path(application)),
        client.get("/oauth/authorize"),
    ):
        policy = response.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "form-action" not in policy
        assert "unsafe-inline" not in policy
        assert response.headers["X-Frame-Options"] == "DENY"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Referrer-Policy"] == "same-origin"


def test_a_site_may_allow_its_own_layout_more_than_style_sheets(database_url: str) -> None:
    """Its pages around ours may need fonts and scripts; frames are refused all the same."""
    own = "default-src 'self' https://fonts.example; frame-ancestors 'none'"
    app = hosting.make_host(database_url, IDSYNC_CONTENT_SECURITY_POLICY=own)
    try:
        page = app.test_client().get("/oauth/authorize")
        assert page.headers["Content-Security-Policy"] == own
        assert page.headers["X-Frame-Options"] == "DENY"
    finally:
        hosting.close_host(app)


def test_names_of_applications_and_people_are_escaped(app: Flask, client: FlaskClient) -> None:
    """What is shown on the consent page was typed by strangers."""
    person = hosting.add_person(app, "<b>Ada</b>")
    application = hosting.register_application(app, "<script>alert(1)</script>")
    hosting.sign_in(client, person)
    page = client.get(hosting.authorize_path(application)).text
    assert "<script>alert" not in page
    assert "<b>Ada" not in page


def test_a_public_application_needs_a_challenge(app: Flask, client: FlaskClient) -> None:
    """Refused at authorize already; with one it signs in by client_id alone."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "App", "--public")
    back = answer(client.get(hosting.authorize_path(application)))
    assert back["error"] == "invalid_request"
    code = answer(hosting.authorize(client, application, person, code_challenge=CHALLENGE))["code"]
    assert redeem(client, application, code).json["error"] == "invalid_request"
    assert redeem(client, application, code, code_verifier=VERIFIER).status_code == 200


def test_parameters_that_do_not_fit_together_are_a_page(app: Flask, client: FlaskClient) -> None:
    """A pending request travels in an address of at most 8 KiB."""
    long_address = f"https://app.example.org/{secrets.token_hex(980)}"
    application = hosting.register_application(app, redirect_uri=long_address)

    def noise(length: int) -> str:
        return "".join(chr(0x10000 + secrets.randbelow(0x20000)) for _ in range(length))

    response = client.get(hosting.authorize_path(application, state=noise(1536), scope=noise(1024)))
    assert response.status_code == 400
    assert "Location" not in response.headers
