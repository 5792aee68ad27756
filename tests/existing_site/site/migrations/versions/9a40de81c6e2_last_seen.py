"""last seen

Revision ID: 9a40de81c6e2
Revises: 3f1c5f0a2b77
Create Date: 2022-11-02 08:47:55.019342

"""

import sqlalchemy as sa
from alembic import op

revision = "9a40de81c6e2"
down_revision = "3f1c5f0a2b77"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("users", sa.Column("last_seen", sa.DateTime(), nullable=True))


def downgrade():
    op.drop_column("users", "last_seen")
