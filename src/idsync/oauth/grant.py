"""One sign-in is one row: the grant, and the signed references to it that leave the service.

The code carries the grant's id; a refresh token the id and a generation; an access token the id,
its expiry and, when narrower than the grant's, its scopes. Nothing is stored per token.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from idsync.accounts.record import Account
from idsync.crypto.references import ReferenceSigner

_GENERATION = struct.Struct(">16sI")
_EXPIRY = struct.Struct(">16sQ")

ID_LENGTH = 16
"""Bytes of a grant's id: 128 random bits."""


@dataclass(frozen=True, slots=True)
class NewGrant:
    """A grant about to be issued. `epoch` is the session's, never the account's."""

    client_id: str
    account: Account
    session_id: bytes
    epoch: bytes
    scopes: tuple[str, ...]
    redirect_uri: str
    code_challenge: str | None
    nonce: str | None
    auth_time: int
    amr: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant as stored, with its account and application as they are now. Times: unix seconds.

    issued_session_id: the session it was issued in, which the application knows as `sid`;
    session_id: the one it belongs to since the person signed in again at the same browser.
    expires_at: of the code until it is redeemed, then of the refresh or access token.
    generation: that of the refresh token which is valid now.
    """

    id: bytes
    client_id: str
    account: Account
    session_id: bytes
    issued_session_id: bytes
    epoch: bytes
    scope: str
    redirect_uri: str
    code_challenge: str | None
    nonce: str | None
    auth_time: int
    amr: tuple[str, ...]
    issued_at: int
    expires_at: int
    redeemed_at: int | None
    refreshed_at: int | None
    generation: int
    revoked_at: int | None
    application_active: bool
    service_tag: str | None
    application_scope: str

    @property
    def scopes(self) -> tuple[str, ...]:
        """The granted scopes, less those taken away from the application since."""
        allowed = {"openid", *self.application_scope.split()}
        return tuple(scope for scope in self.scope.split() if scope in allowed)

    @property
    def offline(self) -> bool:
        """Whether the grant may be refreshed."""
        return "offline_access" in self.scopes

    @property
    def redeemed(self) -> bool:
        """Whether the code was exchanged."""
        return self.redeemed_at is not None

    @property
    def stands(self) -> bool:
        """Whether nothing has ended it: revocation, a new epoch, a disabled account, an application
        that was switched off.
        """
        return (
            self.revoked_at is None
            and self.application_active
            and not self.account.disabled
            and self.epoch == self.account.epoch
        )

    @property
    def admitted(self) -> bool:
        """Whether the account may use the application's service."""
        return self.service_tag is None or self.service_tag in self.account.tags

    # Authlib's grants ask a code and a refresh token for these.

    def get_redirect_uri(self) -> str:
        """The address the code was sent to (Authlib's AuthorizationCodeMixin)."""
        return self.redirect_uri

    def get_scope(self) -> str:
        """The granted scopes, space-separated (Authlib's mixins)."""
        return " ".join(self.scopes)

    def check_client(self, client: object) -> bool:
        """Whether the grant is this application's (Authlib's TokenMixin)."""
        return getattr(client, "client_id", None) == self.client_id


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What an access token says. `scopes` is None where they are the grant's."""

    grant_id: bytes
    expires_at: int
    scopes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """What a refresh token says."""

    grant_id: bytes
    generation: int


class TokenReferences:
    """Makes and reads codes and tokens."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._codes = ReferenceSigner(keys, "idsync authorization code", "ac_")
        self._access = ReferenceSigner(keys, "idsync access token", "at_")
        self._refresh = ReferenceSigner(keys, "idsync refresh token", "rt_")

    def code(self, grant_id: bytes) -> str:
        """The authorization code of a grant."""
        return self._codes.sign(grant_id)

    def read_code(self, text: str) -> bytes | None:
        """The grant id in a code."""
        payload = self._codes.read(text)
        return payload if payload is not None and len(payload) == ID_LENGTH else None

    def access_token(self, token: AccessToken) -> str:
        """An access token. Its scopes are named only when they differ from the grant's."""
        scopes = b"" if token.scopes is None else " ".join(token.scopes).encode()
        return self._access.sign(_EXPIRY.pack(token.grant_id, token.expires_at) + scopes)

    def read_access_token(self, text: str) -> AccessToken | None:
        """What an access token says, expired or not."""
        payload = self._access.read(text)
        if payload is None or len(payload) < _EXPIRY.size:
            return None
        grant_id, expires_at = _EXPIRY.unpack_from(payload)
        scopes = payload[_EXPIRY.size :].decode()
        return AccessToken(grant_id, expires_at, tuple(scopes.split()) if scopes else None)

    def refresh_token(self, token: RefreshToken) -> str:
        """A refresh token; the same grant and generation always give the same text."""
        return self._refresh.sign(_GENERATION.pack(token.grant_id, token.generation))

    def read_refresh_token(self, text: str) -> RefreshToken | None:
        """What a refresh token says."""
        payload = self._refresh.read(text)
        if payload is None or len(payload) != _GENERATION.size:
            return None
        return RefreshToken(*_GENERATION.unpack(payload))
