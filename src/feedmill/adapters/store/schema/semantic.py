"""The tables of semantic search: embeddings, the log of their changes, and the documents that wait to be embedded."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

embeddings = sa.Table(
    "embeddings",
    metadata,
    sa.Column("document_id", ID, primary_key=True, autoincrement=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("dimensions", sa.Integer, nullable=False),
    sa.Column("vectors", sa.LargeBinary, nullable=False),
)

# one row for each document whose embedding ever changed, with the number of its last change
embedding_changes = sa.Table(
    "embedding_changes",
    metadata,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("document_id", sa.BigInteger, nullable=False, unique=True),
    sqlite_autoincrement=True,
)

embedding_queue = sa.Table(
    "embedding_queue",
    metadata,
    sa.Column("document_id", ID, primary_key=True, autoincrement=False),
    sa.Column("queued_at", sa.BigInteger, nullable=False),
    sa.Column("due_at", sa.BigInteger, nullable=False, index=True),
    sa.Column("attempts", sa.Integer, nullable=False),
)
