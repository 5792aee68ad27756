"""Who is to be told that a session has ended (OpenID Connect Back-Channel Logout 1.0).

One row of `idsync_logout` is one logout token to come. It is written in the transaction that ends
the session, by one statement over the session's grants, for applications that registered an address
only; `delivery.py` sends it. What ends a session: signing out, somebody else at the same browser,
and a new epoch, which `follow` sees wherever it comes from.
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    and_,
    case,
    event,
    exists,
    func,
    insert,
    inspect,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.orm import Session, UOWTransaction

from idsync.accounts.record import AccountModels
from idsync.database import DatabaseSession, begin_write


def define_logout_table(metadata: MetaData) -> Table:
    """`idsync_logout`: one row per logout token. Times are unix seconds.

    session_id: the ended session as the application knows it; none where all of a person's ended at
    once. due_at: when to send it next, or, while somebody is sending it, when to think them dead;
    none when there is nothing more to do. No foreign key to the account, which may be erased.
    """
    return Table(
        "idsync_logout",
        metadata,
        Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
        Column(
            "client_id",
            String(64),
            ForeignKey("idsync_application.client_id", ondelete="CASCADE"),
            nullable=False,
        ),
        Column("subject", String(64), nullable=False),
        Column("session_id", LargeBinary(16)),
        Column("created_at", BigInteger, nullable=False),
        Column("due_at", BigInteger),
        Column("tries", Integer, nullable=False),
        Column("delivered_at", BigInteger),
        Index("ix_idsync_logout_due", "client_id", "due_at", "id"),
        Index("ix_idsync_logout_subject", "subject"),
    )


class LogoutNotices:
    """Writes the rows; never commits."""

    def __init__(
        self,
        models: AccountModels,
        *,
        logouts: Table,
        grants: Table,
        applications: Table,
        sessions: Table,
    ) -> None:
        self._models = models
        self._logouts = logouts
        self._grants = grants
        self._applications = applications
        self._sessions = sessions
        self._known_as = func.coalesce(grants.c.issued_session_id, grants.c.session_id)

    def follow(self, session: DatabaseSession) -> None:
        """See every new epoch and every erased person in the sessions this factory makes.

        Must come before what deletes an erased person's grants.
        """
        event.listen(session, "before_flush", self._before_flush)

    def session_ended(self, session: DatabaseSession, session_id: bytes) -> None:
        """A browser session ended at the person's wish."""
        self._write(session, self._grants.c.session_id == session_id, once=True)

    def others_left(self, session: DatabaseSession, session_id: bytes, account_key: Any) -> None:
        """Somebody signed in where it was another one before."""
        grants = self._grants.c
        self._write(
            session,
            and_(grants.session_id == session_id, grants.account_key != account_key),
            once=True,
        )

    def _before_flush(self, session: Session, context: UOWTransaction, instances: Any) -> None:
        for instance in list(session.dirty):
            if isinstance(instance, self._models.record_class):
                epoch: Any = inspect(instance).attrs["epoch"]
                if epoch.history.has_changes():
                    self._everything_ended(session, instance.account_key)
        for instance in list(session.deleted):
            if isinstance(instance, self._models.user_class):
                self._everything_ended(session, self._models.key_of(instance))

    def _everything_ended(self, session: Session, account_key: Any) -> None:
        """All that an account holds ends. Its row still has the epoch that ends with this flush.

        An application that does not ask for a session gets one token for all of them.
        """
        begin_write(session, self._models.table)
        grants, sessions = self._grants.c, self._sessions.c
        # An application's own session may outlive its token, and also a session here that was set
        # aside to ask for another sign-in; what a sign-out ended is revoked.
        session_there = exists().where(
            sessions.id == grants.session_id,
            or_(sessions.ended_at.is_(None), grants.revoked_at.is_(None)),
        )
        in_use = or_(
            and_(grants.revoked_at.is_(None), grants.expires_at > int(time.time())), session_there
        )
        one_by_one = self._applications.c.backchannel_logout_session_required
        self._write(
            session,
            and_(grants.account_key == account_key, in_use),
            session_id=case((one_by_one, self._known_as)),
        )

    def _write(
        self,
        session: DatabaseSession,
        condition: Any,
        session_id: Any = None,
        *,
        once: bool = False,
    ) -> None:
        """A row for each application with such grants. once: not where it was told of the session.

        When everything ends, an application that goes on with offline_access after the sign-out it
        was told of is told again; nothing of an older epoch is.
        """
        grants, account, applications = self._grants.c, self._models.table.c, self._applications.c
        logouts, now = self._logouts.c, literal(int(time.time()), BigInteger)
        told = exists().where(
            logouts.client_id == grants.client_id,
            logouts.subject == account.subject,
            logouts.session_id == self._known_as,
        )
        rows = (
            select(
                grants.client_id,
                account.subject,
                self._known_as if session_id is None else session_id,
                now,
                now,
                literal(0, Integer),
            )
            .select_from(self._grants)
            .join(self._applications, applications.client_id == grants.client_id)
            .join(self._models.table, account.account_key == grants.account_key)
            .where(
                applications.backchannel_logout_uri.is_not(None),
                applications.active,
                # A living code may be exchanged at this very moment.
                or_(grants.redeemed_at.is_not(None), grants.expires_at > now),
                # What an older epoch held was told of when that one ended.
                grants.epoch == account.epoch,
                ~told if once else true(),
                condition,
            )
            .distinct()
        )
        columns = ["client_id", "subject", "session_id", "created_at", "due_at", "tries"]
        session.connection().execute(insert(self._logouts).from_select(columns, rows))
