"""What to ask the person before a code may be issued."""

import datetime as dt
from dataclasses import replace

import pytest

from applications.sound import SOUND
from idsync.accounts.record import Account
from idsync.oauth import errors
from idsync.oauth.interaction import FirstSeen, Step, next_step
from idsync.oauth.request import AuthorizationRequest
from idsync.signin.sessions import SignedIn

NOW = 1_000_000
REQUEST = AuthorizationRequest("app_1", "https://app.example/callback", ("openid", "profile"))
ADA = Account(
    key=1,
    subject="s1",
    name="Ada",
    email="ada@example.org",
    email_verified=False,
    phone=None,
    tags=frozenset({"wiki"}),
    disabled=False,
    mfa=False,
    administrator=False,
    epoch=b"e" * 8,
    updated_at=dt.datetime(2026, 1, 1),  # noqa: DTZ001 - the contract's times have no offset
)
PERSON = SignedIn(b"a" * 16, ADA, NOW - 100, ("pwd",))
SEEN = FirstSeen(NOW, PERSON.public_id)
FRESH = replace(PERSON, id=b"b" * 16, auth_time=NOW)
ALL = frozenset({"openid", "profile", "email"})


def step(
    request: AuthorizationRequest = REQUEST,
    person: SignedIn | None = PERSON,
    application=SOUND,
    consented: frozenset[str] = ALL,
    **more,
) -> Step:
    return next_step(request, application, person, consented, SEEN, **more)


def prompted(*prompts: str) -> AuthorizationRequest:
    return replace(REQUEST, prompts=frozenset(prompts))


def test_nobody_signed_in_means_sign_in() -> None:
    """Or login_required where nothing may be shown."""
    assert step(person=None) is Step.SIGN_IN
    with pytest.raises(errors.LoginRequired):
        step(prompted("none"), None)


@pytest.mark.parametrize("prompt", ["login", "select_account"])
def test_a_prompt_is_satisfied_only_by_a_new_session(prompt: str) -> None:
    """Not by the one the request was first seen under, nor by one begun before it."""
    assert step(prompted(prompt)) is Step.SIGN_IN
    assert step(prompted(prompt), replace(PERSON, auth_time=NOW)) is Step.SIGN_IN
    assert step(prompted(prompt), replace(FRESH, auth_time=NOW - 1)) is Step.SIGN_IN
    assert step(prompted(prompt), FRESH) is Step.ISSUE


def test_max_age_is_measured_when_the_request_was_first_seen() -> None:
    """An older sign-in must be repeated; zero means always."""
    assert step(replace(REQUEST, max_age=100)) is Step.ISSUE
    assert step(replace(REQUEST, max_age=99)) is Step.SIGN_IN
    assert step(replace(REQUEST, max_age=99), FRESH) is Step.ISSUE
    assert step(replace(REQUEST, max_age=0), replace(PERSON, auth_time=NOW)) is Step.SIGN_IN
    with pytest.raises(errors.LoginRequired):
        step(replace(prompted("none"), max_age=99))


def test_a_second_factor_must_have_been_used_where_the_account_has_one() -> None:
    """Whatever the request or the consent says."""
    protected = replace(PERSON, account=replace(ADA, mfa=True))
    assert step(person=protected) is Step.SECOND_FACTOR
    assert step(person=protected, agreed=True) is Step.SECOND_FACTOR
    assert step(person=replace(protected, amr=("pwd", "otp", "mfa"))) is Step.ISSUE
    with pytest.raises(errors.InteractionRequired):
        step(prompted("none"), protected)


def test_a_service_admits_only_people_with_its_tag() -> None:
    """access_denied, first-party or not, and before consent is asked."""
    assert step(application=replace(SOUND, service_tag="wiki")) is Step.ISSUE
    for first_party in (True, False):
        with pytest.raises(errors.ServiceNotGranted):
            step(
                application=replace(SOUND, service_tag="mail", first_party=first_party),
                consented=frozenset(),
            )


def test_consent_is_asked_for_new_rights_only() -> None:
    """Remembered consent that covers the request is enough."""
    assert step(consented=frozenset()) is Step.CONSENT
    assert step(consented=frozenset({"openid"})) is Step.CONSENT
    assert step(consented=frozenset({"openid", "profile"})) is Step.ISSUE
    assert step(consented=frozenset(), agreed=True) is Step.ISSUE
    with pytest.raises(errors.ConsentRequired):
        step(prompted("none"), consented=frozenset())


def test_first_party_skips_consent_unless_it_is_prompted() -> None:
    """prompt=consent shows it to everybody, once per request."""
    first_party = replace(SOUND, first_party=True)
    assert step(application=first_party, consented=frozenset()) is Step.ISSUE
    for application in (first_party, SOUND):
        assert step(prompted("consent"), application=application) is Step.CONSENT
        assert step(prompted("consent"), application=application, agreed=True) is Step.ISSUE
