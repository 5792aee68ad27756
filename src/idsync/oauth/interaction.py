"""What to ask of the person before a code may be issued: a plain decision over values.

The order is that of safety: who is it, have they proved enough, may they use this application,
and only then do they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from idsync.applications.application import Application
from idsync.oauth import errors
from idsync.oauth.request import AuthorizationRequest
from idsync.signin.sessions import SignedIn


class Step(Enum):
    """What happens next."""

    SIGN_IN = "sign in"
    SECOND_FACTOR = "second factor"
    CONSENT = "consent"
    ISSUE = "issue"


@dataclass(frozen=True, slots=True)
class FirstSeen:
    """When a pending request was first seen (unix seconds), and under which session, if any."""

    at: int
    session: str


def next_step(
    request: AuthorizationRequest,
    application: Application,
    person: SignedIn | None,
    consented: frozenset[str],
    first_seen: FirstSeen,
    *,
    agreed: bool = False,
) -> Step:
    """The next step of a sign-in; raises the AuthorizationError that ends it.

    consented: scopes the person agreed to earlier. agreed: they agreed just now, on our form.
    """
    if person is None or not is_fresh_enough(request, person, first_seen):
        if request.silent:
            raise errors.LoginRequired
        return Step.SIGN_IN
    if request.hinted_subject not in (None, person.account.subject):
        # Core §3.1.2.1: never a code for somebody else. They are asked to sign in once.
        if request.silent or signed_in_for_it(person, first_seen):
            raise errors.LoginRequired
        return Step.SIGN_IN
    if person.account.mfa and not person.second_factor:
        if request.silent:
            raise errors.InteractionRequired
        return Step.SECOND_FACTOR
    if not application.admits(person.account.tags):
        raise errors.ServiceNotGranted
    if not agreed and needs_consent(request, application, consented):
        if request.silent:
            raise errors.ConsentRequired
        return Step.CONSENT
    return Step.ISSUE


def is_fresh_enough(request: AuthorizationRequest, person: SignedIn, first_seen: FirstSeen) -> bool:
    """Whether the sign-in satisfies prompt=login, prompt=select_account and max_age.

    A prompt is satisfied only by a sign-in made for this request. max_age is measured when the
    request was first seen, or the time a person takes on our pages would count against them.
    """
    if signed_in_for_it(person, first_seen):
        return True
    if request.prompts & {"login", "select_account"} or request.max_age == 0:
        return False
    return request.max_age is None or first_seen.at - person.auth_time <= request.max_age


def signed_in_for_it(person: SignedIn, first_seen: FirstSeen) -> bool:
    """Whether the person signed in for this request: in another session than the one it was first
    seen under, and not before.
    """
    return person.auth_time >= first_seen.at and person.public_id != first_seen.session


def needs_consent(
    request: AuthorizationRequest, application: Application, consented: frozenset[str]
) -> bool:
    """Whether the person must be asked: always on prompt=consent, else for new rights only.

    First-party applications are not asked about (the administrator has decided).
    """
    if "consent" in request.prompts:
        return True
    return not application.first_party and not consented.issuperset(request.scopes)
