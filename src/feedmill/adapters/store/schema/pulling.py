"""The tables of pull sources, their runs and their items."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

pull_sources = sa.Table(
    "pull_sources",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sa.Column("is_paused", sa.Boolean, nullable=False),
    sa.Column("lease_owner", sa.Text, nullable=False),
    sa.Column("lease_expires_at", sa.BigInteger),
    sa.Column("listing", sa.BigInteger, nullable=False),
    sa.Column("since", sa.Text, nullable=False),
    sa.Column("completed_at", sa.BigInteger),
    sa.Column("full_at", sa.BigInteger),
    sa.Column("tried_at", sa.BigInteger),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("failed_at", sa.BigInteger),
)

pull_runs = sa.Table(
    "pull_runs",
    metadata,
    sa.Column("id", ID, primary_key=True, autoincrement=True),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("is_full", sa.Boolean, nullable=False),
    sa.Column("is_dry", sa.Boolean, nullable=False),
    sa.Column("is_forced", sa.Boolean, nullable=False),
    sa.Column("mode", sa.Text),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("requested_at", sa.BigInteger, nullable=False),
    sa.Column("started_at", sa.BigInteger),
    sa.Column("finished_at", sa.BigInteger),
    sa.Column("added", sa.BigInteger, nullable=False),
    sa.Column("changed", sa.BigInteger, nullable=False),
    sa.Column("deleted", sa.BigInteger, nullable=False),
    sa.Column("unchanged", sa.BigInteger, nullable=False),
    sa.Column("errors", sa.BigInteger, nullable=False),
    sa.Column("held", sa.BigInteger, nullable=False),
    sa.Column("known", sa.BigInteger, nullable=False),
    sa.Column("listing", sa.BigInteger, nullable=False),
    sa.Column("first_listing", sa.BigInteger, nullable=False),
    sa.Column("unnamed", sa.BigInteger, nullable=False),
    sa.Column("checkpoint", sa.Text, nullable=False),
    sa.Column("since", sa.Text, nullable=False),
    sa.Column("restarts", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("log", sa.Text, nullable=False),
    sa.Index(None, "source", "id"),
    sa.Index(None, "state"),
    sqlite_autoincrement=True,
)

# what the runs of a source have applied, by the digest of the URL
pull_items = sa.Table(
    "pull_items",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("url_digest", sa.LargeBinary, primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("listing", sa.BigInteger, nullable=False),
    sa.Column("is_deleted", sa.Boolean, nullable=False),
)

# what the dry run in progress has read of a source; empty between runs
pull_dry_items = sa.Table(
    "pull_dry_items",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("url_digest", sa.LargeBinary, primary_key=True),
    sa.Column("is_deleted", sa.Boolean, nullable=False),
)
