"""When each service was first seen to have a revision, and people found by rare tags.

Revision 0005, after 0004.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idsync_pull_step",
        sa.Column("client_id", sa.String(length=64), nullable=False),
        sa.Column("incarnation", sa.LargeBinary(length=8), nullable=False),
        sa.Column("revision", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["idsync_application.client_id"],
            name=op.f("fk_idsync_pull_step_client_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "client_id", "incarnation", "revision", name=op.f("pk_idsync_pull_step")
        ),
    )
    with op.batch_alter_table("idsync_pull_step", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idsync_pull_step_at"), ["at"], unique=False)

    with op.batch_alter_table("idsync_account", schema=None) as batch_op:
        batch_op.create_index(
            "ix_idsync_account_tags",
            ["tags"],
            unique=False,
            postgresql_using="gin",
            postgresql_ops={"tags": "jsonb_path_ops"},
        )


def downgrade() -> None:
    with op.batch_alter_table("idsync_account", schema=None) as batch_op:
        batch_op.drop_index("ix_idsync_account_tags")

    with op.batch_alter_table("idsync_pull_step", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idsync_pull_step_at"))

    op.drop_table("idsync_pull_step")
