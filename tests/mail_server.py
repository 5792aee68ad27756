"""A mail server on this machine, as a service would be configured to use."""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

PATIENCE = 10  # seconds
USER, PASSWORD = "identity", "p@ss:word"


class MailServer:
    """Keeps what it was sent."""

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[EmailMessage] = []
        self.was_secure: list[bool] = []
        self.refuse_all = False

    def wait_for(self, number: int) -> EmailMessage:
        """The mail with this number, counted from 1; mail is sent beside requests."""
        deadline = time.monotonic() + PATIENCE
        while len(self.mails) < number:
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(self.mails)} mails came, not {number}.")
            time.sleep(0.01)
        return self.mails[number - 1]

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        if self.refuse_all:
            return "550 Not here"
        content = envelope.content
        assert isinstance(content, bytes)
        mail = message_from_bytes(content, policy=default)
        assert isinstance(mail, EmailMessage)
        mail["X-Recipients"] = ", ".join(envelope.rcpt_tos)
        self.was_secure.append(session.ssl is not None or bool(server._tls_protocol))
        self.mails.append(mail)  # last, because others wait for it
        return "250 OK"


def _authenticate(*arguments: Any) -> AuthResult:
    given = arguments[-1]
    assert isinstance(given, LoginPassword)
    right = (given.login, given.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=right)


class _Controller(Controller):
    """Takes any free port."""

    def _trigger_server(self) -> None:
        assert self.server is not None
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def running_mail_server(certificate: tuple[Path, Path] | None = None) -> Iterator[MailServer]:
    """A server that takes mail until the end of the block.

    certificate: its file and its key's; then it wants STARTTLS and a login first.
    """
    kept = MailServer()
    options: dict[str, Any] = {}
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*certificate)
        options = {
            "tls_context": context,
            "require_starttls": True,
            "auth_required": True,
            "authenticator": _authenticate,
        }
    controller = _Controller(kept, hostname="127.0.0.1", port=0, enable_SMTPUTF8=True, **options)
    controller.start()
    try:
        kept.port = controller.port
        yield kept
    finally:
        controller.stop()
