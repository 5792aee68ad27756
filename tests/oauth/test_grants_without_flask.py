"""The grant classes and the store, on Authlib's plain server: what the token endpoint answers."""

import subprocess
import sys
import time
from typing import Any

import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import KeySet
from sqlalchemy import update

from idsync.audit.events import SYSTEM
from idsync.crypto import identifiers
from idsync.oauth.grant import AccessToken
from idsync.oauth.server import OAuthRequest
from oauth.conftest import ISSUER, Plain

VERIFIER = "v" * 43
REDIRECT_URI = "https://app.example/callback"


def token(plain: Plain, credentials: bool = True, **form: str) -> tuple[int, dict[str, Any]]:
    """POST to the token endpoint as Authlib's server sees it."""
    registration = plain.application
    if credentials:
        form = {
            "client_id": registration.application.client_id,
            "client_secret": registration.client_secret or "",
            **form,
        }
    request = OAuthRequest("POST", f"{ISSUER}/oauth/token", {k: [v] for k, v in form.items()})
    status, body, _ = plain.server.create_token_response(request)
    return status, body


def redeem(plain: Plain, grant_id: bytes, **form: str) -> tuple[int, dict[str, Any]]:
    fields = {
        "grant_type": "authorization_code",
        "code": plain.references.code(grant_id),
        "redirect_uri": REDIRECT_URI,
        **form,
    }
    return token(plain, **fields)


def refresh(plain: Plain, refresh_token: str, **form: str) -> tuple[int, dict[str, Any]]:
    return token(plain, grant_type="refresh_token", refresh_token=refresh_token, **form)


def change(plain: Plain, **values: object) -> None:
    plain.session.execute(update(plain.models.table).values(**values))
    plain.session.commit()


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


@pytest.mark.parametrize(
    "ended",
    [
        {"epoch": b"x" * 8},
        {"disabled_by": "service"},
        {"disabled_by": "administrator"},
    ],
)
def test_what_ends_the_account_ends_codes_and_refresh_tokens(
    plain: Plain, ended: dict[str, object]
) -> None:
    """A new password, signing out everywhere (both a new epoch) or disabling."""
    unused, used = plain.grant(), plain.grant()
    _, answer = redeem(plain, used)
    change(plain, **ended)
    assert redeem(plain, unused)[1]["error"] == "invalid_grant"
    assert refresh(plain, answer["refresh_token"])[1]["error"] == "invalid_grant"
    grant = plain.store.find(used)
    assert grant is not None
    assert not plain.store.rotate(grant, 0)
    assert not plain.store.redeem(grant)


def test_a_lost_service_tag_ends_refreshing(plain: Plain) -> None:
    """The application's tag is asked for at every refresh."""
    change(plain, tags=["wiki"])
    plain.application = plain.applications.register(
        actor=SYSTEM,
        name="Wiki",
        redirect_uris=(REDIRECT_URI,),
        service_tag="wiki",
        scopes="openid profile offline_access",
    )
    _, answer = redeem(plain, plain.grant(client_id=plain.application.application.client_id))
    status, answer = refresh(plain, answer["refresh_token"])
    assert status == 200
    change(plain, tags=[])
    assert refresh(plain, answer["refresh_token"])[1]["error"] == "invalid_grant"


def test_a_refresh_token_is_replaced_and_works_once(plain: Plain) -> None:
    """The old one ends the grant when it comes again, with all that descended from it."""
    _, first = redeem(plain, plain.grant())
    status, second = refresh(plain, first["refresh_token"])
    assert status == 200
    assert second["refresh_token"] != first["refresh_token"]
    assert refresh(plain, first["refresh_token"])[1]["error"] == "invalid_grant"
    assert refresh(plain, second["refresh_token"])[1]["error"] == "invalid_grant"


def test_a_refreshed_id_token_keeps_auth_time_and_has_no_nonce(plain: Plain) -> None:
    """OpenID Connect Core §12.2; clients refuse a changed auth_time."""
    _, first = redeem(plain, plain.grant())
    _, second = refresh(plain, first["refresh_token"])
    keys = KeySet.import_key_set(plain.server.signing_keys.jwks())
    claims = jwt.decode(second["id_token"], keys, algorithms=["RS256"]).claims
    assert claims["auth_time"] == 1000
    assert "nonce" not in claims


def test_narrowing_at_refresh_affects_that_answer_only(plain: Plain) -> None:
    """Scopes never granted are dropped silently; the next refresh has all again."""
    _, first = redeem(plain, plain.grant())
    _, second = refresh(plain, first["refresh_token"], scope="profile accounts phone")
    assert second["scope"] == "openid profile"
    read = plain.references.read_access_token(second["access_token"])
    assert read is not None
    assert read.scopes == ("openid", "profile")
    _, third = refresh(plain, second["refresh_token"])
    assert third["scope"] == "openid profile offline_access"


def test_within_the_retry_window_the_same_successor_answers_again(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost answer logs nobody out; later, the old token is a replay."""
    plain.server.refresh_retry_seconds = 10
    _, first = redeem(plain, plain.grant())
    _, second = refresh(plain, first["refresh_token"])
    _, again = refresh(plain, first["refresh_token"])
    assert again["refresh_token"] == second["refresh_token"]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 11)
    assert refresh(plain, first["refresh_token"])[0] == 400
    assert refresh(plain, second["refresh_token"])[0] == 400


def test_writes_lost_in_a_failover_are_not_taken_for_an_attack(plain: Plain) -> None:
    """A token newer than the row is honest: the row went back, not the token forward."""
    grant_id = plain.grant()
    _, first = redeem(plain, grant_id)
    _, second = refresh(plain, first["refresh_token"])
    table = plain.store._table
    plain.session.execute(update(table).values(generation=0))
    plain.session.commit()
    status, third = refresh(plain, second["refresh_token"])
    assert status == 200
    assert refresh(plain, third["refresh_token"])[0] == 200


def test_forged_and_foreign_tokens_change_nothing(plain: Plain) -> None:
    """Garbage, another kind of token, another key, another application."""
    grant_id = plain.grant()
    _, answer = redeem(plain, grant_id)
    forged = [
        "rt_",
        "rt_AAAA.AAAA",
        answer["access_token"],
        answer["refresh_token"] + "A",
        answer["refresh_token"][:-1],
        plain.references.code(grant_id),
        "é" * 10,
    ]
    for text in forged:
        assert refresh(plain, text)[1]["error"] == "invalid_grant"
    mine = plain.application
    plain.application = plain.applications.register(
        actor=SYSTEM, name="Thief", redirect_uris=(REDIRECT_URI,)
    )
    assert refresh(plain, answer["refresh_token"])[1]["error"] == "invalid_grant"
    plain.application = mine
    assert refresh(plain, answer["refresh_token"])[0] == 200


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
