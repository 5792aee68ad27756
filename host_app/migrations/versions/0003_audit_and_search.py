"""Secrets that overlap, events found by each of their columns, people found by name.

Revision 0003, after 0002.
"""

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# Each index goes on with the order in which events are read.
ORDER = ["at", "id"]
INDEXED = ["kind", "subject", "client_id", "actor"]

# What people are searched by the beginning of; PostgreSQL then has to compare it by code.
KEYS = {"subject": 64, "email_key": 320}
BATCH = 1000


def upgrade() -> None:
    name_key = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
    with op.batch_alter_table("idsync_account", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("name_key", name_key, nullable=False, server_default=sa.text("''"))
        )
    collate("C")
    fold_names(op.get_bind())
    with op.batch_alter_table("idsync_account", schema=None) as batch_op:
        batch_op.create_index("ix_idsync_account_name_key", ["name_key", "subject"], unique=False)

    with op.batch_alter_table("idsync_application", schema=None) as batch_op:
        batch_op.add_column(sa.Column("previous_secret_digest", sa.String(length=64)))
        batch_op.add_column(sa.Column("previous_secret_until", sa.BigInteger()))

    with op.batch_alter_table("idsync_event", schema=None) as batch_op:
        batch_op.drop_index("ix_idsync_event_subject")
        batch_op.drop_index("ix_idsync_event_at")
        batch_op.create_index("ix_idsync_event_at", ORDER, unique=False)
        for column in INDEXED:
            batch_op.create_index(f"ix_idsync_event_{column}", [column, *ORDER], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("idsync_event", schema=None) as batch_op:
        for column in INDEXED:
            batch_op.drop_index(f"ix_idsync_event_{column}")
        batch_op.drop_index("ix_idsync_event_at")
        batch_op.create_index("ix_idsync_event_at", ["at"], unique=False)
        batch_op.create_index("ix_idsync_event_subject", ["subject", "at"], unique=False)

    with op.batch_alter_table("idsync_application", schema=None) as batch_op:
        batch_op.drop_column("previous_secret_until")
        batch_op.drop_column("previous_secret_digest")

    with op.batch_alter_table("idsync_account", schema=None) as batch_op:
        batch_op.drop_index("ix_idsync_account_name_key")
        batch_op.drop_column("name_key")
    collate("default")


def collate(collation: str) -> None:
    """Compare the keys of accounts by another order. SQLite compares by code anyway."""
    if op.get_bind().dialect.name == "postgresql":
        for column, length in KEYS.items():
            op.alter_column("idsync_account", column, type_=sa.String(length, collation=collation))


def fold_names(connection: sa.Connection) -> None:
    """Fill the column by which names are searched."""
    account = sa.table("idsync_account", sa.column("account_key"), sa.column("name_key"))
    person = sa.table("person", sa.column("id"), sa.column("name"))
    page = statement = (
        sa.select(account.c.account_key, person.c.name)
        .join_from(account, person, person.c.id == account.c.account_key)
        .order_by(account.c.account_key)
        .limit(BATCH)
    )
    change = (
        sa.update(account)
        .where(account.c.account_key == sa.bindparam("its"))
        .values(name_key=sa.bindparam("folded"))
    )
    while rows := connection.execute(page).all():
        connection.execute(change, [{"its": key, "folded": folded(name)} for key, name in rows])
        page = statement.where(account.c.account_key > rows[-1][0])


def folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name.strip()).casefold()[:64]
