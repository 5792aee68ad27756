"""Refresh tokens and the store, on Authlib's plain server: what replaces and what ends them."""

import time

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet
from sqlalchemy import update

from idsync.audit.events import SYSTEM
from oauth.conftest import Plain
from oauth.token_endpoint import REDIRECT_URI, redeem, refresh


def change(plain: Plain, **values: object) -> None:
    plain.session.execute(update(plain.models.table).values(**values))
    plain.session.commit()


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
