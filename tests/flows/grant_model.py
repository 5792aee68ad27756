"""What must hold for sessions, grants and tokens, as a model that can be read like the rules.

No database, no HTTP, no cryptography. Times are unix seconds.
"""

from dataclasses import dataclass, field

CODE_LIFETIME = 60
ACCESS_TOKEN_LIFETIME = 3600
REFRESH_TOKEN_LIFETIME = 30 * 24 * 3600
SESSION_LIFETIME = 30 * 24 * 3600


@dataclass(eq=False)
class Account:
    """epoch: sessions and grants that began under an earlier one have ended."""

    password: str
    enabled: bool = True
    tagged: bool = True
    epoch: int = 0

    def disable(self) -> None:
        if self.enabled:
            self.epoch += 1
        self.enabled = False


@dataclass(eq=False)
class Application:
    needs_tag: bool
    active: bool = True

    def admits(self, account: Account) -> bool:
        return account.tagged or not self.needs_tag


@dataclass(eq=False)
class Session:
    """A sign-in."""

    account: Account
    begun: int
    ended: bool = False

    def __post_init__(self) -> None:
        self.epoch = self.account.epoch

    def stands(self) -> bool:
        return not self.ended and self.account.enabled and self.epoch == self.account.epoch

    def lives(self, now: int) -> bool:
        return self.stands() and now < self.begun + SESSION_LIFETIME


@dataclass(eq=False)
class Visit:
    """One person at one browser until they sign out, however often they are asked to sign in."""

    account: Account
    grants: list["Grant"] = field(default_factory=list)


@dataclass(eq=False)
class AccessToken:
    text: str
    expires: int
    scopes: frozenset[str]


@dataclass(eq=False)
class Grant:
    """generation: that of the one refresh token that is valid; `refresh` has the texts of all."""

    application: Application
    account: Account
    scopes: frozenset[str]
    code: str
    issued: int
    auth_time: int
    redeemed: bool = False
    revoked: bool = False
    generation: int = 0
    rotated: int | None = None
    access: list[AccessToken] = field(default_factory=list)
    refresh: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.epoch = self.account.epoch
        self.expires = self.issued + CODE_LIFETIME

    @property
    def offline(self) -> bool:
        return "offline_access" in self.scopes

    def lives(self) -> bool:
        """Whether its tokens work, as far as their own age allows."""
        return (
            not self.revoked
            and self.application.active
            and self.account.enabled
            and self.epoch == self.account.epoch
            and self.application.admits(self.account)
        )

    def has_ended(self) -> bool:
        """Whether nothing can make it live again."""
        return self.revoked or self.epoch != self.account.epoch

    def redeem(self, now: int) -> bool:
        """The code comes from the right application, with everything right."""
        if self.redeemed:
            self.revoked = True
            return False
        if not self.lives() or now >= self.expires:
            return False
        self.redeemed = True
        self.expires = now + REFRESH_TOKEN_LIFETIME
        return True

    def rotate(self, presented: int, now: int, retry_seconds: int) -> bool:
        """A refresh token of this generation comes from the right application."""
        again = (
            presented == self.generation - 1
            and self.rotated is not None
            and now - self.rotated < retry_seconds
        )
        if presented < self.generation and not again:
            self.revoked = True
            return False
        if not self.lives() or now >= self.expires:
            return False
        if not again:
            self.generation = presented + 1
            self.rotated = now
            self.expires = now + REFRESH_TOKEN_LIFETIME
        return True

    def lose_last_rotation(self) -> None:
        """The database failed over to a replica that had not seen it."""
        self.generation -= 1
        self.rotated = None

    def works(self, token: AccessToken, now: int) -> bool:
        return self.lives() and now < token.expires


class Browser:
    """Who is signed in, and what was obtained since."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.visit: Visit | None = None

    def sign_in(self, account: Account, now: int) -> None:
        if self.session is not None:
            self.session.ended = True
        if self.visit is not None and self.visit.account is not account:
            for grant in self.visit.grants:
                grant.revoked = True
            self.visit = None
        self.session = Session(account, now)
        self.visit = self.visit or Visit(account)

    def ask_again(self) -> None:
        """An application wants the person to sign in anew."""
        if self.session is not None:
            self.session.ended = True

    def sign_out(self) -> None:
        if self.session is not None:
            self.session.ended = True
        for grant in self.visit.grants if self.visit else ():
            grant.revoked |= not (grant.offline and grant.redeemed)
        self.session = self.visit = None
