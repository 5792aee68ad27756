"""How a mail reaches a person: the console, an SMTP server, or a function of the host."""

from __future__ import annotations

import smtplib
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid, parseaddr
from urllib.parse import unquote, urlsplit

import idna

from idsync.accounts.rules import checked_email
from idsync.errors import ConfigurationError, InvalidValue
from idsync.settings import is_loopback

SendMail = Callable[[str, str, str], object]
"""Called with an address, a subject and a text; raises where the mail was not accepted."""

TIMEOUT = 20
"""Seconds a server may take to answer each command."""

SUBMISSION_PORT = 587
"""Message submission, with STARTTLS (RFC 6409, RFC 3207)."""

SUBMISSIONS_PORT = 465
"""Message submission over TLS from the first byte (RFC 8314 §3.3)."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """An SMTP server. tls: from the first byte, else by STARTTLS, which only loopback goes without.

    Without a user nobody logs in.
    """

    host: str
    port: int
    tls: bool
    user: str
    password: str = field(repr=False)


def parse_mail_server(address: str) -> MailServer:
    """Read `smtp://user:password@host:587` or `smtps://…:465`. Raises ConfigurationError.

    The user and the password are percent-encoded, as in every URL.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.path.strip("/"):
        raise ConfigurationError(
            "IDSYNC_MAIL_SENDER must be console, smtp://user:password@host:587 (with STARTTLS) or "
            "smtps://user:password@host:465."
        )
    tls = parts.scheme == "smtps"
    return MailServer(
        parts.hostname,
        port or (SUBMISSIONS_PORT if tls else SUBMISSION_PORT),
        tls,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )


def to_console(address: str, subject: str, text: str) -> None:
    """Write a mail to standard error; for development, where nobody else reads it."""
    sys.stderr.write(f"Mail to {address}: {subject}\n{text}\n")
    sys.stderr.flush()


def to_server(server: MailServer, sender: str) -> SendMail:
    """A sender that hands each mail to an SMTP server. Raises ConfigurationError.

    sender: `Name <address>`, or an address.
    """
    own = _sender(sender)

    def send(address: str, subject: str, text: str) -> None:
        name, _, domain = checked_email(address).rpartition("@")
        message = EmailMessage(policy=SMTP)
        message["From"] = own
        # A name beyond ASCII needs a server with SMTPUTF8 (RFC 6531), which smtplib asks for.
        message["To"] = f"{name}@{idna.encode(domain, uts46=True).decode()}"
        message["Subject"] = subject
        message["Date"] = formatdate()
        message["Message-ID"] = make_msgid(domain=own.domain)
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence note answers it
        message.set_content(text)
        with _connected(server) as connection:
            connection.send_message(message)

    return send


def _sender(text: str) -> Address:
    name, address = parseaddr(text)
    try:
        checked_email(address)
        return Address(name, addr_spec=address)
    except (InvalidValue, ValueError) as error:
        raise ConfigurationError(
            "IDSYNC_MAIL_FROM must be who mail comes from, such as "
            f"Identity service <id@example.org>: {error}"
        ) from None


def _connected(server: MailServer) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if server.tls:
        connection: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=TIMEOUT, context=context
        )
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=TIMEOUT)
    try:
        if not server.tls and not is_loopback(server.host):
            connection.starttls(context=context)  # raises where the server does not offer it
        if server.user:
            connection.login(server.user, server.password)
    except BaseException:
        connection.close()
        raise
    return connection
