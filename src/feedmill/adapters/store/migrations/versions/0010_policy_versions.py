"""Earlier policy ACLs."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "policy_versions",
        sa.Column("number", _ID, autoincrement=True, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("policies", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_policy_versions")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_policy_versions_at"), "policy_versions", ["at"])
