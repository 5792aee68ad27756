"""What can go wrong between a consuming service and the identity service, one class each.

Messages are written for the service's operator and hold no secret.
"""

from __future__ import annotations

from idsync.errors import IdSyncError


class ConsumerError(IdSyncError):
    """Base of all errors raised by `idsync.consumer`."""


def describe(error: Exception) -> str:
    """What to write into a log: of a database's error only its first line.

    The rest holds the statement's values, password hashes among them.
    """
    if isinstance(error, ConsumerError):
        return str(error)
    return str(getattr(error, "orig", None) or type(error).__name__).partition("\n")[0]


class CredentialsRefused(ConsumerError):
    """401: the id or secret is wrong, or the application is inactive or lacks `accounts`."""


class ValueRefused(ConsumerError):
    """400: the identity service refused a value; the message is its own and names the field."""


class NoSuchAccount(ConsumerError):
    """404: the identity service has no account with this id; it should be created."""


class Busy(ConsumerError):
    """429: a list is being written for this service already, or it asked too often.

    `retry_after` is in seconds.
    """

    def __init__(self, message: str, retry_after: float = 0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServiceAway(ConsumerError):
    """The identity service cannot be reached, took too long, or answered 5xx.

    `retry_after` is in seconds. Unless `never_sent`, a change may have been made all the same.
    """

    def __init__(self, message: str, retry_after: float = 0, *, never_sent: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.never_sent = never_sent


class UnreadableAnswer(ConsumerError):
    """What answered is not an account API: no JSON, cut off, other types, too long."""


class PullInProgress(ConsumerError):
    """Another thread or process is changing the copy; it will be up to date soon."""


class SignInRefused(ConsumerError):
    """The sign-in with the identity service did not succeed.

    `code` is the error of the protocol (`access_denied`) or, for an answer that must not be
    believed, `invalid_answer`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
