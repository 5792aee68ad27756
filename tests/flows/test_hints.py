"""What an application asks of a sign-in: whom it means, and how the pages should look."""

import json
from base64 import urlsafe_b64encode

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from clients.flow import answer, token_of, tokens_of


@pytest.fixture
def ada(app: Flask) -> hosting.Person:
    return hosting.add_person(app)


@pytest.fixture
def eve(app: Flask) -> hosting.Person:
    return hosting.add_person(app, "Eve", "eve@example.org", "pass word")


@pytest.fixture
def application(app: Flask) -> hosting.Client:
    return hosting.register_application(app, "Ours", "--first-party")


# --- id_token_hint -----------------------------------------------------------------------------


@pytest.fixture
def hint(app: Flask, application: hosting.Client, ada: hosting.Person) -> str:
    """An id_token that names Ada."""
    return str(tokens_of(app.test_client(), application, ada)["id_token"])


def test_a_code_is_given_only_for_whom_the_hint_names(
    client: FlaskClient, application: hosting.Client, ada: hosting.Person, hint: str
) -> None:
    """Without a page where it is she who is signed in."""
    silent = hosting.authorize_path(application, prompt="none", id_token_hint=hint)
    assert answer(client.get(silent))["error"] == "login_required"
    hosting.sign_in(client, ada)
    assert "code" in answer(client.get(silent))
    assert "code" in answer(client.get(hosting.authorize_path(application, id_token_hint=hint)))


def test_somebody_else_signed_in_is_login_required_or_signs_in_again(
    client: FlaskClient,
    application: hosting.Client,
    ada: hosting.Person,
    eve: hosting.Person,
    hint: str,
) -> None:
    """Nobody else's code, whoever signs in then (OpenID Connect Core §3.1.2.1)."""
    hosting.sign_in(client, eve)
    silent = hosting.authorize_path(application, prompt="none", id_token_hint=hint)
    assert answer(client.get(silent))["error"] == "login_required"
    path = hosting.authorize_path(application, id_token_hint=hint)
    page = hosting.follow(client, client.get(path))
    assert 'name="password"' in page.text
    again = hosting.sign_in(client, eve, address=page.request.full_path)
    assert answer(hosting.follow(client, again))["error"] == "login_required"
    page = hosting.follow(client, client.get(path))
    right = hosting.sign_in(client, ada, address=page.request.full_path)
    assert "code" in answer(hosting.follow(client, right))


def test_a_hint_that_is_not_an_id_token_for_this_application_is_refused(
    app: Flask, client: FlaskClient, application: hosting.Client, ada: hosting.Person, hint: str
) -> None:
    """Altered, unsigned, another application's, or no token at all; an expired one will do."""
    other = hosting.register_application(app, "Other", "--first-party")
    head, body, signature = hint.split(".")
    hosting.sign_in(client, ada)
    for wrong in (
        f"{head}.{body}.{signature[:-8]}AAAAAAAA",
        f"eyJhbGciOiJub25lIn0.{body}.",
        tokens_of(app.test_client(), other, ada)["id_token"],
        tokens_of(app.test_client(), application, ada)["access_token"],
        "nonsense",
    ):
        path = hosting.authorize_path(application, id_token_hint=wrong)
        assert answer(client.get(path))["error"] == "invalid_request"


@pytest.mark.parametrize("crit", [1, "x", [1], {"a": 1}, ["unknown"]])
def test_a_hint_with_a_header_of_odd_types_is_refused(
    client: FlaskClient, application: hosting.Client, hint: str, crit: object
) -> None:
    """Anybody can write one: the header is read before the signature is."""
    _, body, signature = hint.split(".")
    kid = client.get("/oauth/jwks").json["keys"][0]["kid"]  # type: ignore[index]
    header = json.dumps({"alg": "RS256", "kid": kid, "crit": crit}).encode()
    odd = f"{urlsafe_b64encode(header).rstrip(b'=').decode()}.{body}.{signature}"
    path = hosting.authorize_path(application, id_token_hint=odd)
    assert answer(client.get(path))["error"] == "invalid_request"
    assert client.get("/logout", query_string={"id_token_hint": odd}).status_code == 400


def test_a_hint_of_an_application_switched_off_asks_before_signing_out(
    app: Flask, client: FlaskClient, application: hosting.Client, ada: hosting.Person, hint: str
) -> None:
    hosting.sign_in(client, ada)
    hosting.run(app, "idsync", "application", "deactivate", application.client_id)
    page = client.get("/logout", query_string={"id_token_hint": hint})
    assert page.status_code == 200
    assert "Sign out?" in page.text
    assert "You are signed in" in client.get("/").text


def test_whom_a_hint_names_cannot_be_written_by_hand(
    client: FlaskClient, application: hosting.Client, eve: hosting.Person, hint: str
) -> None:
    """The name by which it travels through our own pages means nothing from outside."""
    hosting.sign_in(client, eve)
    path = hosting.authorize_path(application, id_token_hint=hint, hinted_subject=eve.id)
    assert 'name="password"' in hosting.follow(client, client.get(path)).text
    hosting.sign_in(client, eve)
    alone = hosting.authorize_path(application, hinted_subject="nobody")
    assert "code" in answer(client.get(alone))


def test_the_longest_hint_fits_through_the_sign_in_page(
    app: Flask, client: FlaskClient, application: hosting.Client
) -> None:
    """It is read at once, and only the name goes on; the rest may be as long as is allowed."""
    person = hosting.add_person(app, "Ж" * 200, "long@example.org", "pass word")
    hint = tokens_of(app.test_client(), application, person)["id_token"]
    path = hosting.authorize_path(application, id_token_hint=hint, state="s" * 1536)
    page = hosting.follow(client, client.get(path))
    assert 'name="password"' in page.text
    assert len(page.request.full_path) < 4000


# --- login_hint and ui_locales -----------------------------------------------------------------


def test_login_hint_fills_in_the_sign_in_field(
    client: FlaskClient, application: hosting.Client, ada: hosting.Person
) -> None:
    """It is text, whatever it holds, and what is typed counts."""
    path = hosting.authorize_path(application, login_hint='"><b>ada@example.org')
    page = hosting.follow(client, client.get(path))
    assert 'value="&#34;&gt;&lt;b&gt;ada@example.org"' in page.text
    back = hosting.sign_in(client, ada, address=page.request.full_path)
    assert "code" in answer(hosting.follow(client, back))


def test_a_hint_counts_only_in_a_request_that_was_accepted(client: FlaskClient) -> None:
    """Not in an address that somebody wrote for the sign-in page."""
    for wanted in (
        "/oauth/authorize?login_hint=eve@example.org",
        "/oauth/authorize?pending=x&login_hint=eve@example.org",
        "/?login_hint=eve@example.org",
    ):
        page = client.get("/sign-in", query_string={"next": wanted})
        assert page.status_code == 200
        assert 'value="eve@example.org"' not in page.text


@pytest.mark.parametrize(
    ("asked", "language"),
    [("ru", "ru"), ("de ru-RU en", "ru"), ("RU", "ru"), ("de", "en"), ("en ru", "en"), ("-", "en")],
)
def test_ui_locales_choose_the_language_of_the_pages(
    app: Flask, client: FlaskClient, ada: hosting.Person, asked: str, language: str
) -> None:
    """Sign-in, consent, and errors; the best that there is."""
    application = hosting.register_application(app)
    path = hosting.authorize_path(application, ui_locales=asked)
    page = hosting.follow(client, client.get(path))
    assert f'<html lang="{language}">' in page.text
    back = hosting.sign_in(client, ada, address=page.request.full_path)
    consent = hosting.follow(client, back)
    assert 'name="decision"' in consent.text
    assert f'<html lang="{language}">' in consent.text
    refused = client.get(hosting.authorize_path(application, ui_locales=asked, redirect_uri="x"))
    assert refused.status_code == 400
    assert f'<html lang="{language}">' in refused.text


def test_an_application_s_wish_counts_more_than_an_older_choice(
    client: FlaskClient, application: hosting.Client
) -> None:
    """Then the person's own, then the browser's; but who chooses on the way has it."""
    english = {"Accept-Language": "en"}
    client.set_cookie("identity_language", "ru.1000000000")
    path = hosting.authorize_path(application, ui_locales="en")
    page = hosting.follow(client, client.get(path, headers=english))
    assert '<html lang="en">' in page.text
    assert '<html lang="ru">' in client.get("/sign-in", headers=english).text
    back = page.request.full_path
    chosen = client.post("/language", data={"language": "ru", "back": back})
    assert '<html lang="ru">' in client.get(chosen.location).text


# --- voluntary ones ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"display": "popup"},
        {"display": "wap"},
        {"claims_locales": "ru en"},
        {"acr_values": "2 1"},
        {"acr_values": "urn:mace:incommon:iap:silver"},
        {"claims": '{"userinfo":{"phone_number":{"essential":true}}}'},
        {"extra": "foobar"},
    ],
)
def test_wishes_that_cannot_be_met_are_no_errors(
    client: FlaskClient, application: hosting.Client, ada: hosting.Person, parameters: dict
) -> None:
    """OpenID Connect Core §3.1.2.1: voluntary; and unknown parameters are ignored."""
    assert "code" in answer(hosting.authorize(client, application, ada, **parameters))


def test_the_id_token_says_which_acr_was_reached(
    client: FlaskClient, application: hosting.Client, ada: hosting.Person
) -> None:
    """Asking for the second factor asks for it where there is one, and is no error elsewhere."""
    alone = tokens_of(client, application, ada, acr_values="2")
    assert token_of(client, alone["id_token"]).claims["acr"] == "1"
    authenticator = hosting.set_up_app(client)
    client.get("/logout")
    path = hosting.authorize_path(application, acr_values="2")
    page = hosting.follow(client, client.get(path))
    page = hosting.follow(client, hosting.sign_in(client, ada, address=page.request.full_path))
    assert 'name="code"' in page.text
    fields = {"code": authenticator.code()}
    back = hosting.follow(client, hosting.submit(client, page.request.full_path, fields))
    form = {
        "grant_type": "authorization_code",
        "code": answer(back)["code"],
        "redirect_uri": application.redirect_uri,
    }
    tokens = client.post("/oauth/token", data=form, auth=application.basic).json
    assert token_of(client, tokens["id_token"]).claims["acr"] == "2"
