"""The two ceremonies of WebAuthn (Level 3 §7): what a browser is asked, and what it answers.

No rows of passkeys here. A question is JSON with a challenge of ours. An answer is JSON from
anybody: it is right when the challenge was made here, for this purpose, was not used yet, and the
key signed it for this site.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import urlsplit

import webauthn
from webauthn.helpers import base64url_to_bytes, parse_client_data_json
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from idsync.signin.challenges import LIFETIME, Challenges

T = TypeVar("T")

LONGEST_ID = 1023
"""Bytes of a credential's id (WebAuthn Level 3 §7.1)."""


class Ceremonies:
    """Asks browsers and checks their answers. Commits only the use of a challenge."""

    def __init__(self, challenges: Challenges, issuer: Callable[[], str]) -> None:
        self._challenges = challenges
        self._issuer = issuer

    # --- a new passkey -------------------------------------------------------------------------

    def creation_options(
        self, subject: str, *, name: str, display_name: str, known: Iterable[bytes]
    ) -> str:
        """Ask for a passkey of this account, in none of the devices whose keys are `known`."""
        options = webauthn.generate_registration_options(
            rp_id=self._rp_id(),
            rp_name=self._rp_id(),
            user_id=subject.encode(),
            user_name=name,
            user_display_name=display_name,
            challenge=self._challenges.make(_creation(subject)),
            timeout=LIFETIME * 1000,
            exclude_credentials=_descriptors(known),
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.PREFERRED,
                user_verification=UserVerificationRequirement.PREFERRED,
            ),
        )
        return webauthn.options_to_json(options)

    def created(self, subject: str, response: str) -> VerifiedRegistration | None:
        """The passkey that was made for this account; None for a wrong answer."""
        challenge = self._challenge_of(response, _creation(subject))
        if challenge is None:
            return None
        made = _or_none(
            lambda: webauthn.verify_registration_response(
                credential=response,
                expected_challenge=challenge,
                expected_rp_id=self._rp_id(),
                expected_origin=self._origin(),
            )
        )
        if made is None or len(made.credential_id) > LONGEST_ID:
            return None
        return made if self._challenges.use_up(challenge) else None

    # --- one that is there ---------------------------------------------------------------------

    def request_options(self, purpose: str, allowed: Iterable[bytes] | None) -> str:
        """Ask for one of these passkeys; for any, that makes sure who the person is, with None."""
        anybody = allowed is None
        required = UserVerificationRequirement.REQUIRED
        options = webauthn.generate_authentication_options(
            rp_id=self._rp_id(),
            challenge=self._challenges.make(purpose),
            timeout=LIFETIME * 1000,
            allow_credentials=None if allowed is None else _descriptors(allowed),
            user_verification=required if anybody else UserVerificationRequirement.PREFERRED,
        )
        return webauthn.options_to_json(options)

    def answering(self, purpose: str, response: str) -> bytes | None:
        """The id of the passkey that answers, or says so, if the challenge is one of ours."""
        if self._challenge_of(response, purpose) is None:
            return None
        return _or_none(lambda: base64url_to_bytes(json.loads(response)["rawId"]))

    def asserted(
        self, purpose: str, response: str, public_key: bytes, sign_count: int, *, alone: bool
    ) -> int | None:
        """How often the passkey has signed by now; None for a wrong answer.

        sign_count: how often it had before. alone: it is to be the only proof, so the device must
        have made sure who the person is.
        """
        challenge = self._challenge_of(response, purpose)
        if challenge is None:
            return None
        verified = _or_none(
            lambda: webauthn.verify_authentication_response(
                credential=response,
                expected_challenge=challenge,
                expected_rp_id=self._rp_id(),
                expected_origin=self._origin(),
                credential_public_key=public_key,
                credential_current_sign_count=sign_count,
                require_user_verification=alone,
            )
        )
        if verified is None or not self._challenges.use_up(challenge):
            return None
        return verified.new_sign_count

    # --- details -------------------------------------------------------------------------------

    def _challenge_of(self, response: str, purpose: str) -> bytes | None:
        """The challenge that an answer of the browser names, if it is ours."""

        def named() -> bytes:
            encoded = json.loads(response)["response"]["clientDataJSON"]
            return parse_client_data_json(base64url_to_bytes(encoded)).challenge

        challenge = _or_none(named)
        if challenge is None or not self._challenges.is_ours(challenge, purpose):
            return None
        return challenge

    def _origin(self) -> str:
        """The issuer's origin as browsers write it (RFC 6454 §6.2)."""
        parts = urlsplit(self._issuer())
        host = self._rp_id()
        host = f"[{host}]" if ":" in host else host
        usual = {"https": 443, "http": 80}[parts.scheme]
        port = "" if parts.port in (None, usual) else f":{parts.port}"
        return f"{parts.scheme}://{host}{port}"

    def _rp_id(self) -> str:
        return urlsplit(self._issuer()).hostname or ""


def _descriptors(ids: Iterable[bytes]) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=one) for one in ids]


def _creation(subject: str) -> str:
    return f"new {subject}"


def _or_none(read: Callable[[], T]) -> T | None:
    """What was read of an answer that may be anything; None where that failed, in whatever way.

    Its parsers, of JSON, CBOR and certificates, raise many kinds of errors on garbage.
    """
    try:
        return read()
    except Exception:
        return None
