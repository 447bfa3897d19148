"""Digests that find the sessions of a user."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "session_marks",
        sa.Column("mark", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("mark", "digest", name=op.f("pk_session_marks")),
    )
    op.create_index(op.f("ix_session_marks_digest"), "session_marks", ["digest"])
