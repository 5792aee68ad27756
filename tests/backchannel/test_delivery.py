"""How logout tokens are sent: to registered addresses only, and again where that failed."""

import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import create_server
from threading import Event, Thread
from typing import Any
from unittest import mock

import pytest
from flask import Flask
from sqlalchemy import text

import hosting
from backchannel.listening import deliver, notices, register
from clients.flow import tokens_of
from demo_services import make_certificate
from host_app.models import db
from idsync.oauth import logout_token
from idsync.oauth.delivery import CLAIM_SECONDS, GIVE_UP_AFTER, next_try
from idsync.oauth.logout_token import NotDelivered, post_logout_token
from receiver import Receiver, read, receiver


@pytest.fixture
def application(app: Flask, listener: Receiver) -> hosting.Client:
    """Wants to be told."""
    return register(app, listener.url)


@pytest.fixture
def leave(app: Flask, application: hosting.Client) -> Callable[[], None]:
    """Sign somebody in at the application, and out again."""
    person = hosting.add_person(app)

    def sign_in_and_out() -> None:
        client = app.test_client()
        tokens_of(client, application, person)
        client.get("/logout")

    return sign_in_and_out


def row(app: Flask) -> tuple:
    with app.app_context():
        statement = "SELECT due_at, delivered_at, tries FROM idsync_logout"
        return tuple(db.session.execute(text(statement)).one())


def test_pauses_grow_and_end_after_a_day() -> None:
    """5 seconds, then four times as long each time, at most an hour."""
    assert [next_try(0, tries, 0) for tries in (1, 2, 3, 4, 5, 6, 50)] == [
        *(5, 20, 80, 320, 1280, 3600, 3600)
    ]
    assert next_try(0, 30, GIVE_UP_AFTER - 3600) == GIVE_UP_AFTER
    assert next_try(0, 30, GIVE_UP_AFTER - 3599) is None


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_failing_application_hears_it_again_with_the_same_jti(
    app: Flask,
    listener: Receiver,
    leave: Callable[[], None],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Signed anew, so that it is never too old to be accepted."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    listener.status = status
    leave()
    assert deliver(app) == "0 logout tokens delivered, 1 not taken.\n"
    assert deliver(app) == "0 logout tokens delivered, 0 not taken.\n"  # not at once
    listener.status = 204
    assert deliver(app, after=300) == "1 logout tokens delivered, 0 not taken.\n"
    assert deliver(app, after=900) == "0 logout tokens delivered, 0 not taken.\n"
    first, second = (read(one, app.test_client().get("/oauth/jwks").json).claims
                     for one in listener.tokens())  # fmt: skip
    assert first["jti"] == second["jti"]
    assert second["iat"] >= first["iat"] + 300


def test_two_logouts_never_share_a_jti(
    app: Flask, listener: Receiver, leave: Callable[[], None]
) -> None:
    leave()
    leave()
    deliver(app)
    jwks = app.test_client().get("/oauth/jwks").json
    assert len({read(one, jwks).claims["jti"] for one in listener.tokens()}) == 2


def test_after_a_day_it_is_given_up_and_said(
    app: Flask, listener: Receiver, leave: Callable[[], None]
) -> None:
    """In the audit log; then `prune` forgets it."""
    listener.status = 500
    leave()
    deliver(app, after=GIVE_UP_AFTER)
    due_at, delivered_at, tries = row(app)
    assert (due_at, delivered_at, tries) == (None, None, 1)
    with app.app_context():
        kinds = db.session.execute(text("SELECT kind FROM idsync_event")).scalars().all()
    assert "logout token given up" in kinds
    with mock.patch("time.time", return_value=time.time() + GIVE_UP_AFTER + 86_401):
        hosting.run(app, "idsync", "prune")
    assert notices(app) == 0


def test_what_is_still_to_be_sent_is_never_pruned(
    app: Flask, listener: Receiver, leave: Callable[[], None]
) -> None:
    leave()
    with mock.patch("time.time", return_value=time.time() + 40 * 86_400):
        hosting.run(app, "idsync", "prune")
    assert row(app)[2] == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(
    app: Flask, listener: Receiver, leave: Callable[[], None], status: int
) -> None:
    """The address it leads to was not registered."""
    with receiver() as elsewhere:
        listener.status, listener.headers = status, {"Location": elsewhere.url}
        leave()
        assert deliver(app) == "0 logout tokens delivered, 1 not taken.\n"
        assert elsewhere.requests == []


def test_nothing_is_sent_to_an_address_that_is_registered_no_more(
    app: Flask, listener: Receiver, application: hosting.Client, leave: Callable[[], None]
) -> None:
    """The registration counts when it is sent: taken away, moved, or switched off."""
    client_id = application.client_id
    edit = ("idsync", "application", "edit", client_id, "--backchannel-logout-uri")
    leave()
    hosting.run(app, *edit, "")
    deliver(app)
    with receiver() as moved:
        hosting.run(app, *edit, listener.url)
        leave()
        hosting.run(app, *edit, moved.url)
        deliver(app)
        assert len(moved.requests) == 1
    hosting.run(app, *edit, listener.url)
    leave()
    hosting.run(app, "idsync", "application", "deactivate", client_id)
    deliver(app)
    assert listener.requests == []


def test_a_proxy_of_the_environment_is_not_used(
    app: Flask, listener: Receiver, leave: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token goes to the application and to nobody else."""
    with receiver() as proxy:
        for name in ("http_proxy", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        leave()
        deliver(app)
        assert (len(listener.requests), proxy.requests) == (1, [])


def test_over_https_the_application_proves_who_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate nobody vouches for gets nothing; one that is trusted gets the token."""
    certificate = make_certificate(tmp_path)
    with receiver(certificate) as listener:
        with pytest.raises(NotDelivered, match="CertVerification"):
            post_logout_token(listener.url, "x")
        assert listener.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        post_logout_token(listener.url, "x")
        assert listener.tokens() == ["x"]


def test_an_application_that_is_away_is_a_failure_like_others(app: Flask) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(NotDelivered):
            post_logout_token(f"http://127.0.0.1:{taken.getsockname()[1]}/", "x")


def test_an_answer_that_comes_byte_by_byte_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte is in time; the answer is not."""
    monkeypatch.setattr(logout_token, "TIMEOUT", 1)
    with create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    for _ in range(200):
                        connection.sendall(b"H")
                        time.sleep(0.05)
                except OSError:
                    pass

        thread = Thread(target=drip, daemon=True)
        thread.start()
        begun = time.monotonic()
        with pytest.raises(NotDelivered):
            post_logout_token(f"http://127.0.0.1:{server.getsockname()[1]}/", "x")
        assert time.monotonic() - begun < 5
        thread.join(5)


def test_a_name_that_is_found_late_leaves_no_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does its server, which sends bytes as slowly as it likes from then on."""
    monkeypatch.setattr(logout_token, "TIMEOUT", 1)
    find = socket.getaddrinfo

    def find_late(*arguments: Any, **options: Any) -> Any:
        time.sleep(1.5)
        return find(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", find_late)
    with create_server(("127.0.0.1", 0)) as server:
        stop = Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                while not stop.wait(0.2):
                    connection.sendall(b"H")

        thread = Thread(target=drip, daemon=True)
        thread.start()
        begun = time.monotonic()
        with pytest.raises(NotDelivered):
            post_logout_token(f"http://localhost:{server.getsockname()[1]}/", "x")
        assert time.monotonic() - begun < 4
        stop.set()
        thread.join(5)


@pytest.mark.parametrize(("address", "path"), [("", "/"), ("?a=1", "/?a=1"), ("/c", "/c")])
def test_a_token_is_posted_to_the_path_of_the_address(
    listener: Receiver, address: str, path: str
) -> None:
    """With its query, and a slash where it has no path."""
    post_logout_token(listener.url.partition("/logged-out")[0] + address, "x")
    assert [request[1] for request in listener.requests] == [path]


@pytest.mark.parametrize("address", ["https://a.example:99999/", "https://[::1/", "https:///x"])
def test_an_address_that_is_none_is_a_failure_and_no_more(address: str) -> None:
    """The worker goes on with the other tokens."""
    with pytest.raises(NotDelivered):
        post_logout_token(address, "x")


def test_a_claim_that_ran_out_is_taken_over(
    app: Flask, listener: Receiver, leave: Callable[[], None]
) -> None:
    """Until then nobody else sends it."""
    leave()
    with app.app_context():
        (claimed,) = app.extensions["idsync"].deliveries.claim(10, Counter())
    assert deliver(app) == "0 logout tokens delivered, 0 not taken.\n"
    assert deliver(app, after=CLAIM_SECONDS) == "1 logout tokens delivered, 0 not taken.\n"
    with app.app_context():
        # The first one wakes up: what it has to say counts no more.
        app.extensions["idsync"].deliveries.failed(claimed)
    assert row(app)[0] is None


def test_without_an_issuer_there_is_nothing_to_sign(database_url: str) -> None:
    """It is in every token, and a command has no request to take it from."""
    app = hosting.make_host(database_url, IDSYNC_ISSUER="")
    result = app.test_cli_runner().invoke(args=["idsync", "deliver", "--once"])
    hosting.close_host(app)
    assert result.exit_code == 1
    assert "IDSYNC_ISSUER" in result.output
