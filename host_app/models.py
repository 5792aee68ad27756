"""The tables: people as this site knows them, and beside them those of idsync."""

from __future__ import annotations

import datetime as dt

from flask_login import UserMixin
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import MetaData, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from idsync import IdSync


class Base(DeclarativeBase):
    """Gives every constraint a name, so that a migration can find it again on any database."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
        }
    )


db = SQLAlchemy(model_class=Base)


def now() -> dt.datetime:
    """Now in UTC, without an offset."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


class User(UserMixin, db.Model):  # type: ignore[misc, name-defined]
    """A person. What signing in needs is kept by idsync in a row of its own."""

    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    email: Mapped[str | None] = mapped_column(String(254))
    created_at: Mapped[dt.datetime] = mapped_column(default=now)
    language: Mapped[str | None] = mapped_column(String(8))  # of the last sign-in, for mail


identity = IdSync(db, account=User)
