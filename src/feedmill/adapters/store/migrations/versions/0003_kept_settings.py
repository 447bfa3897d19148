"""Settings that the admin API stored."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "kept_settings",
        sa.Column("section", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("section", "name", name=op.f("pk_kept_settings")),
    )
