"""Embeddings of documents for semantic search, the log of their changes, and their queue."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "embeddings",
        sa.Column("document_id", _ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_embeddings")),
    )
    op.create_table(
        "embedding_changes",
        sa.Column("number", _ID, autoincrement=True, nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_embedding_changes")),
        sa.UniqueConstraint("document_id", name=op.f("uq_embedding_changes_document_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "embedding_queue",
        sa.Column("document_id", _ID, autoincrement=False, nullable=False),
        sa.Column("queued_at", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_embedding_queue")),
    )
    op.create_index(op.f("ix_embedding_queue_due_at"), "embedding_queue", ["due_at"])
