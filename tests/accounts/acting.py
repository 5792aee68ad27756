"""What a command or a service does to accounts, each in a transaction of its own.

Nothing here needs pytest. The caller is in an application context of the reference host.
"""

from typing import Any

from sqlalchemy import text

from host_app.models import db
from idsync.accounts.change import Change
from idsync.accounts.directory import Directory
from idsync.assembly import Parts
from idsync.audit.events import COMMAND, Actor
from idsync.crypto.exchange import ExchangeHash

SERVICE = Actor("service", "app_wiki")
HASH = str(ExchangeHash.create("secret", iterations=10_000))
OTHER_HASH = str(ExchangeHash.create("other", iterations=10_000))


def add(directory: Directory, **values: Any) -> str:
    record = directory.add(actor=COMMAND, **{"name": "Ada", "email": "ada@example.org", **values})
    db.session.commit()
    return record.subject


def change(directory: Directory, subject: str, actor: Actor = COMMAND, **values: Any) -> Any:
    record = directory.change(subject, Change(**values), actor=actor)
    db.session.commit()
    return record


def revision(parts: Parts) -> int:
    return parts.revisions.current(db.session)[1]


def events(kind: str) -> list[Any]:
    rows = db.session.execute(text("SELECT * FROM idsync_event WHERE kind = :kind"), {"kind": kind})
    return list(rows)
