"""Codes and the store, on Authlib's plain server: what the token endpoint answers to them."""

import subprocess
import sys
import time

import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import KeySet

from idsync.audit.events import SYSTEM
from idsync.crypto import identifiers
from idsync.oauth.grant import AccessToken
from oauth.conftest import ISSUER, Plain
from oauth.token_endpoint import REDIRECT_URI, redeem, refresh, token

VERIFIER = "v" * 43


def test_a_code_gives_the_contracts_token_answer(plain: Plain) -> None:
    """access_token, Bearer, 3600, the granted scopes, a refresh token for offline_access."""
    status, answer = redeem(plain, plain.grant())
    assert status == 200
    assert answer["token_type"] == "Bearer"
    assert answer["expires_in"] == 3600
    assert answer["scope"] == "openid profile offline_access"
    read = plain.references.read_access_token(answer["access_token"])
    assert read is not None
    assert 3590 < read.expires_at - time.time() <= 3600
    assert plain.references.read_refresh_token(answer["refresh_token"]) is not None


def test_without_offline_access_there_is_no_refresh_token(plain: Plain) -> None:
    """And the grant ends with its access token."""
    grant_id = plain.grant(scopes=("openid",))
    _, answer = redeem(plain, grant_id)
    assert "refresh_token" not in answer
    grant = plain.store.find(grant_id)
    assert grant is not None
    assert grant.expires_at - time.time() <= 3600


def test_the_id_token_is_verifiable_and_says_how_the_person_signed_in(plain: Plain) -> None:
    """Signature by a published key named by kid, and every claim of the design."""
    _, answer = redeem(plain, plain.grant(amr=("pwd", "otp", "mfa")))
    keys = KeySet.import_key_set(plain.server.signing_keys.jwks())
    read = jwt.decode(answer["id_token"], keys, algorithms=["RS256"])
    claims = read.claims
    assert read.header["kid"] in {key.kid for key in keys}
    assert claims["iss"] == ISSUER
    assert claims["aud"] == plain.application.application.client_id
    assert claims["sub"] == plain.account.subject
    assert claims["name"] == "Ada"
    assert "email" not in claims
    assert claims["nonce"] == "n-1"
    assert claims["auth_time"] == 1000
    assert claims["amr"] == ["pwd", "otp", "mfa"]
    assert claims["acr"] == "2"
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["at_hash"]
    assert claims["sid"]


def test_es256_is_signed_where_the_application_asked_for_it(plain: Plain) -> None:
    """The algorithm is the application's, and only that one."""
    plain.application = plain.applications.register(
        actor=SYSTEM, name="EC", redirect_uris=(REDIRECT_URI,), id_token_algorithm="ES256"
    )
    grant_id = plain.grant(client_id=plain.application.application.client_id)
    _, answer = redeem(plain, grant_id)
    keys = KeySet.import_key_set(plain.server.signing_keys.jwks())
    assert jwt.decode(answer["id_token"], keys, algorithms=["ES256"]).claims["acr"] == "1"


def test_a_code_works_once_and_its_replay_revokes_what_it_gave(plain: Plain) -> None:
    """RFC 6749 §4.1.2."""
    grant_id = plain.grant()
    _, answer = redeem(plain, grant_id)
    status, error = redeem(plain, grant_id)
    assert (status, error["error"]) == (400, "invalid_grant")
    grant = plain.store.find(grant_id)
    assert grant is not None
    assert grant.revoked_at is not None
    assert refresh(plain, answer["refresh_token"])[1]["error"] == "invalid_grant"


@pytest.mark.parametrize(
    "wrong", [{"redirect_uri": REDIRECT_URI + "/"}, {"code_verifier": "w" * 43}]
)
def test_a_replay_that_could_not_have_redeemed_the_code_revokes_nothing(
    plain: Plain, wrong: dict[str, str]
) -> None:
    """A stolen code alone is no weapon against the person's session."""
    grant_id = plain.grant(code_challenge=create_s256_code_challenge(VERIFIER))
    right = {"code_verifier": VERIFIER}
    assert redeem(plain, grant_id, **right)[0] == 200
    assert redeem(plain, grant_id, **{**right, **wrong})[0] == 400
    grant = plain.store.find(grant_id)
    assert grant is not None
    assert grant.revoked_at is None


def test_another_application_cannot_use_or_burn_a_code(plain: Plain) -> None:
    """invalid_grant for the thief, and the code still works for its owner."""
    grant_id = plain.grant()
    mine = plain.application
    plain.application = plain.applications.register(
        actor=SYSTEM, name="Thief", redirect_uris=(REDIRECT_URI,)
    )
    assert redeem(plain, grant_id)[1]["error"] == "invalid_grant"
    plain.application = mine
    assert redeem(plain, grant_id)[0] == 200


@pytest.mark.parametrize(
    "verifier", [None, "v" * 42, "v" * 129, "w" * 43, "v" * 42 + "é", "v" * 42 + "+"]
)
def test_a_wrong_verifier_does_not_burn_the_code(plain: Plain, verifier: str | None) -> None:
    """RFC 7636 §4.6; the honest application may still redeem."""
    grant_id = plain.grant(code_challenge=create_s256_code_challenge(VERIFIER))
    form = {} if verifier is None else {"code_verifier": verifier}
    status, error = redeem(plain, grant_id, **form)
    assert status == 400
    assert error["error"] in ("invalid_grant", "invalid_request")
    assert redeem(plain, grant_id, code_verifier=VERIFIER)[0] == 200


def test_a_verifier_nobody_asked_for_is_refused(plain: Plain) -> None:
    """RFC 9700 §4.8.2: a downgrade by dropping the challenge is noticed."""
    assert redeem(plain, plain.grant(), code_verifier=VERIFIER)[1]["error"] == "invalid_request"


def test_a_code_expires_after_sixty_seconds(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    first, second = plain.grant(), plain.grant()
    monkeypatch.setattr(time, "time", lambda: now + 58)
    assert redeem(plain, first)[0] == 200
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert redeem(plain, second)[1]["error"] == "invalid_grant"


def test_a_signing_failure_burns_nothing(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signing comes before the row is written."""
    grant_id = plain.grant()

    def fail(algorithm: str) -> None:
        raise RuntimeError("no key")

    with monkeypatch.context() as broken:
        broken.setattr(plain.server.signing_keys, "current", fail)
        with pytest.raises(RuntimeError, match="no key"):
            redeem(plain, grant_id)
    assert redeem(plain, grant_id)[0] == 200


def test_client_authentication_is_asked_for(plain: Plain) -> None:
    """401 invalid_client without credentials, unsupported_grant_type for other grants."""
    grant_id = plain.grant()
    code = plain.references.code(grant_id)
    status, error = token(plain, credentials=False, grant_type="authorization_code", code=code)
    assert (status, error["error"]) == (401, "invalid_client")
    assert token(plain, grant_type="password")[1]["error"] == "unsupported_grant_type"
    assert redeem(plain, grant_id)[0] == 200


def test_tokens_are_named_by_kind_and_say_nothing_by_default(plain: Plain) -> None:
    """Readable prefixes; scopes only where they differ from the grant's."""
    reference = plain.references.access_token(AccessToken(identifiers.new_id(), 2**40, None))
    assert reference.startswith("at_")
    read = plain.references.read_access_token(reference)
    assert read is not None
    assert (read.expires_at, read.scopes) == (2**40, None)


def test_the_server_and_its_grants_import_no_flask() -> None:
    """The protocol part runs without a web framework."""
    blocked = "import sys; sys.modules['flask'] = sys.modules['flask_login'] = None\n"
    code = blocked + "import idsync.oauth.store, idsync.oauth.server"
    subprocess.run([sys.executable, "-c", code], check=True)
