"""The tie between a browser, its session row and Flask-Login.

A row begins with every Flask-Login login, whoever calls `login_user`, and ends with
`user_logged_out`. What the browser keeps of it meanwhile: `cookies.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import flask_login
from flask import Flask, current_app, g, session
from sqlalchemy import select

from idsync import signals
from idsync.accounts.directory import Directory
from idsync.accounts.passwords import Verified
from idsync.accounts.record import AccountModels, AccountRecord
from idsync.audit.events import Actor, Audit
from idsync.database import DatabaseSession
from idsync.errors import RecentSignInRequired
from idsync.machine import note_caller
from idsync.signin import cookies, first_step
from idsync.signin.devices import Devices
from idsync.signin.phone import FIELD as PHONE_FIELD
from idsync.signin.sessions import SECOND_FACTOR, Sessions, SignedIn


class SessionGrants(Protocol):
    """What applications got through a session; never commits."""

    def end_session(self, session_id: bytes) -> None:
        """End its grants, but for those with offline_access."""

    def change_session(self, previous: bytes, new: bytes, account_key: Any) -> None:
        """Another sign-in at the same browser: end other people's grants, take over one's own."""


class BrowserSessions:
    """Signs browsers in and out."""

    def __init__(
        self,
        db_session: DatabaseSession,
        models: AccountModels,
        directory: Directory,
        sessions: Sessions,
        grants: SessionGrants,
        devices: Devices,
        audit: Audit,
    ) -> None:
        self._db_session = db_session
        self._models = models
        self._directory = directory
        self._sessions = sessions
        self._grants = grants
        self._devices = devices
        self._audit = audit

    def connect(self, app: Flask) -> None:
        """Follow the logins and logouts of this application's Flask-Login."""
        flask_login.user_logged_in.connect(self._on_login, app)
        flask_login.user_logged_out.connect(self._on_logout, app)
        handlers = app.error_handler_spec[None][None]
        handlers.setdefault(RecentSignInRequired, self._ask_to_sign_in_again)
        # The receivers are bound methods: blinker holds them weakly, the parts hold them for good.
        app.before_request_funcs.setdefault(None, []).insert(0, cookies.drop_odd_remember_cookie)

    def remember(self, verified: Verified) -> None:
        """Note, for this request, the epoch that was read together with a right password."""
        g.idsync_verified = verified

    def renew(self, record: AccountRecord) -> None:
        """After a new password, let what was verified in this request stand for the new epoch."""
        verified: Verified | None = g.get("idsync_verified")
        if verified is not None and verified.account_key == record.account_key:
            self.remember(Verified(record.account_key, record.epoch))

    def sign_in(
        self,
        user: Any,
        amr: Iterable[str],
        *,
        epoch: bytes | None = None,
        auth_time: int | None = None,
        remember: bool = False,
    ) -> bool:
        """Sign `user` in at this browser.

        `epoch` is the one read with the credential, when that was in an earlier request. False for
        a disabled account, where the epoch has changed since, and where Flask-Login refuses; and
        after the first of two steps, which is kept for the second. `auth_time` is that of the
        proof, where the person goes on after an earlier one.
        """
        first_step.forget()
        record = self._directory.ensure_record(user)
        if epoch is not None:
            self.remember(Verified(record.account_key, epoch))
        if record.disabled or self._epoch_of(record) != record.epoch:
            return False
        amr = tuple(amr)
        if record.mfa and SECOND_FACTOR not in amr:
            self._stop_half_way(record, amr)
            return False
        g.idsync_amr, g.idsync_auth_time = amr, auth_time
        try:
            return bool(flask_login.login_user(user, remember=remember))
        finally:
            del g.idsync_amr, g.idsync_auth_time

    def sign_out(self) -> None:
        """Sign this browser out; the row ends through Flask-Login's signal."""
        flask_login.logout_user()

    def set_aside(self) -> None:
        """End this browser's session because the person is to sign in again.

        Its grants live on, unless it is somebody else who signs in then.
        """
        session_id = cookies.session_id()
        g.idsync_setting_aside = True
        flask_login.logout_user()
        if session_id is not None:
            cookies.keep_previous(session_id)

    def current(self) -> SignedIn | None:
        """Who is signed in at this browser, in the eyes of idsync and of Flask-Login alike."""
        session_id = cookies.session_id()
        if session_id is None:
            return None
        signed_in = self._sessions.find(session_id)
        user = flask_login.current_user
        if signed_in is None or not user.is_authenticated:
            return None
        if self._models.key_of(user) != signed_in.account.key:
            return None
        return signed_in

    def half_way(self, *, since: int) -> bool:
        """Whether the first of two steps was made here, not before `since` (unix seconds)."""
        first = first_step.kept()
        return first is not None and first.at >= since

    def require_recent(self, user: Any) -> SignedIn:
        """The session of `user`, who proved lately who they are. Raises RecentSignInRequired."""
        signed_in = self.current()
        if (
            signed_in is None
            or not signed_in.is_recent
            or signed_in.account.key != self._models.key_of(user)
        ):
            raise RecentSignInRequired("Please sign in again before you change this.")
        return signed_in

    def locked(self, user: Any) -> tuple[SignedIn, AccountRecord]:
        """The recent session of `user`, and the account's row, locked for a change.

        The session is compared with the locked row, because a new password, or signing out
        everywhere, may have come in between. Raises RecentSignInRequired.
        """
        signed_in = self.require_recent(user)
        record = self._directory.record(signed_in.account.subject)
        if record.disabled or record.epoch != signed_in.account.epoch:
            self._db_session.rollback()
            raise RecentSignInRequired("This account was signed out meanwhile.")
        return signed_in, record

    def upgrade(self, signed_in: SignedIn, amr: tuple[str, ...]) -> None:
        """Add to how a session was proved; the caller commits."""
        kept = (one for one in signed_in.amr if one not in amr)
        self._sessions.upgrade(signed_in.id, (*kept, *amr))

    def load_user(self, user_id: str) -> Any | None:
        """The user Flask-Login kept, unless the epoch, the session or the account has ended.

        A cookie that names a session needs its row, living; one without (Flask-Login's remember
        cookie) the epoch only, and is not enough where there is a second factor. One statement.
        """
        epoch, dot, text = user_id.partition(".")
        key = self._key_from(text)
        if not dot or key is None:
            return None
        session_id = cookies.session_id()
        record, account = self._models.record_class, self._models.table.c
        row = account.mfa.is_(False)
        if session_id is not None:
            row = self._sessions.is_live(session_id, account.mfa)
        found = self._db_session.execute(
            select(self._models.user_class, account.subject)
            .join(record, account.account_key == self._models.user_key)
            .where(
                self._models.user_key == key,
                account.epoch == cookies.from_hex(epoch),
                account.disabled_by.is_(None),
                row,
            )
        ).first()
        if found is None:
            return None
        user, subject = found
        note_caller(subject=subject)
        return user

    def _key_from(self, text: str) -> Any | None:
        """The host's key from its text: whatever Python type its column has."""
        try:
            python_type = self._models.user_key.type.python_type
        except NotImplementedError:  # SQLAlchemy's way to say that the type names none
            python_type = str
        try:
            return python_type(text)
        except (TypeError, ValueError):
            return None

    def _on_login(self, app: Flask, user: Any, **_: Any) -> None:
        # Flask-Login hands over its proxy's target; the record may have to be made first.
        record = self._directory.ensure_record(user)
        epoch = self._epoch_of(record)
        verified = g.pop("idsync_verified", None)
        amr: tuple[str, ...] = g.get("idsync_amr", ("pwd",) if verified else ())
        if record.mfa and SECOND_FACTOR not in amr:
            # The host called `login_user` itself; what that did is taken back.
            self._stop_half_way(record, amr)
            return
        auth_time = g.get("idsync_auth_time")
        session_id = self._sessions.begin(record.account_key, epoch, amr, auth_time)
        for previous in (cookies.session_id(), cookies.take_previous()):
            if previous:
                self._sessions.end(previous)
                self._grants.change_session(previous, session_id, record.account_key)
        actor = Actor("person", record.subject)
        self._audit.record("signed in", actor, subject=record.subject, amr=list(amr))
        self._db_session.commit()
        _forget_what_was_begun()
        self._devices.remember(record.subject)
        note_caller(subject=record.subject)
        cookies.keep(session_id, f"{epoch.hex()}.{record.account_key}")
        signals.signed_in.send(app, subject=record.subject, amr=amr)

    def _ask_to_sign_in_again(self, error: Exception) -> Any:
        """For a host that does not answer this itself: its sign-in page, with nobody signed in."""
        self.set_aside()
        unauthorized: Any = current_app.login_manager.unauthorized()  # type: ignore[attr-defined]
        return current_app.make_response(unauthorized)

    def _stop_half_way(self, record: AccountRecord, amr: tuple[str, ...]) -> None:
        """Keep the first step for the second; nobody is signed in at this browser meanwhile."""
        epoch, subject = self._epoch_of(record), record.subject
        g.pop("idsync_verified", None)
        self.set_aside()
        first_step.keep(subject, epoch, amr)

    def _epoch_of(self, record: AccountRecord) -> bytes:
        """The epoch read with the password just verified in this request, else the current one."""
        verified: Verified | None = g.get("idsync_verified")
        if verified is not None and verified.account_key == record.account_key:
            return verified.epoch
        return record.epoch

    def _on_logout(self, app: Flask, user: Any, **_: Any) -> None:
        session_id = cookies.session_id()
        cookies.forget()
        _forget_what_was_begun()
        signed_in = None
        if session_id is not None:
            signed_in = self._sessions.find(session_id)
            self._sessions.end(session_id)
        setting_aside = g.pop("idsync_setting_aside", False)
        if not setting_aside:
            for ended in (session_id, cookies.take_previous()):
                if ended:
                    self._grants.end_session(ended)
            if signed_in is not None:
                subject = signed_in.account.subject
                self._audit.record("signed out", Actor("person", subject), subject=subject)
        self._db_session.commit()
        if signed_in is not None and not setting_aside:
            signals.signed_out.send(app, subject=signed_in.account.subject)


def _forget_what_was_begun() -> None:
    """What one person began at this browser is not for the next one."""
    first_step.forget()
    session.pop(PHONE_FIELD, None)
