"""`admit`: whether somebody may come in with a password.

The rules in their order, which keeps what an outsider can learn to one bit, right or not:

1. The copy is too old: no password is accepted. It is the same for everybody.
2. A hash is computed: the person's own, or a decoy that costs as much as somebody's does.
3. Nobody, or the wrong password: `WRONG`. Nothing is told about the person.
4. No hash that could be checked here: `USE_IDENTITY_SERVICE`, not `proven`.
5. From here on the password was right, and the reason may be told: disabled, without the tag,
   two-factor protection (the identity service asks for the second factor), or admitted.

A service must answer 3 and 4 with the same page, or it tells who has an account without a hash:
whatever is not `proven` gets "wrong, or sign in with the identity service".
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass

from idsync.consumer.account import Account, email_key
from idsync.consumer.copy import LocalCopy, lease_left
from idsync.consumer.errors import ConsumerError
from idsync.consumer.values import CopyState
from idsync.crypto.exchange import (
    DEFAULT_ITERATIONS,
    DEFAULT_MAX_ITERATIONS,
    ExchangeHash,
    ExchangeHashError,
)

# A salt that can be read in every encoding, and a hash that is nobody's.
_DECOY_SALT = "0" * 32
_DECOY_DIGEST = bytes(32)

# Longer is no e-mail address (RFC 5321 §4.5.3.1.3), and need not be looked up.
_LONGEST_LOGIN = 320


class Verdict(enum.Enum):
    """What is decided about somebody who wants to come in."""

    ADMITTED = "admitted"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    DISABLED = "disabled"
    NO_TAG = "no tag"
    USE_IDENTITY_SERVICE = "use the identity service"
    TOO_OLD = "copy too old"


@dataclass(frozen=True, slots=True)
class Admission:
    """A verdict. `account` is set when admitted, and only then.

    proven: who asks has shown to be the person, so that the reason may be told.
    """

    verdict: Verdict
    account: Account | None = None
    proven: bool = False


def admit(copy: LocalCopy, login: str, password: str) -> Admission:
    """Decide about a person with this e-mail address and password.

    Whoever is not admitted causes a pull, at most one in a few seconds whoever fails, and is
    looked at again if that changed anything about them.
    """
    state, account = _look_up(copy, login)
    first = _decide(copy, state, account, login, password)
    if first.verdict is Verdict.ADMITTED or not copy.pull_after_failure():
        return first
    now_state, now_account = _look_up(copy, login)
    if now_account == account and first.verdict is not Verdict.TOO_OLD:
        return first
    return _decide(copy, now_state, now_account, login, password)


def admit_signed_in(copy: LocalCopy, subject: str) -> Admission:
    """Decide about a person whom the identity service has just signed in, by their id.

    It has proven the person and asked for what their account asks for, so neither password nor
    the age of the copy counts. Somebody who is missing, or not to be admitted, may have changed a
    moment ago: the copy is pulled once. `UNKNOWN` is for somebody who is still missing.

    Raises the errors of `LocalCopy.pull` only when somebody is missing and cannot be pulled.
    """
    first = _decide_signed_in(copy, copy.store.by_id(subject))
    if first.verdict is Verdict.ADMITTED:
        return first
    try:
        copy.pull_for_person()
    except ConsumerError:
        if first.verdict is Verdict.UNKNOWN:
            raise
        return first
    return _decide_signed_in(copy, copy.store.by_id(subject))


def _look_up(copy: LocalCopy, login: str) -> tuple[CopyState, Account | None]:
    # What cannot be an address is looked up too, as one that nobody has: it takes as long.
    possible = len(login) <= _LONGEST_LOGIN and "\0" not in login and _is_text(login)
    state, account = copy.store.look_up(login if possible else "")
    return state or copy.store.state(), account


def _decide(
    copy: LocalCopy, state: CopyState, account: Account | None, login: str, password: str
) -> Admission:
    if lease_left(state.pulled_at, time.time(), copy.lease) == 0:
        return Admission(Verdict.TOO_OLD)
    real = _readable(account, copy.salt_encoding)
    checked = real or decoy(state, login)
    matches = checked.verify(password, salt_encoding=copy.salt_encoding)
    if account is None:
        return Admission(Verdict.WRONG)
    if real is None:
        return Admission(Verdict.USE_IDENTITY_SERVICE)
    if not matches:
        return Admission(Verdict.WRONG)
    refusal = _refusal(account, copy.service_tag)
    if refusal is not None:
        return Admission(refusal, proven=True)
    if account.mfa:
        return Admission(Verdict.USE_IDENTITY_SERVICE, proven=True)
    return Admission(Verdict.ADMITTED, account, proven=True)


def _decide_signed_in(copy: LocalCopy, account: Account | None) -> Admission:
    if account is None:
        return Admission(Verdict.UNKNOWN, proven=True)
    refusal = _refusal(account, copy.service_tag)
    if refusal is not None:
        return Admission(refusal, proven=True)
    return Admission(Verdict.ADMITTED, account, proven=True)


def _refusal(account: Account, service_tag: str) -> Verdict | None:
    """Why a person may not use the service, however they sign in (contract, section 1, rule 3)."""
    if account.disabled:
        return Verdict.DISABLED
    if service_tag not in account.tags:
        return Verdict.NO_TAG
    return None


def _readable(account: Account | None, salt_encoding: str) -> ExchangeHash | None:
    if account is None or account.password is None:
        return None
    try:
        # The identity service decides how weak is too weak; how much time we spend, we decide.
        return ExchangeHash.parse(
            account.password,
            min_iterations=1,
            max_iterations=DEFAULT_MAX_ITERATIONS,
            salt_encoding=salt_encoding,
        )
    except ExchangeHashError:
        return None


def decoy(state: CopyState, login: str) -> ExchangeHash:
    """A hash that nobody has, as costly for this login as somebody's.

    Costs are drawn as often as they occur, always the same for the same login.
    """
    key = state.decoy_key.encode()
    drawn = hmac.digest(key, email_key(login).encode("utf-8", "surrogatepass"), hashlib.sha256)
    point = int.from_bytes(drawn[:8], "big") / 2**64
    iterations = min(cost_at(state.costs, point), DEFAULT_MAX_ITERATIONS)
    return ExchangeHash(iterations, _DECOY_SALT, _DECOY_DIGEST)


def cost_at(costs: Mapping[int, int], point: float) -> int:
    """The iterations at a point from 0 to 1 when all hashes are lined up by their cost."""
    left = point * sum(costs.values())
    for cost, count in sorted(costs.items()):
        left -= count
        if left < 0:
            return max(1, cost)
    return DEFAULT_ITERATIONS


def _is_text(login: str) -> bool:
    try:
        login.encode()
    except UnicodeEncodeError:
        return False
    return True
