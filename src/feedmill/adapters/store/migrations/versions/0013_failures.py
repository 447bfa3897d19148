"""Failures by document, interruptions by item, and a counter of log entries that a feed gets after it was applied."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "document_failures",
        sa.Column("document_id", _ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("program", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("is_found", sa.Boolean(create_constraint=False), nullable=False),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_document_failures")),
    )
    op.create_table(
        "interruptions",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_interruptions")),
    )
    op.add_column("feeds", sa.Column("late_logged", sa.BigInteger(), server_default="0", nullable=False))
