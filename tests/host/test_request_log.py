"""A line for each request: what it says, what it leaves out, and the id that ties them."""

import json
import logging

import pytest
from flask import Flask, abort
from flask.testing import FlaskClient

import hosting
from host.conftest import Mailbox
from host_app.logs import JsonLines, TextLines, request_id
from idsync.extension import EXTENSION


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "host_app")
    return caplog


def last(lines: pytest.LogCaptureFixture) -> dict[str, object]:
    """The fields of the last request's line."""
    return [one.fields for one in lines.records if hasattr(one, "fields")][-1]


def test_a_request_is_one_line(client: FlaskClient, lines: pytest.LogCaptureFixture) -> None:
    client.get("/sign-in?next=/security")
    requests = [one for one in lines.records if one.name == "host_app.requests"]
    assert len(requests) == 1
    told = last(lines)
    assert told.pop("milliseconds") > 0  # type: ignore[operator]
    assert told == {
        "method": "GET",
        "route": "/sign-in",
        "status": 200,
        "address": "127.0.0.1",
    }


def test_an_address_that_holds_a_secret_is_told_by_its_rule(
    app: Flask, client: FlaskClient, mailbox: Mailbox, lines: pytest.LogCaptureFixture
) -> None:
    client.get("/sign-in/new-password/a-secret-link?code=another")
    assert last(lines)["route"] == "/sign-in/new-password/<link>"
    client.get("/sign-in/new-pasword/a-secret-link")
    assert "route" not in last(lines)
    assert "secret" not in lines.text
    assert "another" not in lines.text


def test_who_asks_is_told_once_it_is_known(
    app: Flask, client: FlaskClient, lines: pytest.LogCaptureFixture
) -> None:
    """A person by their subject, an application by its client_id."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party", "--accounts")
    hosting.sign_in(client, person)
    assert last(lines)["subject"] == person.id
    client.get("/profile")
    assert last(lines)["subject"] == person.id
    answer = hosting.authorize(client, application, person)
    both = {"subject": person.id, "client_id": application.client_id}
    assert both.items() <= last(lines).items()
    code = answer.headers["Location"].partition("code=")[2].partition("&")[0]
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": application.redirect_uri,
    }
    program = app.test_client()
    tokens = program.post("/oauth/token", data=form, auth=application.basic).json
    assert both.items() <= last(lines).items()
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    program.get("/oauth/userinfo", headers=bearer)
    assert both.items() <= last(lines).items()
    program.get("/api/service/accounts", auth=application.basic, buffered=True)
    assert last(lines)["client_id"] == application.client_id
    program.get("/api/service/accounts", auth=("app_unknown", "ids_wrong"))
    assert "client_id" not in last(lines)


def test_the_id_is_in_the_answer_and_in_every_line(app: Flask, client: FlaskClient) -> None:
    """Lines of a thread that the request started are no exception: a message is sent in one."""
    seen = []

    class Watching(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append((record.name, request_id.get()))

    hosting.add_person(app)
    watching = Watching()
    logging.root.addHandler(watching)
    try:

        def fail(*_: str) -> None:
            raise OSError

        app.extensions[EXTENSION].sign_in.email._send_mail = fail
        answer = hosting.submit(client, "/sign-in/forgotten", {"email": "ada@example.org"})
        hosting.send_messages(app)
    finally:
        logging.root.removeHandler(watching)
    own = answer.headers["X-Request-ID"]
    assert ("host_app.requests", own) in seen
    assert ("idsync.signin.outbox", own) in seen


@pytest.mark.parametrize(
    ("proxies", "given", "taken"),
    [
        (1, "4bf92f3577b34da6a3ce929d0e0e4736", True),
        (1, "00f067aa-0ba9-02b7-4bf9-2f3577b34da6", True),
        (0, "4bf92f3577b34da6a3ce929d0e0e4736", False),
        (1, "short", False),
        (1, "4bf92f3577b34da6\tand more", False),
        (1, "4bf92f3577b34da6, 4bf92f3577b34da6", False),
        (1, "a" * 65, False),
        (1, '4bf92f3577b34da6"}{"', False),
    ],
)
def test_only_a_proxy_s_id_is_taken_over(
    database_url: str, proxies: int, given: str, taken: bool
) -> None:
    """Anybody else could make their requests look like somebody else's."""
    with hosting.host(hosting.configuration(database_url, HOST_PROXIES=proxies)) as app:
        answer = app.test_client().get("/nothing", headers={"X-Request-ID": given})
        assert len(answer.headers.getlist("X-Request-ID")) == 1
        assert (answer.headers["X-Request-ID"] == given) is taken


def test_a_proxy_that_nobody_told_of_is_noticed(
    client: FlaskClient, lines: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        client.get("/nothing", headers={"X-Forwarded-For": "203.0.113.9"})
    warnings = [one.message for one in lines.records if "HOST_PROXIES is 0" in one.message]
    assert len(warnings) == 1


def test_a_failure_is_told_by_its_route(
    app: Flask, client: FlaskClient, lines: pytest.LogCaptureFixture
) -> None:
    """Flask would write the address."""
    app.config.update(TESTING=False, PROPAGATE_EXCEPTIONS=False)
    app.add_url_rule("/fails/<link>", view_func=lambda link: 1 / 0)
    assert client.get("/fails/a-secret-link").status_code == 500
    assert "Exception on /fails/<link> [GET]" in lines.text
    assert "a-secret-link" not in lines.text
    assert last(lines)["status"] == 500


def test_a_line_costs_nobody_an_answer(
    app: Flask, client: FlaskClient, lines: pytest.LogCaptureFixture
) -> None:
    log = app.wsgi_app.app  # type: ignore[attr-defined]
    log.observers.insert(0, lambda answered: abort(500))
    assert client.get("/sign-in").status_code == 200
    assert last(lines)["status"] == 200


# --- the form of lines ----------------------------------------------------------------------------


def record(message: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("one", logging.WARNING, "file", 1, message, arguments, None)


def test_a_json_line_is_one_line() -> None:
    """Whatever a message holds, it cannot pass for another line."""
    before = request_id.set("0123456789abcdef")
    text = JsonLines().format(record('a "quoted"\n{"level": "error"}\r\x1b[2J %s', "ä"))
    request_id.reset(before)
    assert "\n" not in text
    line = json.loads(text)
    assert line["message"] == 'a "quoted"\n{"level": "error"}\r\x1b[2J ä'
    assert (line["level"], line["logger"]) == ("warning", "one")
    assert line["request_id"] == "0123456789abcdef"
    assert line["time"].endswith("Z")


def test_a_text_line_is_one_line() -> None:
    """A message may repeat what a visitor typed; nothing of it can pass for another line."""
    text = TextLines().format(record("to an address at evil\n12:00:00 INFO\r\x1b[2J\u2028 %s", "ä"))
    assert text.splitlines() == [text]
    assert "evil\\n12:00:00 INFO\\r\\x1b[2J\\u2028 ä" in text


@pytest.mark.parametrize("lines", [JsonLines(), TextLines()])
def test_what_looks_like_a_token_is_masked(lines: logging.Formatter) -> None:
    """A traceback may quote anything, whoever writes it."""
    try:
        raise ValueError("no good: rt_AbCdEf0123456789.xyz~-AbC")
    except ValueError as error:
        its = record("bearer at_AbCdEf0123456789abc and ids_AbCdEf0123456789abcdef")
        its.exc_info = (type(error), error, error.__traceback__)
    text = lines.format(its)
    assert "AbCdEf0123456789" not in text
    assert text.count("_***") == 4  # the source line of the traceback too
