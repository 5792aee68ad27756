"""What the owner of an e-mail address may do by it: choose a new password, confirm the address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from idsync.accounts.change import Change
from idsync.accounts.directory import Directory
from idsync.accounts.passwords import AccountPasswords
from idsync.accounts.record import Account, AccountRecord
from idsync.accounts.rules import LONGEST_EMAIL, checked_email, checked_password, email_key
from idsync.audit.events import Actor, Audit
from idsync.crypto import identifiers
from idsync.database import DatabaseSession
from idsync.errors import InvalidValue, UnknownRecord
from idsync.signin.browser import BrowserSessions
from idsync.signin.limits import AddressLimit, TryLimit
from idsync.signin.links import Link, Links
from idsync.signin.mail import SendMail
from idsync.signin.outbox import Outbox

LinkPath = Callable[[str], str]
"""Gives the path of the host's page for a link, from the text that is to be in it."""

Compose = Callable[[Any], tuple[str, str]]
"""Called with one of the host's users; gives the subject and the text of a mail to them."""


class OwnEmail:
    """What a host's pages need for e-mail addresses. Every method commits what it changed.

    offered: whether mail can be sent; the console counts on a loopback host only.
    """

    def __init__(
        self,
        session: DatabaseSession,
        directory: Directory,
        browser: BrowserSessions,
        passwords: AccountPasswords,
        audit: Audit,
        keys: tuple[bytes, ...],
        passwords_sent: TryLimit,
        changes_sent: TryLimit,
        visitors: AddressLimit,
        forgive_tries: Callable[[str], None],
        outbox: Outbox,
        send_mail: SendMail,
        issuer: Callable[[], str],
        *,
        offered: bool,
    ) -> None:
        self._session = session
        self._directory = directory
        self._browser = browser
        self._passwords = passwords
        self._audit = audit
        self._password_links = Links(keys, "new password")
        self._address_links = Links(keys, "address")
        self._passwords_sent = passwords_sent
        self._changes_sent = changes_sent
        self._forgive_tries = forgive_tries
        self._visitors = visitors
        self._outbox = outbox
        self._send_mail = send_mail
        self._issuer = issuer
        self.offered = offered

    # --- a forgotten password ------------------------------------------------------------------

    def request_password(self, email: str, subject: str, text: str, path: LinkPath) -> None:
        """Send a link for a new password, if the address is somebody's; the caller cannot tell.

        subject, text: of the mail, with `{link}` in the text. Raises TooManyTries.
        """
        self._require_mail()
        self._count(self._passwords_sent, email_key(email))
        place = identifiers.new_id().hex()  # of the link, which is made beside the request
        body = self._with_link(text, path, place)

        def send() -> None:
            possible = len(email) <= LONGEST_EMAIL
            account = self._directory.find_by_email(email) if possible else None
            self._session.rollback()  # no transaction waits for a mail server
            if account is not None and account.email and not account.disabled:
                link = Link(account.subject, account.epoch, account.email)
                signed = self._password_links.sign(link)
                self._send_mail(account.email, subject, body.replace(place, signed))

        # All of it there: whether there was anything to send must not show in the time either.
        self._outbox.put(_shown(email), send)

    def whose_password(self, link: str) -> str | None:
        """The address of the account whose password a link may set; None where it stands no more.

        Looks only; `choose_password` decides.
        """
        read = self._password_links.read(link)
        account = None if read is None else self._directory.find(read.subject)
        if read is None or account is None:
            return None
        return account.email if read.stands(account) else None

    def choose_password(self, link: str, plain: str) -> bool:
        """Give the account of a link a new password; ends everything it holds, this link too.

        False where the link stands no more. It signs nobody in. Raises InvalidValue for a password
        that is too short.
        """
        checked_password(plain)  # before anything is locked
        read = self._password_links.read(link)
        record = None if read is None else self._locked(read)
        if read is None or record is None:
            return False
        self._passwords.write(record, plain)
        record.email_verified = True
        self._forgive_tries(read.subject)
        self._audit.record("password chosen by mail", _actor(read.subject), subject=read.subject)
        self._session.commit()
        return True

    # --- one's own address ---------------------------------------------------------------------

    def is_confirmed(self, user: Any) -> bool:
        """Whether the user showed that the address is theirs."""
        return self._directory.ensure_record(user).email_verified

    def request_change(
        self, user: Any, email: str, subject: str, text: str, path: LinkPath
    ) -> None:
        """Send a link to an address that is to become the user's, or is and is to be confirmed.

        An address of somebody else gets no mail; the caller cannot tell. Raises InvalidValue for
        what is no address, TooManyTries, RecentSignInRequired.
        """
        self._require_mail()
        account = self._browser.require_recent(user).account
        email = checked_email(email)
        self._count(self._changes_sent, account.subject)
        own = email_key(email) == email_key(account.email or "")
        free = own or not self._directory.is_taken(email=email)
        link = Link(
            account.subject,
            account.epoch,
            account.email,
            wanted=email,
            as_of=account.updated_at.isoformat(),
        )
        body = self._with_link(text, path, self._address_links.sign(link))
        if free:
            self._outbox.put(_shown(email), lambda: self._send_mail(email, subject, body))

    def address_of(self, user: Any, link: str) -> str | None:
        """The address that a link makes the user's; None where it is not for them, or too old."""
        read, account = self._own_link(user, link)
        if read is None or not (read.is_done(account) or read.stands(account)):
            return None
        return read.wanted

    def confirm(self, user: Any, link: str) -> bool:
        """Make the address of a link the user's, who is signed in here, and note it as theirs.

        Whoever can only read the mail gets nothing: the address may have been mistyped. Raises
        InvalidValue where it became somebody else's.
        """
        read, account = self._own_link(user, link)
        if read is None or read.wanted is None:
            return False
        subject = account.subject
        record = self._locked(read, or_done=True)
        if record is None:
            return False
        try:
            if record.user.email != read.wanted:
                change = Change(email=read.wanted)
                record = self._directory.change(subject, change, actor=_actor(subject))
        except BaseException:
            self._session.rollback()
            raise
        record.email_verified = True
        self._audit.record("e-mail address confirmed", _actor(subject), subject=subject)
        self._session.commit()
        return True

    # --- telling people ------------------------------------------------------------------------

    def tell(self, subject: str, compose: Compose, *, also: str | None = None) -> None:
        """Send a mail to whose account this is, beside the request; to `also` as well.

        Nothing is sent where mail cannot be, or the account has no address.
        """
        if not self.offered:
            return

        def send(address: str | None) -> None:
            account = self._directory.find(subject)
            user = None if account is None else self._directory.user_by_key(account.key)
            if account is None or user is None:
                return
            title, text = compose(user)
            self._session.rollback()  # no transaction waits for a mail server
            if address or account.email:
                self._send_mail(address or account.email or "", title, text)

        # Apart: that one of them cannot be reached must not keep the news from the other.
        if also:
            self._outbox.put(_shown(also), lambda: send(also))
        self._outbox.put("an account's owner", lambda: send(None))

    # --- details -------------------------------------------------------------------------------

    def _require_mail(self) -> None:
        if not self.offered:
            raise InvalidValue("email", "this service sends no mail")

    def _count(self, sends: TryLimit, whose: str) -> None:
        self._visitors.check()
        self._visitors.count()
        sends.take(whose)

    def _own_link(self, user: Any, link: str) -> tuple[Link | None, Account]:
        """A link for an address, if it is this user's; and their account."""
        subject = self._directory.ensure_record(user).subject
        account = self._directory.find(subject)
        if account is None:
            raise UnknownRecord("This user is not in the database any more.")
        read = self._address_links.read(link)
        return (read if read is not None and read.subject == subject else None), account

    def _locked(self, link: Link, *, or_done: bool = False) -> AccountRecord | None:
        """The account of a link, locked, so that of two at once one is first; while it stands."""
        try:
            record = self._directory.record(link.subject)
        except UnknownRecord:
            self._session.rollback()
            return None
        account = self._directory.find(link.subject)
        done = or_done and account is not None and link.is_done(account)
        if account is None or not (done or link.stands(account)):
            self._session.rollback()
            return None
        return record

    def _with_link(self, text: str, path: LinkPath, link: str) -> str:
        """The text with a link, whose address never follows the Host header: anybody sends that."""
        issuer = urlsplit(self._issuer())
        return text.replace("{link}", f"{issuer.scheme}://{issuer.netloc}{path(link)}")


def _actor(subject: str) -> Actor:
    return Actor("person", subject)


def _shown(email: str) -> str:
    """What the log may say of an address; nothing of what was typed and is none."""
    try:
        return f"an address at {checked_email(email).rpartition('@')[2]}"
    except InvalidValue:
        return "what is no address"
