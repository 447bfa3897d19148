"""The time since which feeds, index tasks and links wait, and of the last progress of each queue."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "queues",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("begun_at", sa.BigInteger(), nullable=True),
        sa.Column("moved_at", sa.BigInteger(), nullable=True),
        sa.Column("reached", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("document", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_queues")),
    )
    for table in ("marks", "link_queue"):
        op.add_column(table, sa.Column("queued_at", sa.BigInteger(), server_default="0", nullable=False))
        # items that already wait count as queued by the upgrade
        op.execute(f"UPDATE {table} SET queued_at = {time.time_ns() // 1000}")  # noqa: S608 - of numbers and names of this file
    op.add_column("feeds", sa.Column("moved_at", sa.BigInteger(), nullable=True))
    op.add_column("feeds", sa.Column("reached", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("feeds", sa.Column("failure", sa.Text(), nullable=True))
