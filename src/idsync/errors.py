"""The errors a host may meet. The protocol's own are in `oauth/errors.py`, the consumer kit's in
`consumer/errors.py`; those that never leave a part are beside what raises them.

Messages are written for the person who can act on them and never contain a secret.
"""


class IdSyncError(Exception):
    """Base of all errors raised by idsync."""


class ConfigurationError(IdSyncError):
    """The application cannot start as it is configured; the message says what to change."""


class InvalidValue(IdSyncError):
    """A value given for an account or an application was refused.

    `field` names the field as the caller wrote it; `message` says what is wrong with it. `template`
    and `values` are the same before they are put together, for those who translate.
    """

    def __init__(self, field: str, template: str, **values: object) -> None:
        message = template % values if values else template
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
        self.template = template
        self.values = values


class UnknownRecord(IdSyncError):
    """No account or application has this identifier."""


class TooManyTries(IdSyncError):
    """Somebody tried too often; another try is possible in `retry_after` seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"Too many tries; the next one is possible in {retry_after} seconds.")
        self.retry_after = retry_after


class RecentSignInRequired(IdSyncError):
    """What was asked for needs a sign-in of the last minutes; the person signs in again first."""


class AdministratorRequired(IdSyncError):
    """Whoever is signed in is no administrator."""


class SecondFactorRequired(IdSyncError):
    """What was asked for needs a sign-in by a second factor; the person sets one up first."""


class ClientRefused(IdSyncError):
    """A client application could not be authenticated (RFC 6749 §5.2 `invalid_client`)."""


class MalformedCredentials(IdSyncError):
    """Client credentials were sent twice, or in a form that cannot be read (`invalid_request`)."""


class ServiceUnavailable(IdSyncError):
    """The database is away or overloaded; the caller may try again (503 with `Retry-After`)."""
