"""The logout token (OpenID Connect Back-Channel Logout 1.0 §2.4), and how it is posted (§2.5).

It goes to the registered address and nowhere else: redirects are not followed, proxies of the
environment not used.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
import time
from base64 import urlsafe_b64encode
from contextlib import suppress
from threading import Timer
from typing import Any
from urllib.parse import urlencode, urlsplit

from joserfc import jwt

from idsync.oauth.signing_keys import SigningKey
from idsync.signin.sessions import public_session_id

EVENT = "http://schemas.openid.net/event/backchannel-logout"
TYPE = "logout+jwt"

LIFETIME = 120
"""Seconds (§2.4 recommends at most two minutes); each try is signed anew."""

TIMEOUT = 10
"""Seconds an application may take until the last header of its answer. Finding its address is not
cut short, but counts.
"""


class NotDelivered(Exception):
    """The application did not take the token; the message is for the operator's log."""


def logout_token_claims(
    *,
    issuer: str,
    client_id: str,
    subject: str,
    session_id: bytes | None,
    number: int,
    created_at: int,
    now: int,
) -> dict[str, Any]:
    """The claims. `number` and `created_at` are the row's: every try of it has the same jti."""
    named = f"{issuer} {client_id} {number} {created_at}".encode()
    claims: dict[str, Any] = {
        "iss": issuer,
        "aud": client_id,
        "iat": now,
        "exp": now + LIFETIME,
        "jti": urlsafe_b64encode(hashlib.sha256(named).digest()[:16]).rstrip(b"=").decode("ascii"),
        "events": {EVENT: {}},
        "sub": subject,
    }
    if session_id is not None:
        claims["sid"] = public_session_id(session_id)
    return claims


def sign_logout_token(claims: dict[str, Any], key: SigningKey) -> str:
    """The compact JWS of the claims; its type keeps it from passing as an id_token."""
    header = {"alg": key.algorithm, "kid": key.kid, "typ": TYPE}
    return jwt.encode(header, claims, key.private, algorithms=[key.algorithm])


def post_logout_token(address: str, token: str) -> None:
    """Post a logout token to an address that registration has checked. Raises NotDelivered."""
    deadline = time.monotonic() + TIMEOUT
    try:
        parts = urlsplit(address)
        connection, raw = _connected(parts.scheme, parts.hostname or "", parts.port)
        # A socket's own timeout begins anew with every byte that arrives.
        cut = Timer(max(0.0, deadline - time.monotonic()), _cut_off, [raw])
        cut.daemon = True
        cut.start()
        try:
            if isinstance(raw, ssl.SSLSocket):
                raw.do_handshake()
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            body = urlencode({"logout_token": token})
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Connection": "close"}
            connection.request("POST", path, body, headers)
            status = connection.getresponse().status
        finally:
            cut.cancel()
            connection.close()
    except (OSError, http.client.HTTPException, ValueError, RuntimeError) as error:
        raise NotDelivered(type(error).__name__) from None
    if not 200 <= status < 300:
        raise NotDelivered(f"status {status}")


def _connected(
    scheme: str, host: str, port: int | None
) -> tuple[http.client.HTTPConnection, socket.socket]:
    """A connection whose socket is open, and the socket; TLS has not begun yet."""
    secure = scheme == "https"
    connection = http.client.HTTPConnection(host, port or (443 if secure else 80))
    raw = socket.create_connection((host, connection.port), TIMEOUT)
    if secure:
        context = ssl.create_default_context()
        raw = context.wrap_socket(raw, server_hostname=host, do_handshake_on_connect=False)
    connection.sock = raw
    return connection, raw


def _cut_off(raw: socket.socket) -> None:
    with suppress(OSError):
        # Past SSLSocket's own method, which is not meant to be called from another thread.
        socket.socket.shutdown(raw, socket.SHUT_RDWR)
