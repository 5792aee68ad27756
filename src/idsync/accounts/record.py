"""The companion row: what idsync keeps about an account beside the host's own user table.

The host's class needs only the attributes `name` and `email` (columns or synonyms) and a primary
key of one column, of any type. `idsync_account` points at that key.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    RowMapping,
    String,
    Table,
    inspect,
    text,
)
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import Mapper, SynonymProperty, registry, relationship

from idsync.accounts.rules import LONGEST_NAME_KEY
from idsync.crypto import identifiers
from idsync.database import Json
from idsync.errors import ConfigurationError

# Searched by how it begins: PostgreSQL reads an index for that only where it compares by code.
_Subject = String(64).with_variant(String(64, collation="C"), "postgresql")
_EmailKey = String(320).with_variant(String(320, collation="C"), "postgresql")
_NameKey = String(LONGEST_NAME_KEY).with_variant(
    String(LONGEST_NAME_KEY, collation="C"), "postgresql"
)

DISABLED_BY_SERVICE = "service"
DISABLED_BY_ADMINISTRATOR = "administrator"


class AccountRecord:
    """One row of `idsync_account`; mapped anew for every `IdSync` object.

    account_key: the host's primary key; never leaves the database.
    name_key: the name as it is searched (`names.py`).
    email_verified: the person proved that the address is theirs.
    subject: the account API's `id` and the OpenID Connect `sub`.
    password: the sealed verifier, or None.
    legacy_password: the host's own hash is still the one that counts.
    disabled_by: None while enabled, otherwise who disabled it.
    epoch: 64 random bits; sessions and grants are valid only while they carry the same.
    revision: the directory counter's value at the last exported change.
    """

    account_key: Any
    subject: str
    password: bytes | None
    legacy_password: bool
    email_key: str | None
    name_key: str
    email_verified: bool
    phone: str | None
    tags: list[str]
    disabled_by: str | None
    mfa: bool
    administrator: bool
    epoch: bytes
    revision: int
    updated_at: dt.datetime
    user: Any

    @property
    def disabled(self) -> bool:
        """Whether the account may sign in nowhere."""
        return self.disabled_by is not None


@dataclass(frozen=True, slots=True)
class AccountModels:
    """The host's user table and the companion as seen by statements."""

    user_class: type[Any]
    record_class: type[AccountRecord]
    table: Table
    user_key: Column[Any]
    user_name: Column[Any]
    user_email: Column[Any]
    key_attribute: str
    name_attribute: str
    email_attribute: str

    def key_of(self, user: Any) -> Any:
        """The host's primary key of one of its users."""
        return getattr(user, self.key_attribute)


@dataclass(frozen=True, slots=True)
class Account:
    """An account as read by one statement. Times are UTC."""

    key: Any
    subject: str
    name: str
    email: str | None
    email_verified: bool
    phone: str | None
    tags: frozenset[str]
    disabled: bool
    mfa: bool
    administrator: bool
    epoch: bytes
    updated_at: dt.datetime


def map_accounts(
    mapper_registry: registry, metadata: MetaData, user_class: type[Any]
) -> AccountModels:
    """Define and map `idsync_account` for the host's user class. Raises ConfigurationError."""
    mapper = _mapper_of(user_class)
    if len(mapper.primary_key) != 1:
        names = ", ".join(column.name for column in mapper.primary_key)
        raise ConfigurationError(
            f"{user_class.__name__} has a primary key of several columns ({names}); idsync needs "
            "an account class with a primary key of one column."
        )
    user_key: Any = mapper.primary_key[0]
    table = Table(
        "idsync_account",
        metadata,
        Column(
            "account_key",
            user_key.type,
            ForeignKey(user_key, ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        Column("subject", _Subject, nullable=False, unique=True),
        Column("password", LargeBinary),
        Column("legacy_password", Boolean, nullable=False),
        Column("email_key", _EmailKey, unique=True),
        # Empty until `flask idsync adopt` where the host's own migration adds the column.
        Column("name_key", _NameKey, nullable=False, server_default=text("''")),
        Column("email_verified", Boolean, nullable=False),
        Column("phone", String(16), unique=True),
        Column("tags", Json, nullable=False),
        Column("disabled_by", String(16)),
        Column("mfa", Boolean, nullable=False),
        Column("administrator", Boolean, nullable=False),
        Column("epoch", LargeBinary(8), nullable=False),
        Column("revision", BigInteger, nullable=False, index=True),
        Column("updated_at", DateTime, nullable=False),
        Index("ix_idsync_account_name_key", "name_key", "subject"),
        # For tags that few have; without it, all names are gone through for them. SQLite makes
        # nothing of it, but migrations are compared with one set of tables.
        Index(
            "ix_idsync_account_tags",
            "tags",
            postgresql_using="gin",
            postgresql_ops={"tags": "jsonb_path_ops"},
        ),
    )
    record_class = type("IdSyncAccount", (AccountRecord,), {})
    mapper_registry.map_imperatively(
        record_class, table, properties={"user": relationship(user_class, passive_deletes="all")}
    )
    return AccountModels(
        user_class=user_class,
        record_class=record_class,
        table=table,
        user_key=user_key,
        user_name=_column_of(mapper, "name"),
        user_email=_column_of(mapper, "email"),
        key_attribute=mapper.get_property_by_column(user_key).key,
        name_attribute=_property_of(mapper, "name"),
        email_attribute=_property_of(mapper, "email"),
    )


def new_record(models: AccountModels, user: Any, *, legacy_password: bool) -> AccountRecord:
    """A companion for `user`, not yet added to a session."""
    record = models.record_class()
    record.user = user
    record.subject = identifiers.new_subject()
    record.password = None
    record.legacy_password = legacy_password
    record.email_key = None
    record.name_key = ""
    record.email_verified = False
    record.phone = None
    record.tags = []
    record.disabled_by = None
    record.mfa = False
    record.administrator = False
    record.epoch = identifiers.new_epoch()
    record.revision = 0
    record.updated_at = utc_now()
    return record


def utc_now() -> dt.datetime:
    """Now in UTC to the second, without an offset: the contract's form of a time."""
    return dt.datetime.now(dt.UTC).replace(microsecond=0, tzinfo=None)


def account_columns(models: AccountModels) -> list[Any]:
    """What a statement selects, joined with the host's table, for `account_from`."""
    table = models.table.c
    return [
        models.user_key.label("user_key"),
        models.user_name.label("account_name"),
        models.user_email.label("account_email"),
        table.subject,
        table.email_verified,
        table.phone,
        table.tags,
        table.disabled_by,
        table.mfa,
        table.administrator,
        table.epoch.label("account_epoch"),
        table.updated_at,
    ]


def account_from(row: RowMapping) -> Account:
    """The account in a row selected with `account_columns`."""
    return Account(
        key=row["user_key"],
        subject=row["subject"],
        name=row["account_name"] or "",
        email=row["account_email"] or None,
        email_verified=row["email_verified"],
        phone=row["phone"],
        tags=frozenset(row["tags"]),
        disabled=row["disabled_by"] is not None,
        mfa=row["mfa"],
        administrator=row["administrator"],
        epoch=row["account_epoch"],
        updated_at=row["updated_at"],
    )


def _mapper_of(user_class: type[Any]) -> Mapper[Any]:
    mapper = inspect(user_class, raiseerr=False)
    if not isinstance(mapper, Mapper):
        raise ConfigurationError(f"{user_class!r} is not a mapped class.")
    return mapper


def _column_of(mapper: Mapper[Any], attribute: str) -> Column[Any]:
    prop = mapper.get_property(_property_of(mapper, attribute))
    column = getattr(prop, "columns", [None])[0]
    if not isinstance(column, Column):
        raise _missing(mapper, attribute)
    return column


def _property_of(mapper: Mapper[Any], attribute: str) -> str:
    """The mapped attribute behind `attribute`, following synonyms."""
    try:
        prop = mapper.get_property(attribute)
        while isinstance(prop, SynonymProperty):
            prop = mapper.get_property(prop.name)
    except InvalidRequestError:
        raise _missing(mapper, attribute) from None
    return prop.key


def _missing(mapper: Mapper[Any], attribute: str) -> ConfigurationError:
    return ConfigurationError(
        f"{mapper.class_.__name__} needs the attribute {attribute!r}, a column or a synonym "
        f'of one: {attribute} = synonym("your_column")'
    )
