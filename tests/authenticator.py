"""A security key in software, for tests without a browser (WebAuthn Level 3 §6, ES256).

Nothing here needs pytest. It answers the JSON options a page carries with the JSON that
`PublicKeyCredential.toJSON` would give.
"""

import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40
BACKUP_ELIGIBLE = 0x08


class SecurityKey:
    """One credential. `verifies` tells whether it makes sure who the person is, `counts` whether
    it counts its signatures.
    """

    def __init__(
        self, origin: str, *, verifies: bool = True, synced: bool = False, counts: bool = True
    ) -> None:
        self.origin = origin
        self.verifies = verifies
        self.synced = synced
        self.counts = counts
        self.count = 0
        self.id = secrets.token_bytes(16)
        self._key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: str, **changed: Any) -> str:
        """Answer the options of `navigator.credentials.create`."""
        asked = json.loads(options)
        numbers = self._key.public_key().public_numbers()
        public_key = cbor2.dumps(
            {
                1: 2,
                3: -7,
                -1: 1,
                -2: numbers.x.to_bytes(32, "big"),
                -3: numbers.y.to_bytes(32, "big"),
            }
        )
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + public_key
        data = self._data(asked["rp"]["id"], ATTESTED) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", asked["challenge"], changed)
        return self._answer(
            {"clientDataJSON": encode(client), "attestationObject": encode(attestation)}
        )

    def get(self, options: str, **changed: Any) -> str:
        """Answer the options of `navigator.credentials.get`."""
        asked = json.loads(options)
        self.count += self.counts
        data = self._data(changed.pop("rp_id", asked["rpId"]), 0)
        client = self._client("webauthn.get", asked["challenge"], changed)
        signature = self._key.sign(
            data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256())
        )
        return self._answer(
            {
                "clientDataJSON": encode(client),
                "authenticatorData": encode(data),
                "signature": encode(signature),
                "userHandle": None,
            }
        )

    def _data(self, rp_id: str, flags: int) -> bytes:
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        flags |= BACKUP_ELIGIBLE if self.synced else 0
        return (
            hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")
        )

    def _client(self, kind: str, challenge: str, changed: dict[str, Any]) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps({**said, **changed}).encode()

    def _answer(self, response: dict[str, Any]) -> str:
        return json.dumps(
            {
                "id": encode(self.id),
                "rawId": encode(self.id),
                "type": "public-key",
                "response": response,
                "clientExtensionResults": {},
            }
        )


def encode(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
