"""IdSync: the one place where the parts meet a Flask application.

    db = SQLAlchemy()
    class User(UserMixin, db.Model): ...
    identity = IdSync(db, account=User)      # tables join db.metadata, Flask-Migrate sees them
    identity.init_app(app)                   # settings, addresses, commands

The object holds tables only. What belongs to an application lives in `app.extensions["idsync"]`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from flask import Flask, current_app, has_request_context
from flask_sqlalchemy import SQLAlchemy
from werkzeug.local import LocalProxy
from werkzeug.wrappers import Response

from idsync.accounts.change import Change
from idsync.accounts.directory import Directory, NewUser
from idsync.accounts.passwords import LegacyCheck
from idsync.accounts.revision import Revisions
from idsync.accounts.rules import checked_name, checked_password
from idsync.administration.console import Console
from idsync.applications.registry import Applications
from idsync.assembly import Parts, assemble
from idsync.audit import announcing
from idsync.audit.events import SYSTEM, Actor, Audit, Event
from idsync.checks import refuse_unsafe
from idsync.cli import commands
from idsync.condition import Condition
from idsync.errors import ConfigurationError
from idsync.mounting import at_first_request, check_keys, mount
from idsync.oauth.connected import ConnectedApplication
from idsync.oauth.hints import RequestHints
from idsync.settings import Settings
from idsync.signin.factors import SecondFactors
from idsync.signin.mail import SendMail
from idsync.signin.own_email import OwnEmail
from idsync.signin.passkey_sign_in import PasskeySignIn
from idsync.signin.phone_sign_in import PhoneSignIn
from idsync.signin.senders import SendText
from idsync.signin.sessions import SignedIn
from idsync.tables import define_tables

EXTENSION = "idsync"


class IdSync:
    """Makes a Flask site an identity provider.

    db: the site's Flask-SQLAlchemy object. account: its mapped user class, with the attributes
    `name` and `email` and a primary key of one column. legacy_check: called as
    `legacy_check(user, password)` for people whose password hash is still the site's own; asked
    until it first says yes, then idsync keeps the password. new_user: called as
    `new_user(name, email)` to make a user of the site's class, where `account(name=…, email=…)`
    is not enough. send_text: called as `send_text(number, text)` to reach a phone. send_mail:
    called as `send_mail(address, subject, text)`.

    Raises ConfigurationError when the class cannot be used.
    """

    def __init__(
        self,
        db: SQLAlchemy,
        *,
        account: type[Any],
        legacy_check: LegacyCheck | None = None,
        new_user: NewUser | None = None,
        send_text: SendText | None = None,
        send_mail: SendMail | None = None,
    ) -> None:
        self._db = db
        self._send_text = send_text
        self._send_mail = send_mail
        self._legacy_check = legacy_check
        self._new_user = new_user or (lambda name, email: account(name=name, email=email))
        self._tables = define_tables(db, account)
        self._revisions = Revisions(
            self._tables.models,
            self._tables.directory,
            self._tables.erased,
            owned=(*self._tables.sign_in.owned(), self._tables.grant, self._tables.consent),
            legacy_passwords=legacy_check is not None,
        )
        # First: it reads the grants that erasing a person deletes.
        self._tables.notices.follow(db.session)
        self._revisions.follow(db.session)
        announcing.follow(db.session)

    def init_app(self, app: Flask) -> None:
        """Read the settings, add the addresses and the `flask idsync` commands.

        Raises ConfigurationError where a setting is missing or wrong, or an address is taken.
        """
        if EXTENSION in app.extensions:
            raise ConfigurationError("IdSync.init_app was called twice for this application.")
        settings = Settings.from_config(app.config, lenient=app.debug or app.testing)
        refuse_unsafe(app, settings)
        parts, blueprints = assemble(
            settings,
            self._db,
            self._tables,
            self._revisions,
            self._legacy_check,
            self._new_user,
            self._send_text,
            self._send_mail,
        )
        mount(app, blueprints, settings)
        app.extensions[EXTENSION] = parts
        parts.sign_in.browser.connect(app)
        app.cli.add_command(commands())
        at_first_request(app, settings)
        check_keys(app, self._db, parts.sealing_keys.check)
        # At DEBUG, Authlib logs whole tokens.
        logging.getLogger("authlib").setLevel(logging.INFO)

    # --- for the host's own views --------------------------------------------------------------

    @property
    def directory(self) -> Directory:
        """The accounts of the current application."""
        return _parts().directory

    @property
    def applications(self) -> Applications:
        """The client applications of the current application."""
        return _parts().applications

    @property
    def audit(self) -> Audit:
        """What happened: who did what to whom, when and from where."""
        return _parts().audit

    @property
    def condition(self) -> Condition:
        """Whether the keys fit and how far the service has come, for an operator's tools."""
        return Condition(self._db.session, _parts())

    @property
    def settings(self) -> Settings:
        """The settings of the current application."""
        return _parts().settings

    def find_user(self, email: str) -> Any | None:
        """The site's user with this e-mail address, compared without case."""
        return self.directory.user_by_email(email)

    def check_password(self, user: Any | None, plain: str, *, login: str = "") -> bool:
        """Whether `plain` is the user's password; False for a disabled account.

        Pass None for an unknown person, and what they typed as `login`: it takes the same time and
        runs into the same limits. The sign-in that follows in this request is bound to the password
        just checked. Commits the count of tries. Raises TooManyTries, which idsync answers with a
        page where the site does not.
        """
        verified = _parts().sign_in.password.check(_unwrapped(user), plain, login)
        if verified is None:
            return False
        _parts().sign_in.browser.remember(verified)
        return True

    @property
    def phone(self) -> PhoneSignIn:
        """Signing in by phone, and people's phone numbers."""
        return _parts().sign_in.phone

    @property
    def email(self) -> OwnEmail:
        """Forgotten passwords, people's own e-mail addresses, and mail to them."""
        return _parts().sign_in.email

    @property
    def factors(self) -> SecondFactors:
        """Second factors, and the second step of a sign-in."""
        return _parts().sign_in.factors

    @property
    def passkeys(self) -> PasskeySignIn:
        """Passkeys and security keys, alone or as a second factor."""
        return _parts().sign_in.passkeys

    def require_recent_sign_in(self, user: Any) -> None:
        """Raises RecentSignInRequired unless `user` signed in here within the last ten minutes."""
        _parts().sign_in.browser.require_recent(_unwrapped(user))

    def require_administrator(self, *, second_factor: bool = True) -> Console:
        """What an administrator can do, for the one signed in at this browser.

        To be asked for in every request. Raises RecentSignInRequired where nobody is signed in or
        the sign-in is older than half an hour, AdministratorRequired, and SecondFactorRequired
        unless `second_factor` is False.
        """
        return _parts().entrance.enter(second_factor=second_factor)

    def set_password(self, user: Any, plain: str) -> None:
        """Give a user a new password; ends every session and grant they have.

        The caller commits. A person who changed their own password is signed in again with
        `sign_in`, after the commit. Raises InvalidValue for one that is too short, or could not be
        entered at sign-in.
        """
        checked_password(plain)  # before anything is locked
        record = self.directory.ensure_record(_unwrapped(user))
        record = self.directory.record(record.subject)  # locked, after the site's own row
        _parts().passwords.write(record, plain)
        _parts().audit.record("password changed", self.actor(), subject=record.subject)
        _parts().sign_in.browser.renew(record)

    def rename(self, user: Any, name: str) -> None:
        """Change a person's name, at their own wish, and commit. Raises InvalidValue."""
        checked_name(name)  # before anything is locked
        subject = self.directory.ensure_record(_unwrapped(user)).subject
        self.directory.change(subject, Change(name=name), actor=Actor("person", subject))
        self._db.session.commit()

    def sign_out_everywhere(self, user: Any) -> None:
        """End every session and grant of a user, in this browser too, and commit."""
        subject = self.directory.ensure_record(_unwrapped(user)).subject
        self.directory.sign_out_everywhere(subject, actor=Actor("person", subject))
        self._db.session.commit()
        _parts().sign_in.browser.sign_out()

    def sign_in(
        self,
        user: Any,
        *,
        amr: Iterable[str] = ("pwd",),
        auth_time: int | None = None,
        remember: bool = False,
    ) -> bool:
        """Sign a user in at this browser and commit.

        amr: how they proved who they are (RFC 8176); with "mfa" when by more than one factor.
        auth_time: when they did, in unix seconds, where it was not now. False for a disabled
        account, where the password was changed since it was checked, and where Flask-Login refuses;
        and where a second factor is still to come: then `factors.awaited()` is True.
        """
        return _parts().sign_in.browser.sign_in(
            _unwrapped(user), amr, auth_time=auth_time, remember=remember
        )

    def sign_out(self, next: str = "") -> Response:
        """Sign this browser out and commit; the answer leads to `next` or to the sign-in page.

        `next` is followed only to the host of a registered address of an active application.
        """
        return _parts().logout.sign_out_to(next)

    def recent_events(
        self, user: Any, *, before: int | None = None, limit: int = 50
    ) -> list[Event]:
        """What happened to a user's account, newest first; before: older than this event's id."""
        subject = self.directory.ensure_record(_unwrapped(user)).subject
        return _parts().audit.events(subject=subject, before=before, limit=limit)

    def connected_applications(self, user: Any) -> list[ConnectedApplication]:
        """The applications a user has connected, by name."""
        parts = _parts()
        return parts.connections.of(parts.models.key_of(_unwrapped(user)))

    def disconnect(self, user: Any, client_id: str) -> None:
        """Take an application's rights back: its grants end, consent is forgotten. Commits."""
        parts = _parts()
        record = parts.directory.ensure_record(_unwrapped(user))
        parts.connections.disconnect(record.account_key, record.subject, client_id)

    def request_hints(self) -> RequestHints:
        """What the application that sent the person here asked of the pages they are shown.

        login_hint: what they may want to sign in as. ui_locales: languages, best first. Read from
        the pending request in `next`, and on the pages of authorize itself; else both are empty.
        """
        return _parts().hints.current()

    def actor(self) -> Actor:
        """Who acts in this request, for the audit log: the person signed in at this browser."""
        signed_in = _parts().sign_in.browser.current() if has_request_context() else None
        return SYSTEM if signed_in is None else Actor("person", signed_in.account.subject)

    def signed_in(self) -> SignedIn | None:
        """Who is signed in at this browser, how and when; None for nobody."""
        return _parts().sign_in.browser.current()

    def load_account(self, user_id: str) -> Any | None:
        """Flask-Login's user loader: `login_manager.user_loader(identity.load_account)`."""
        return _parts().sign_in.browser.load_user(user_id)

    def touch(self, keys: Iterable[Any]) -> None:
        """Tell the directory which accounts (by the site's primary keys) raw SQL has changed.

        Belongs into the same transaction; needed for name and e-mail only.
        """
        self._revisions.touch(self._db.session, keys)


def _parts() -> Parts:
    parts: Parts | None = current_app.extensions.get(EXTENSION)
    if parts is None:
        raise ConfigurationError("Call identity.init_app(app) first.")
    return parts


def _unwrapped(user: Any) -> Any:
    """The user behind Flask-Login's `current_user`, which cannot be signed in itself."""
    return user._get_current_object() if isinstance(user, LocalProxy) else user
