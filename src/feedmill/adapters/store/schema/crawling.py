"""The tables of the crawl queue: one row for each URL, and one for each site.

A URL is stored in two parts, since no database indexes texts of any length: its beginning is indexed, so that entries are listed by URL.
``priority`` orders the entries of a site that are equally urgent: the best pagerank first. It is 0 for those that are due by their
schedule, so that the index finds which of them are due.

The ``urgency`` and ``due_at`` of a site are bounds: no entry that could be leased is more urgent, or due earlier.
"""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

# Literal texts: a database uses a partial index only for a condition that it can compare with the index's own.
LEASABLE = sa.text("lease_owner = '' AND due_at IS NOT NULL")
LEASED = sa.text("lease_owner <> ''")
WITH_CHECKSUM = sa.text("checksum IS NOT NULL")
DUPLICATES = sa.text("original_digest IS NOT NULL")

# PostgreSQL orders these texts as SQLite does, by their bytes
_ORDERED_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

crawl_sites = sa.Table(
    "crawl_sites",
    metadata,
    sa.Column("id", ID, primary_key=True, autoincrement=True),
    sa.Column("site", sa.Text, nullable=False),
    sa.Column("site_digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("urgency", sa.Integer, nullable=False),
    sa.Column("due_at", sa.BigInteger),
    sa.Column("free_at", sa.BigInteger, nullable=False),
    sa.Column("retry_at", sa.BigInteger, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("failed_at", sa.BigInteger),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("lease_owner", sa.Text, nullable=False),
    sa.Column("lease_expires_at", sa.BigInteger),
    sa.Column("robots_at", sa.BigInteger),
    sa.Column("robots_state", sa.Integer, nullable=False),
    sa.Column("robots", sa.LargeBinary, nullable=False),
    sa.Column("sitemaps", sa.Text, nullable=False, server_default="[]"),
    sa.Index(None, "urgency", "due_at"),
    sqlite_autoincrement=True,
)

crawl_entries = sa.Table(
    "crawl_entries",
    metadata,
    sa.Column("url_digest", sa.LargeBinary, primary_key=True),
    sa.Column("url_start", _ORDERED_TEXT, nullable=False),
    sa.Column("url_rest", _ORDERED_TEXT, nullable=False),
    sa.Column("site_id", sa.BigInteger, nullable=False),
    sa.Column("urgency", sa.Integer, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("due_at", sa.BigInteger),
    sa.Column("lease_owner", sa.Text, nullable=False),
    sa.Column("lease_expires_at", sa.BigInteger),
    sa.Column("is_renewed", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("pagerank", sa.Integer),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("is_once", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("referrer", sa.Text, nullable=False),
    sa.Column("state", sa.Integer, nullable=False),
    sa.Column("added_at", sa.BigInteger, nullable=False),
    sa.Column("interval_seconds", sa.BigInteger, nullable=False),
    sa.Column("etag", sa.Text, nullable=False),
    sa.Column("modified", sa.Text, nullable=False),
    sa.Column("checksum", sa.LargeBinary),
    sa.Column("changed_at", sa.BigInteger),
    sa.Column("crawled_at", sa.BigInteger),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("failed_at", sa.BigInteger),
    sa.Column("history", sa.Text, nullable=False),
    sa.Column("duplicate_of", sa.Text, nullable=False, server_default=""),
    sa.Column("original_digest", sa.LargeBinary),
    sa.Index(None, "url_start"),
    sa.Index(None, "site_id", "state"),
    sa.Index(
        "ix_crawl_entries_next",
        *("site_id", "urgency", "priority", "due_at"),
        sqlite_where=LEASABLE,
        postgresql_where=LEASABLE,
    ),
    sa.Index("ix_crawl_entries_due", "due_at", sqlite_where=LEASABLE, postgresql_where=LEASABLE),
    sa.Index(
        "ix_crawl_entries_checksum",
        *("checksum", "original_digest", "added_at"),
        sqlite_where=WITH_CHECKSUM,
        postgresql_where=WITH_CHECKSUM,
    ),
    sa.Index("ix_crawl_entries_duplicates", "original_digest", sqlite_where=DUPLICATES, postgresql_where=DUPLICATES),
    sa.Index("ix_crawl_entries_leased", "lease_owner", "lease_expires_at", sqlite_where=LEASED, postgresql_where=LEASED),
)
