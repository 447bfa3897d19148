"""The tables of feeds, their logs and the data sources."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

# Literal texts: a database uses a partial index only for a condition that it can compare with the index's own.
UNAPPLIED = sa.text("phase IN ('scan', 'apply', 'sweep')")
UNSETTLED = sa.text("phase IN ('settle', 'done') AND searchable_at IS NULL")

datasources = sa.Table(
    "datasources",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
)

feeds = sa.Table(
    "feeds",
    metadata,
    sa.Column("id", ID, primary_key=True, autoincrement=True),
    sa.Column("datasource", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("file", sa.Text, nullable=False),
    sa.Column("repaired_file", sa.Text),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("client", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("phase", sa.Text, nullable=False),
    sa.Column("records", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("applied", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("included", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("errors", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("acls", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("logged", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("finished_at", sa.BigInteger),
    sa.Column("searchable_at", sa.BigInteger),
    sa.Column("lease_owner", sa.Text),
    sa.Column("lease_expires_at", sa.BigInteger),
    sa.Column("queue", sa.Text, nullable=False, server_default=""),
    sa.Column("late_logged", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("moved_at", sa.BigInteger),
    sa.Column("reached", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("failure", sa.Text),
    sa.Column("format", sa.Text, nullable=False, server_default=""),
    sa.Index(None, "datasource", "id"),
    sqlite_autoincrement=True,
)

sa.Index("ix_feeds_unapplied", feeds.c.id, sqlite_where=UNAPPLIED, postgresql_where=UNAPPLIED)

sa.Index("ix_feeds_unsettled", feeds.c.id, sqlite_where=UNSETTLED, postgresql_where=UNSETTLED)

feed_log = sa.Table(
    "feed_log",
    metadata,
    sa.Column("feed_id", ID, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("record", sa.BigInteger, nullable=False),
    sa.Column("line", sa.BigInteger, nullable=False),
    sa.Column("url", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
)
