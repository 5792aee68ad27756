"""Mail goes to an SMTP server, secured where it leaves the machine, and never into a log."""

import smtplib
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import hosting
import mail_server
from demo_services import make_certificate
from host_app.models import db, identity
from idsync import ConfigurationError, InvalidValue
from idsync.signin.mail import MailServer, parse_mail_server, to_server
from mail_server import running_mail_server

SENDER = "Identity service <id@example.org>"
# Not a loopback address to us, yet on Linux one that reaches this machine.
HERE = "0.0.0.0"  # noqa: S104


@pytest.fixture
def server() -> Iterator[mail_server.MailServer]:
    with running_mail_server() as running:
        yield running


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A certificate that this process trusts, and its key."""
    made = make_certificate(tmp_path, HERE)
    monkeypatch.setenv("SSL_CERT_FILE", str(made[0]))
    return made


def address(server: mail_server.MailServer, host: str = "127.0.0.1") -> MailServer:
    return parse_mail_server(f"smtp://{host}:{server.port}")


def test_a_mail_says_who_it_is_from_and_that_nobody_wrote_it(
    server: mail_server.MailServer,
) -> None:
    to_server(address(server), SENDER)("ada@example.org", "Привет", "Текст\nhttps://a.example/b")
    mail = server.wait_for(1)
    assert mail["From"] == SENDER
    assert mail["To"] == mail["X-Recipients"] == "ada@example.org"
    assert mail["Subject"] == "Привет"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Message-ID"].endswith("@example.org>")
    assert mail["Date"]
    assert mail.get_content().splitlines() == ["Текст", "https://a.example/b"]


@pytest.mark.parametrize(
    ("given", "sent"),
    [("ада@example.org", "ада@example.org"), ("ada@пример.рф", "ada@xn--e1afmkfd.xn--p1ai")],
)
def test_addresses_of_every_alphabet_are_reached(
    server: mail_server.MailServer, given: str, sent: str
) -> None:
    to_server(address(server), SENDER)(given, "Subject", "text")
    assert server.wait_for(1)["X-Recipients"] == sent


@pytest.mark.parametrize("field", [0, 1])
def test_no_text_adds_a_header(server: mail_server.MailServer, field: int) -> None:
    values = ["ada@example.org", "Subject"]
    values[field] += "\r\nBcc: eve@example.org"
    with pytest.raises((ValueError, InvalidValue)):
        to_server(address(server), SENDER)(*values, "text")
    assert server.mails == []


def test_the_login_goes_over_tls_only(certificate: tuple[Path, Path]) -> None:
    user = f"{mail_server.USER}:{quote(mail_server.PASSWORD, safe='')}"
    with running_mail_server(certificate) as server:
        secure = parse_mail_server(f"smtp://{user}@{HERE}:{server.port}")
        to_server(secure, SENDER)("ada@example.org", "Subject", "text")
        assert server.wait_for(1)["To"] == "ada@example.org"
        assert server.was_secure == [True]


def test_a_server_without_tls_gets_nothing(server: mail_server.MailServer) -> None:
    """Whoever sits in between may have taken the offer of STARTTLS out."""
    with pytest.raises(smtplib.SMTPNotSupportedError):
        to_server(address(server, HERE), SENDER)("ada@example.org", "Subject", "text")
    assert server.mails == []


def test_a_server_that_is_somebody_else_gets_nothing(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with running_mail_server(certificate) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            to_server(address(server, HERE), SENDER)("ada@example.org", "Subject", "text")
        assert server.mails == []


@pytest.mark.parametrize(
    "setting",
    ["", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://h:x", "smtp://h/path"],
)
def test_a_sender_that_is_none_is_refused_at_the_start(setting: str) -> None:
    with pytest.raises(ConfigurationError, match="IDSYNC_MAIL_SENDER"):
        hosting.make_host(
            "sqlite://", IDSYNC_MAIL_SENDER=setting, IDSYNC_MAIL_FROM="id@example.org"
        )


@pytest.mark.parametrize("setting", ["", "nobody", "id@"])
def test_mail_from_nobody_is_refused_at_the_start(setting: str) -> None:
    with pytest.raises(ConfigurationError, match="IDSYNC_MAIL_FROM"):
        hosting.make_host(
            "sqlite://", IDSYNC_MAIL_SENDER="smtp://mail.example.org", IDSYNC_MAIL_FROM=setting
        )


def test_the_ports_are_those_of_submission() -> None:
    """RFC 6409 and RFC 8314; the password never shows."""
    assert parse_mail_server("smtp://mail.example.org").port == 587
    server = parse_mail_server("smtps://user:p%40ss@mail.example.org")
    assert (server.port, server.tls, server.password) == (465, True, "p@ss")
    assert "p@ss" not in repr(server)


def test_what_could_not_be_sent_is_logged_without_what_it_said(
    database_url: str, server: mail_server.MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer to the request is the same: it would tell that the address is somebody's."""
    server.refuse_all = True
    app = hosting.make_host(
        database_url,
        IDSYNC_MAIL_SENDER=f"smtp://127.0.0.1:{server.port}",
        IDSYNC_MAIL_FROM=SENDER,
    )
    try:
        hosting.add_person(app)
        browser = app.test_client()
        answer = hosting.submit(browser, "/sign-in/forgotten", {"email": "ada@example.org"})
        assert answer.status_code == 303
        hosting.send_messages(app)
        expected = "No message could be sent to an address at example.org: SMTPDataError"
        assert expected in caplog.text
        assert "new-password" not in caplog.text
        assert "ada" not in caplog.text
    finally:
        hosting.close_host(app)


def test_without_mail_there_are_no_pages_for_it(database_url: str) -> None:
    """The console reaches nobody but the developer beside it: links do not belong in a log."""
    app = hosting.make_host(database_url, IDSYNC_ISSUER="https://id.example.org")
    try:
        browser = app.test_client()
        assert browser.get("/sign-in/forgotten").status_code == 404
        assert "/sign-in/forgotten" not in browser.get("/sign-in").text
        with app.app_context():
            assert not identity.email.offered
            db.session.remove()
    finally:
        hosting.close_host(app)
