"""The consent page: when it is asked, whose agreement it is, and how it shows what others typed."""

from flask import Flask
from flask.testing import FlaskClient

import hosting
from clients.flow import answer


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
