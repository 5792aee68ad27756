"""Where grants live: the interface the grant classes use, and its SQL version.

Redeeming and rotating are one conditional UPDATE each, so that the row decides who wins a race, on
every database. Each UPDATE repeats the conditions of the grant and its account.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    exists,
    insert,
    or_,
    select,
    update,
)

from idsync.accounts.record import AccountModels, account_columns, account_from
from idsync.crypto import identifiers
from idsync.database import DatabaseSession, write
from idsync.oauth.grant import Grant, NewGrant
from idsync.oauth.logout_notices import LogoutNotices
from idsync.settings import ACCESS_TOKEN_LIFETIME, CODE_LIFETIME, REFRESH_TOKEN_LIFETIME


class GrantStore(Protocol):
    """What the grant classes need. Every method is its own committed transaction."""

    def issue(self, new: NewGrant, also: Callable[[], None] | None = None) -> bytes:
        """Write a grant and return its id. `also` runs in the same transaction."""

    def find(self, grant_id: bytes) -> Grant | None:
        """The grant with this id, whatever its state."""

    def redeem(self, grant: Grant) -> bool:
        """Exchange the code; False when the grant can not, or no longer, be redeemed."""

    def rotate(self, grant: Grant, presented: int) -> bool:
        """Replace the refresh token of generation `presented`; False when it is not valid."""

    def revoke(self, grant_id: bytes, also: Callable[[], None] | None = None) -> bool:
        """End a grant; False when it had ended already. `also` runs in the same transaction."""


def define_grant_table(metadata: MetaData, models: AccountModels) -> Table:
    """`idsync_grant`: one row per sign-in of a person at an application. Times: unix seconds."""
    return Table(
        "idsync_grant",
        metadata,
        Column("id", LargeBinary(16), primary_key=True),
        Column(
            "client_id",
            String(64),
            ForeignKey("idsync_application.client_id", ondelete="CASCADE"),
            nullable=False,
        ),
        Column(
            "account_key",
            models.table.c.account_key.type,
            ForeignKey(models.table.c.account_key, ondelete="CASCADE"),
            nullable=False,
        ),
        # No foreign key: a session's row may be pruned while a grant with offline_access lives on.
        Column("session_id", LargeBinary(16), nullable=False),
        # What the application knows as `sid`; it stays when the person signs in again. None, which
        # means session_id, in rows that are older than this column.
        Column("issued_session_id", LargeBinary(16)),
        Column("epoch", LargeBinary(8), nullable=False),
        Column("scope", Text, nullable=False),
        Column("redirect_uri", Text, nullable=False),
        Column("code_challenge", String(43)),
        Column("nonce", Text),
        Column("auth_time", BigInteger, nullable=False),
        Column("amr", Text, nullable=False),
        Column("issued_at", BigInteger, nullable=False),
        Column("expires_at", BigInteger, nullable=False),
        Column("redeemed_at", BigInteger),
        Column("refreshed_at", BigInteger),
        Column("generation", Integer, nullable=False),
        Column("revoked_at", BigInteger),
        Index("ix_idsync_grant_account", "account_key", "client_id"),
        Index("ix_idsync_grant_session", "session_id"),
    )


class SqlGrantStore:
    """Grants in the host's database."""

    def __init__(
        self,
        session: DatabaseSession,
        table: Table,
        applications: Table,
        models: AccountModels,
        notices: LogoutNotices,
    ) -> None:
        self._session = session
        self._notices = notices
        self._table = table
        account = models.table
        self._find = (
            select(
                table,
                applications.c.active.label("application_active"),
                applications.c.service_tag,
                applications.c.scopes.label("application_scope"),
                *account_columns(models),
            )
            .join(applications, applications.c.client_id == table.c.client_id)
            .join(account, account.c.account_key == table.c.account_key)
            .join(models.user_key.table, models.user_key == account.c.account_key)
            .where(table.c.id == bindparam("grant_id"))
        )
        # Aliased: inside an UPDATE the subquery must not be correlated away.
        owner = account.alias("owner")
        stands = (
            table.c.id == bindparam("grant_id"),
            table.c.client_id == bindparam("of_client"),
            table.c.revoked_at.is_(None),
            table.c.expires_at > bindparam("now"),
            exists().where(
                owner.c.account_key == table.c.account_key,
                owner.c.epoch == table.c.epoch,
                owner.c.disabled_by.is_(None),
            ),
        )
        self._redeem = (
            update(table)
            .where(*stands, table.c.redeemed_at.is_(None))
            .values(redeemed_at=bindparam("now"), expires_at=bindparam("until"))
        )
        # A row behind the token presented means writes lost in a failover, not an attack.
        self._rotate = (
            update(table)
            .where(
                *stands,
                table.c.redeemed_at.is_not(None),
                table.c.generation <= bindparam("presented"),
            )
            .values(
                generation=bindparam("presented") + 1,
                refreshed_at=bindparam("now"),
                expires_at=bindparam("until"),
            )
        )
        self._revoke = (
            update(table)
            .where(table.c.id == bindparam("grant_id"), table.c.revoked_at.is_(None))
            .values(revoked_at=bindparam("now"))
        )

    def issue(self, new: NewGrant, also: Callable[[], None] | None = None) -> bytes:
        """Write a grant and return its id."""
        grant_id, now = identifiers.new_id(), int(time.time())
        values = {
            "id": grant_id,
            "client_id": new.client_id,
            "account_key": new.account.key,
            "session_id": new.session_id,
            "issued_session_id": new.session_id,
            "epoch": new.epoch,
            "scope": " ".join(new.scopes),
            "redirect_uri": new.redirect_uri,
            "code_challenge": new.code_challenge,
            "nonce": new.nonce,
            "auth_time": new.auth_time,
            "amr": " ".join(new.amr),
            "issued_at": now,
            "expires_at": now + CODE_LIFETIME,
            "generation": 0,
        }

        def work(connection: Connection) -> None:
            connection.execute(insert(self._table), values)
            if also is not None:
                also()

        write(self._session, work)
        return grant_id

    def find(self, grant_id: bytes) -> Grant | None:
        """The grant with this id, whatever its state."""
        row = (
            self._session.connection()
            .execute(self._find, {"grant_id": grant_id})
            .mappings()
            .first()
        )
        if row is None:
            return None
        return Grant(
            account=account_from(row),
            amr=tuple(row["amr"].split()),
            application_active=row["application_active"],
            service_tag=row["service_tag"],
            application_scope=row["application_scope"],
            issued_session_id=row["issued_session_id"] or row["session_id"],
            **{
                column.name: row[column.name]
                for column in self._table.columns
                if column.name not in ("account_key", "amr", "issued_session_id")
            },
        )

    def redeem(self, grant: Grant) -> bool:
        """Exchange the code, once."""
        now = int(time.time())
        lifetime = REFRESH_TOKEN_LIFETIME if grant.offline else ACCESS_TOKEN_LIFETIME
        return self._changed(
            self._redeem,
            grant_id=grant.id,
            of_client=grant.client_id,
            now=now,
            until=now + lifetime,
        )

    def rotate(self, grant: Grant, presented: int) -> bool:
        """Replace the refresh token of generation `presented`, once."""
        now = int(time.time())
        return self._changed(
            self._rotate,
            grant_id=grant.id,
            of_client=grant.client_id,
            now=now,
            until=now + REFRESH_TOKEN_LIFETIME,
            presented=presented,
        )

    def revoke(self, grant_id: bytes, also: Callable[[], None] | None = None) -> bool:
        """End a grant."""
        values = {"grant_id": grant_id, "now": int(time.time())}

        def work(connection: Connection) -> bool:
            ended = connection.execute(self._revoke, values).rowcount == 1
            if ended and also is not None:
                also()
            return ended

        return write(self._session, work)

    def end_session(self, session_id: bytes) -> None:
        """End the grants of a browser session; those with offline_access outlive a sign-out.

        But not as a code: nobody is signed in any more whom it could sign in.
        """
        self._notices.session_ended(self._session, session_id)
        table = self._table.c
        self._session.connection().execute(
            update(self._table)
            .where(
                table.session_id == session_id,
                table.revoked_at.is_(None),
                or_(table.scope.not_like("%offline_access%"), table.redeemed_at.is_(None)),
            )
            .values(revoked_at=int(time.time()))
        )

    def change_session(self, previous: bytes, new: bytes, account_key: Any) -> None:
        """Another sign-in at the same browser.

        Somebody else's grants end, all of them. One's own move to the new session, so that what
        ends that ends them.
        """
        self._notices.others_left(self._session, previous, account_key)
        table, connection = self._table.c, self._session.connection()
        of_previous = (table.session_id == previous, table.revoked_at.is_(None))
        connection.execute(
            update(self._table)
            .where(*of_previous, table.account_key != account_key)
            .values(revoked_at=int(time.time()))
        )
        connection.execute(update(self._table).where(*of_previous).values(session_id=new))

    def _changed(self, statement: object, **values: object) -> bool:
        def work(connection: Connection) -> bool:
            return connection.execute(statement, values).rowcount == 1  # type: ignore[call-overload, no-any-return]

        return write(self._session, work)
