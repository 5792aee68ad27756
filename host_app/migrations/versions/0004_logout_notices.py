"""Back-channel logout: the address of an application, the session it knows, tokens to be sent.

Revision 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("idsync_application", schema=None) as batch_op:
        batch_op.add_column(sa.Column("backchannel_logout_uri", sa.Text(), nullable=True))
        batch_op.add_column(
            sa.Column(
                "backchannel_logout_session_required",
                sa.Boolean(),
                server_default=sa.false(),
                nullable=False,
            )
        )

    with op.batch_alter_table("idsync_grant", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("issued_session_id", sa.LargeBinary(length=16), nullable=True)
        )
    op.execute("UPDATE idsync_grant SET issued_session_id = session_id")

    op.create_table(
        "idsync_logout",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("client_id", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["idsync_application.client_id"],
            name=op.f("fk_idsync_logout_client_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idsync_logout")),
    )
    with op.batch_alter_table("idsync_logout", schema=None) as batch_op:
        batch_op.create_index("ix_idsync_logout_due", ["client_id", "due_at", "id"], unique=False)
        batch_op.create_index("ix_idsync_logout_subject", ["subject"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("idsync_logout", schema=None) as batch_op:
        batch_op.drop_index("ix_idsync_logout_subject")
        batch_op.drop_index("ix_idsync_logout_due")

    op.drop_table("idsync_logout")
    with op.batch_alter_table("idsync_grant", schema=None) as batch_op:
        batch_op.drop_column("issued_session_id")

    with op.batch_alter_table("idsync_application", schema=None) as batch_op:
        batch_op.drop_column("backchannel_logout_session_required")
        batch_op.drop_column("backchannel_logout_uri")
