"""What widely used client libraries do at authorize; each has broken one of them somewhere."""

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import hosting
from clients.flow import answer, refresh, tokens_of


def pages_on_the_way(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> Iterator[TestResponse]:
    """Every page between the application's link and the way back to it."""
    address = hosting.authorize_path(application, prompt="consent")
    sign_in_page = hosting.follow(client, client.get(address))
    assert 'name="password"' in sign_in_page.text
    yield sign_in_page
    wrong = hosting.sign_in(client, person, password="x", address=sign_in_page.request.full_path)
    assert wrong.status_code == 422
    yield wrong
    signed_in = hosting.sign_in(client, person, address=sign_in_page.request.full_path)
    consent_page = hosting.follow(client, signed_in)
    assert 'name="decision"' in consent_page.text
    yield consent_page


def test_no_page_limits_where_its_form_may_lead(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """Chromium applies `form-action` to the whole redirect chain behind a form, and with consent
    remembered the sign-in form's chain ends at the application.
    """
    for page in pages_on_the_way(client, application, person):
        policy = page.headers["Content-Security-Policy"]
        assert "form-action" not in policy
        # default-src does not stand in for form-action, and says what the rest may do.
        assert "default-src 'none'" in policy


def test_pages_let_the_browser_send_a_referrer_and_forms_pass_over_https(
    database_url: str,
) -> None:
    """Over https, Flask-WTF checks the Referer. `no-referrer` would lock everyone out."""
    issuer = "https://localhost"
    app = hosting.make_host(database_url, IDSYNC_ISSUER=issuer)
    try:
        person = hosting.add_person(app)
        application = hosting.register_application(app)
        client = app.test_client()
        address = hosting.authorize_path(application)
        page = client.get(address, base_url=issuer)
        while page.status_code != 200:
            page = client.get(page.headers["Location"], base_url=issuer)
        assert page.headers["Referrer-Policy"] == "same-origin"
        fields = {"email": person.email, "password": person.password}
        signed_in = post_over_https(client, page, fields, page.request.url)
        consent_page = client.get(signed_in.headers["Location"], base_url=issuer)
        assert consent_page.headers["Referrer-Policy"] == "same-origin"
        allowed = post_over_https(
            client, consent_page, {"decision": "allow"}, issuer + "/oauth/consent"
        )
        assert "code" in answer(allowed)
    finally:
        hosting.close_host(app)


def post_over_https(
    client: FlaskClient, page: TestResponse, fields: dict[str, str], address: str
) -> TestResponse:
    """Send a page's form with what a browser says about where it comes from."""
    return client.post(
        address,
        data={**hosting.hidden_fields(page.text), **fields},
        headers={"Referer": page.request.url, "Origin": "https://localhost"},
    )


def test_a_silent_request_without_cookies_is_answered_with_login_required(
    app: Flask, client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """A frame on another site has none of our cookies, whoever is signed in."""
    hosting.authorize(client, application, person)
    frame = app.test_client(use_cookies=False)
    silent = frame.get(hosting.authorize_path(application, prompt="none"))
    assert answer(silent)["error"] == "login_required"


def test_silent_requests_every_few_seconds_disturb_nothing(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """Each is answered with a code; session and earlier tokens stay as they are."""
    first = tokens_of(client, application, person)
    for _ in range(5):
        silent = client.get(hosting.authorize_path(application, prompt="none"))
        assert "code" in answer(silent)
    bearer = {"Authorization": f"Bearer {first['access_token']}"}
    assert client.get("/oauth/userinfo", headers=bearer).status_code == 200
    refresh(client, application, first["refresh_token"])
    assert person.name in client.get("/").text


def test_a_client_that_always_prompts_for_consent_gets_it_each_time(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """And a code after each agreement."""
    address = hosting.authorize_path(application, prompt="consent")
    hosting.authorize(client, application, person, prompt="consent")
    for _ in range(2):
        assert 'name="decision"' in client.get(address).text
        assert "code" in answer(hosting.decide(client, address))


BYE = "https://app.example.org/bye"


@pytest.mark.parametrize("with_client_id", [True, False])
@pytest.mark.parametrize("state", ["a:b c", None])
def test_logout_with_or_without_state_and_client_id(
    app: Flask,
    client: FlaskClient,
    person: hosting.Person,
    state: str | None,
    with_client_id: bool,
) -> None:
    """It ends the session and leaves consent: the next sign-in asks for the password only."""
    application = hosting.register_application(app, "App", "--post-logout-redirect-uri", BYE)
    id_token = tokens_of(client, application, person)["id_token"]
    query = {"id_token_hint": id_token, "post_logout_redirect_uri": BYE}
    if state is not None:
        query["state"] = state
    if with_client_id:
        query["client_id"] = application.client_id
    left = client.get("/logout", query_string=query)
    assert left.headers["Location"] == (BYE if state is None else f"{BYE}?state=a%3Ab%20c")
    page = hosting.follow(client, client.get(hosting.authorize_path(application)))
    back = hosting.sign_in(client, person, address=page.request.full_path)
    assert "code" in answer(hosting.follow(client, back))
