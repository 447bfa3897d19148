"""Anchor texts by target and source, and a queue of documents whose links must be read, which begins with all live documents."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "link_texts",
        sa.Column("target_id", _ID, autoincrement=False, nullable=False),
        sa.Column("source_id", _ID, autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("target_id", "source_id", name=op.f("pk_link_texts")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_link_texts_source_id"), "link_texts", ["source_id"])
    op.create_table(
        "link_queue",
        sa.Column("work", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document_id", _ID, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("work", "document_id", name=op.f("pk_link_queue")),
        sqlite_with_rowid=False,
    )
    op.execute("INSERT INTO link_queue (work, document_id) SELECT 0, id FROM documents WHERE state = 'live'")
