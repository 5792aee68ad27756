"""What the demo shows of its copy: a service may read the copy's tables like its own."""

from __future__ import annotations

import sqlalchemy as sa

from idsync.consumer import Account, CopyStore

SHOWN = 50
"""People on the page."""


def people_on(store: CopyStore) -> list[Account]:
    """The first people in the copy, by name."""
    table = store.metadata.tables["idsync_copy_account"]
    with store.engine.connect() as connection:
        ids = connection.scalars(sa.select(table.c.id).order_by(table.c.name).limit(SHOWN)).all()
        found = [store.people.by_id(connection, id) for id in ids]
    return [account for account in found if account is not None]
