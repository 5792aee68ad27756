"""First tables.

Revision 0001, after nothing.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idsync_application",
        sa.Column("client_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("secret_digest", sa.String(length=64), nullable=True),
        sa.Column(
            "redirect_uris",
            sa.JSON().with_variant(postgresql.JSONB(), "postgresql"),
            nullable=False,
        ),
        sa.Column(
            "post_logout_redirect_uris",
            sa.JSON().with_variant(postgresql.JSONB(), "postgresql"),
            nullable=False,
        ),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("first_party", sa.Boolean(), nullable=False),
        sa.Column("accounts", sa.Boolean(), nullable=False),
        sa.Column("service_tag", sa.String(length=64), nullable=True),
        sa.Column("id_token_algorithm", sa.String(length=8), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("client_id", name=op.f("pk_idsync_application")),
    )
    op.create_table(
        "idsync_directory",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("incarnation", sa.LargeBinary(length=8), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idsync_directory")),
    )
    op.create_table(
        "idsync_erased_account",
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("erased_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_idsync_erased_account")),
    )
    with op.batch_alter_table("idsync_erased_account", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_idsync_erased_account_revision"), ["revision"], unique=False
        )

    op.create_table(
        "idsync_event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("actor_kind", sa.String(length=16), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=True),
        sa.Column("address", sa.String(length=64), nullable=True),
        sa.Column("subject", sa.String(length=64), nullable=True),
        sa.Column("client_id", sa.String(length=64), nullable=True),
        sa.Column(
            "details", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idsync_event")),
    )
    with op.batch_alter_table("idsync_event", schema=None) as batch_op:
        batch_op.create_index("ix_idsync_event_at", ["at"], unique=False)
        batch_op.create_index("ix_idsync_event_subject", ["subject", "at"], unique=False)

    op.create_table(
        "idsync_phone_code",
        sa.Column("phone", sa.String(length=16), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("browser", sa.LargeBinary(length=32), nullable=False),
        sa.Column("code", sa.LargeBinary(length=32), nullable=False),
        sa.Column("tries_left", sa.Integer(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("phone", "purpose", name=op.f("pk_idsync_phone_code")),
    )
    with op.batch_alter_table("idsync_phone_code", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idsync_phone_code_sent_at"), ["sent_at"], unique=False)

    op.create_table(
        "idsync_sealing_key",
        sa.Column("key_id", sa.LargeBinary(length=4), nullable=False),
        sa.Column("check_value", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_idsync_sealing_key")),
    )
    op.create_table(
        "idsync_signing_key",
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("algorithm", sa.String(length=8), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column(
            "public", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False
        ),
        sa.Column("private", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("active_from", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("kid", name=op.f("pk_idsync_signing_key")),
        sa.UniqueConstraint(
            "algorithm", "sequence", name=op.f("uq_idsync_signing_key_algorithm_sequence")
        ),
    )
    op.create_table(
        "idsync_try",
        sa.Column("id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("free_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idsync_try")),
    )
    with op.batch_alter_table("idsync_try", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idsync_try_free_at"), ["free_at"], unique=False)

    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
    )
    op.create_table(
        "idsync_account",
        sa.Column("account_key", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("password", sa.LargeBinary(), nullable=True),
        sa.Column("legacy_password", sa.Boolean(), nullable=False),
        sa.Column("email_key", sa.String(length=320), nullable=True),
        sa.Column("email_verified", sa.Boolean(), nullable=False),
        sa.Column("phone", sa.String(length=16), nullable=True),
        sa.Column("tags", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("disabled_by", sa.String(length=16), nullable=True),
        sa.Column("mfa", sa.Boolean(), nullable=False),
        sa.Column("administrator", sa.Boolean(), nullable=False),
        sa.Column("epoch", sa.LargeBinary(length=8), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_key"],
            ["person.id"],
            name=op.f("fk_idsync_account_account_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_key", name=op.f("pk_idsync_account")),
        sa.UniqueConstraint("email_key", name=op.f("uq_idsync_account_email_key")),
        sa.UniqueConstraint("phone", name=op.f("uq_idsync_account_phone")),
        sa.UniqueConstraint("subject", name=op.f("uq_idsync_account_subject")),
    )
    with op.batch_alter_table("idsync_account", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idsync_account_revision"), ["revision"], unique=False)

    op.create_table(
        "idsync_pull",
        sa.Column("client_id", sa.String(length=64), nullable=False),
        sa.Column("incarnation", sa.LargeBinary(length=8), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["idsync_application.client_id"],
            name=op.f("fk_idsync_pull_client_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("client_id", name=op.f("pk_idsync_pull")),
    )
    op.create_table(
        "idsync_consent",
        sa.Column("account_key", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("client_id", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("agreed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_key"],
            ["idsync_account.account_key"],
            name=op.f("fk_idsync_consent_account_key"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["idsync_application.client_id"],
            name=op.f("fk_idsync_consent_client_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_key", "client_id", name=op.f("pk_idsync_consent")),
    )
    op.create_table(
        "idsync_grant",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("client_id", sa.String(length=64), nullable=False),
        sa.Column("account_key", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("epoch", sa.LargeBinary(length=8), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("redirect_uri", sa.Text(), nullable=False),
        sa.Column("code_challenge", sa.String(length=43), nullable=True),
        sa.Column("nonce", sa.Text(), nullable=True),
        sa.Column("auth_time", sa.BigInteger(), nullable=False),
        sa.Column("amr", sa.Text(), nullable=False),
        sa.Column("issued_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("redeemed_at", sa.BigInteger(), nullable=True),
        sa.Column("refreshed_at", sa.BigInteger(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_key"],
            ["idsync_account.account_key"],
            name=op.f("fk_idsync_grant_account_key"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["idsync_application.client_id"],
            name=op.f("fk_idsync_grant_client_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idsync_grant")),
    )
    with op.batch_alter_table("idsync_grant", schema=None) as batch_op:
        batch_op.create_index("ix_idsync_grant_account", ["account_key", "client_id"], unique=False)
        batch_op.create_index("ix_idsync_grant_session", ["session_id"], unique=False)

    op.create_table(
        "idsync_passkey",
        sa.Column("id", sa.LargeBinary(length=1023), nullable=False),
        sa.Column("account_key", sa.Integer(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("synced", sa.Boolean(), nullable=False),
        sa.Column("label", sa.String(length=60), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_key"],
            ["idsync_account.account_key"],
            name=op.f("fk_idsync_passkey_account_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idsync_passkey")),
    )
    with op.batch_alter_table("idsync_passkey", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_idsync_passkey_account_key"), ["account_key"], unique=False
        )

    op.create_table(
        "idsync_recovery_code",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("account_key", sa.Integer(), nullable=False),
        sa.Column("slot", sa.String(length=1), nullable=False),
        sa.Column("verifier", sa.Text(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_key"],
            ["idsync_account.account_key"],
            name=op.f("fk_idsync_recovery_code_account_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idsync_recovery_code")),
        sa.UniqueConstraint(
            "account_key", "slot", name=op.f("uq_idsync_recovery_code_account_key_slot")
        ),
    )
    op.create_table(
        "idsync_session",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("account_key", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.LargeBinary(length=8), nullable=False),
        sa.Column("auth_time", sa.BigInteger(), nullable=False),
        sa.Column("amr", sa.Text(), nullable=False),
        sa.Column("second_factor", sa.Boolean(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_key"],
            ["idsync_account.account_key"],
            name=op.f("fk_idsync_session_account_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idsync_session")),
    )
    with op.batch_alter_table("idsync_session", schema=None) as batch_op:
        batch_op.create_index("ix_idsync_session_account", ["account_key"], unique=False)

    op.create_table(
        "idsync_totp",
        sa.Column("account_key", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("confirmed_at", sa.BigInteger(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_key"],
            ["idsync_account.account_key"],
            name=op.f("fk_idsync_totp_account_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_key", name=op.f("pk_idsync_totp")),
        sa.UniqueConstraint("subject", name=op.f("uq_idsync_totp_subject")),
    )


def downgrade() -> None:
    op.drop_table("idsync_totp")
    with op.batch_alter_table("idsync_session", schema=None) as batch_op:
        batch_op.drop_index("ix_idsync_session_account")

    op.drop_table("idsync_session")
    op.drop_table("idsync_recovery_code")
    with op.batch_alter_table("idsync_passkey", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idsync_passkey_account_key"))

    op.drop_table("idsync_passkey")
    with op.batch_alter_table("idsync_grant", schema=None) as batch_op:
        batch_op.drop_index("ix_idsync_grant_session")
        batch_op.drop_index("ix_idsync_grant_account")

    op.drop_table("idsync_grant")
    op.drop_table("idsync_consent")
    op.drop_table("idsync_pull")
    with op.batch_alter_table("idsync_account", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idsync_account_revision"))

    op.drop_table("idsync_account")
    op.drop_table("person")
    with op.batch_alter_table("idsync_try", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idsync_try_free_at"))

    op.drop_table("idsync_try")
    op.drop_table("idsync_signing_key")
    op.drop_table("idsync_sealing_key")
    with op.batch_alter_table("idsync_phone_code", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idsync_phone_code_sent_at"))

    op.drop_table("idsync_phone_code")
    with op.batch_alter_table("idsync_event", schema=None) as batch_op:
        batch_op.drop_index("ix_idsync_event_subject")
        batch_op.drop_index("ix_idsync_event_at")

    op.drop_table("idsync_event")
    with op.batch_alter_table("idsync_erased_account", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idsync_erased_account_revision"))

    op.drop_table("idsync_erased_account")
    op.drop_table("idsync_directory")
    op.drop_table("idsync_application")
