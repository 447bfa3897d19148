"""The tables of documents, their events, their queued work and their link texts."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

# Literal texts: a database uses a partial index only for a condition that it can compare with the index's own.
LIVE = sa.text("state = 'live'")
CLASSED = sa.text("access_class > 1")

documents = sa.Table(
    "documents",
    metadata,
    sa.Column("id", ID, primary_key=True, autoincrement=True),
    sa.Column("url_digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("datasource", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("feed_id", sa.BigInteger, nullable=False),
    sa.Column("seen_feed_id", sa.BigInteger, nullable=False),
    sa.Column("secure", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("locked", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("attributes", sa.Text, nullable=False),
    sa.Column("metadata", sa.Text, nullable=False),
    sa.Column("content", sa.Text),
    sa.Column("content_bytes", sa.BigInteger, nullable=False),
    sa.Column("charset", sa.Text),
    sa.Column("text", sa.Text),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("events", sa.Integer, nullable=False),
    sa.Column("access_class", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("classed_at", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("classed_by", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index("ix_documents_classed", "classed_at", "id"),
    sa.Index("ix_documents_live", "datasource", "id", sqlite_where=LIVE, postgresql_where=LIVE),
    sqlite_autoincrement=True,
)

sa.Index(
    "ix_documents_eviction",
    documents.c.locked,
    documents.c.rank,
    documents.c.updated_at,
    sqlite_where=LIVE,
    postgresql_where=LIVE,
)

sa.Index("ix_documents_class", documents.c.access_class, documents.c.id, sqlite_where=CLASSED, postgresql_where=CLASSED)

events = sa.Table(
    "events",
    metadata,
    sa.Column("document_id", ID, primary_key=True, autoincrement=False),
    sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("feed_id", sa.BigInteger),
    sa.Column("line", sa.BigInteger, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)

# the earlier access classes of documents
past_classes = sa.Table(
    "past_classes",
    metadata,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("document_id", sa.BigInteger, nullable=False),
    sa.Column("access_class", sa.BigInteger, nullable=False, index=True),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("begun_by", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    sa.Column("ended_by", sa.BigInteger, nullable=False),
    sa.Index(None, "document_id", "until"),
    sa.Index(None, "until", "document_id"),
    sqlite_autoincrement=True,
)

index_tasks = sa.Table(
    "index_tasks",
    metadata,
    sa.Column("document_id", ID, primary_key=True, autoincrement=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("lane", sa.Integer, nullable=False),
    sa.Column("feed_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("datasource", sa.Text, nullable=False),
    sa.Column("revokes_access", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("is_refresh", sa.Boolean(create_constraint=False), server_default=sa.false(), nullable=False),
    sa.Column("queued_at", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index(None, "stage", "lane", "feed_id", "document_id"),
)

# Feeds whose index task of a document was replaced by a later feed's task. Their changes are not in the index either.
replaced_tasks = sa.Table(
    "replaced_tasks",
    metadata,
    sa.Column("document_id", ID, primary_key=True, autoincrement=False),
    sa.Column("feed_id", sa.BigInteger, primary_key=True, autoincrement=False, index=True),
    sa.Column("revokes_access", sa.Boolean(create_constraint=False), nullable=False),
)

# Anchor texts by target and source document, and documents that are queued for work on anchor texts.
link_texts = sa.Table(
    "link_texts",
    metadata,
    sa.Column("target_id", ID, primary_key=True, autoincrement=False),
    sa.Column("source_id", ID, primary_key=True, autoincrement=False, index=True),
    sa.Column("text", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)

link_queue = sa.Table(
    "link_queue",
    metadata,
    sa.Column("work", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("document_id", ID, primary_key=True, autoincrement=False),
    sa.Column("queued_at", sa.BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
