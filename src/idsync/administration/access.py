"""Who may use the console: an administrator, by two factors, who signed in a short while ago."""

from __future__ import annotations

from idsync.errors import AdministratorRequired, RecentSignInRequired, SecondFactorRequired
from idsync.signin.sessions import SignedIn

RECENT = 1800
"""Seconds since the sign-in; a browser left alone is not a console left open."""


def check_access(signed_in: SignedIn | None, *, second_factor: bool, now: float) -> SignedIn:
    """The administrator's session, if it may use the console at `now` (unix seconds).

    The checks, in their order, and what each raises:

    1. somebody is signed in                                 RecentSignInRequired
    2. their account has the attribute `administrator`,
       which no tag and no role gives                        AdministratorRequired
    3. they signed in by a second factor, where one is
       asked for                                             SecondFactorRequired
    4. the sign-in is no older than 30 minutes               RecentSignInRequired

    The age comes last: whoever may not use the console is not sent to sign in for it.
    """
    if signed_in is None:
        raise RecentSignInRequired("Please sign in.")
    if not signed_in.account.administrator:
        raise AdministratorRequired("Only administrators can use the console.")
    if second_factor and not signed_in.second_factor:
        raise SecondFactorRequired("The console can only be used with a second factor.")
    if now - signed_in.auth_time > RECENT:
        raise RecentSignInRequired("The last sign-in is too long ago for the console.")
    return signed_in
