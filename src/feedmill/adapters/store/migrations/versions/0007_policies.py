"""Policy ACLs."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "policies",
        sa.Column("number", _ID, autoincrement=True, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("pattern", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=True),
        sa.Column("entries", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_policies")),
        sa.UniqueConstraint("digest", name=op.f("uq_policies_digest")),
        sqlite_autoincrement=True,
    )
