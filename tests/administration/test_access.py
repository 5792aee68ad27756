"""Who gets a console."""

import datetime as dt

import pytest

from idsync import AdministratorRequired, RecentSignInRequired, SecondFactorRequired
from idsync.accounts.record import Account
from idsync.administration.access import RECENT, check_access
from idsync.signin.sessions import SignedIn

NOW = 1_800_000_000


def signed_in(
    *, administrator: bool = True, tag: str = "wiki", factor: bool = True, age: int = 0
) -> SignedIn:
    account = Account(
        key=1,
        subject="ada",
        name="Ada",
        email=None,
        email_verified=False,
        phone=None,
        tags=frozenset({tag}),
        disabled=False,
        mfa=factor,
        administrator=administrator,
        epoch=bytes(8),
        updated_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )
    amr = ("pwd", "otp", "mfa") if factor else ("pwd",)
    return SignedIn(bytes(16), account, NOW - age, amr)


def check(session: SignedIn | None, *, second_factor: bool = True) -> SignedIn:
    return check_access(session, second_factor=second_factor, now=NOW)


def test_an_administrator_with_two_factors_and_a_new_sign_in_is_let_in() -> None:
    """Half an hour, to the second."""
    session = signed_in(age=RECENT)
    assert check(session) is session
    assert RECENT == 30 * 60


@pytest.mark.parametrize(
    ("session", "refusal"),
    [
        (None, RecentSignInRequired),
        (signed_in(administrator=False), AdministratorRequired),
        (signed_in(administrator=False, tag="администратор"), AdministratorRequired),
        (signed_in(factor=False), SecondFactorRequired),
        (signed_in(age=RECENT + 1), RecentSignInRequired),
    ],
)
def test_nobody_else_is(session: SignedIn | None, refusal: type[Exception]) -> None:
    """A tag makes no administrator: services can give tags."""
    with pytest.raises(refusal):
        check(session)


def test_the_second_factor_can_be_left_out_and_nothing_else() -> None:
    check(signed_in(factor=False), second_factor=False)
    with pytest.raises(AdministratorRequired):
        check(signed_in(administrator=False, factor=False), second_factor=False)
    with pytest.raises(RecentSignInRequired):
        check(signed_in(factor=False, age=RECENT + 1), second_factor=False)


def test_whoever_may_not_is_not_asked_to_sign_in_again_for_it() -> None:
    with pytest.raises(AdministratorRequired):
        check(signed_in(administrator=False, factor=False, age=RECENT + 1))
