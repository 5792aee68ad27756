"""How a message is sent: through a gateway or by the host, beside the request."""

from collections.abc import Iterator
from urllib.error import HTTPError

import pytest
from flask import Flask, current_app

import hosting
from idsync.signin.outbox import Outbox
from idsync.signin.senders import beside_requests, to_gateway
from phone_gateway import Gateway, running_gateway
from signin.phone.texts import PHONE, ask, enter


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with running_gateway() as gateway:
        yield gateway


def test_a_gateway_gets_number_text_and_token(gateway: Gateway) -> None:
    to_gateway(gateway.address, "secret-token")(PHONE, "123456 is your code")
    assert gateway.messages == [{"to": PHONE, "text": "123456 is your code"}]
    assert gateway.tokens == ["Bearer secret-token"]


def test_a_code_goes_through_the_gateway_beside_the_request(
    database_url: str, gateway: Gateway
) -> None:
    app = hosting.make_host(database_url, IDSYNC_PHONE_SENDER=gateway.address)
    try:
        hosting.add_person(app, "Ada", "a@example.org", "correct horse", "--phone", PHONE)
        browser = app.test_client()
        assert ask(browser) == 303
        message = gateway.wait_for(1)
        assert (message["to"], gateway.tokens) == (PHONE, [None])
        assert enter(browser, message["text"][:6]) == 303
    finally:
        hosting.close_host(app)


def test_a_gateway_that_refuses_is_logged_without_the_code(
    app: Flask, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    """And the request hears nothing of it: it would tell that the number is somebody's."""
    gateway.status, outbox = 500, Outbox()
    with app.app_context():
        send = beside_requests(outbox, to_gateway(gateway.address, "secret-token"))
        send(PHONE, "123456 is your code")
    outbox.close()
    assert "No message could be sent to a number ending in 78: HTTPError" in caplog.text
    for secret in ("123456", "secret-token", PHONE):
        assert secret not in caplog.text


def test_a_gateway_that_moved_gets_neither_code_nor_token(gateway: Gateway) -> None:
    with running_gateway() as elsewhere:
        gateway.status, gateway.location = 302, elsewhere.address
        with pytest.raises(HTTPError):
            to_gateway(gateway.address, "secret-token")(PHONE, "123456 is your code")
        assert (elsewhere.messages, elsewhere.tokens) == ([], [])


def test_a_sender_of_the_host_may_use_the_application(app: Flask) -> None:
    """It runs in a thread, but not without the application it belongs to."""
    sent: list[str] = []

    def send_text(phone: str, text: str) -> None:
        assert current_app.config["SECRET_KEY"]
        sent.append(phone)

    outbox = Outbox()
    with app.app_context():
        beside_requests(outbox, send_text)(PHONE, "123456")
    outbox.close()
    assert sent == [PHONE]
