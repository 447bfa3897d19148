"""The crawl queue: its entries and their sites."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
ORDERED_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

LEASABLE = sa.text("lease_owner = '' AND due_at IS NOT NULL")
LEASED = sa.text("lease_owner <> ''")
WITH_CHECKSUM = sa.text("checksum IS NOT NULL")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "crawl_sites",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("site_digest", sa.LargeBinary(), nullable=False),
        sa.Column("urgency", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("free_at", sa.BigInteger(), nullable=False),
        sa.Column("retry_at", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=False),
        sa.Column("lease_expires_at", sa.BigInteger(), nullable=True),
        sa.Column("robots_at", sa.BigInteger(), nullable=True),
        sa.Column("robots_state", sa.Integer(), nullable=False),
        sa.Column("robots", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crawl_sites")),
        sa.UniqueConstraint("site_digest", name=op.f("uq_crawl_sites_site_digest")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_crawl_sites_urgency_due_at"), "crawl_sites", ["urgency", "due_at"])
    op.create_table(
        "crawl_entries",
        sa.Column("url_digest", sa.LargeBinary(), nullable=False),
        sa.Column("url_start", ORDERED_TEXT, nullable=False),
        sa.Column("url_rest", ORDERED_TEXT, nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=False),
        sa.Column("urgency", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("lease_owner", sa.Text(), nullable=False),
        sa.Column("lease_expires_at", sa.BigInteger(), nullable=True),
        sa.Column("is_renewed", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("pagerank", sa.Integer(), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("is_once", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("referrer", sa.Text(), nullable=False),
        sa.Column("state", sa.Integer(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("interval_seconds", sa.BigInteger(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=False),
        sa.Column("modified", sa.Text(), nullable=False),
        sa.Column("checksum", sa.LargeBinary(), nullable=True),
        sa.Column("changed_at", sa.BigInteger(), nullable=True),
        sa.Column("crawled_at", sa.BigInteger(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", sa.BigInteger(), nullable=True),
        sa.Column("history", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("url_digest", name=op.f("pk_crawl_entries")),
    )
    op.create_index(op.f("ix_crawl_entries_url_start"), "crawl_entries", ["url_start"])
    op.create_index(op.f("ix_crawl_entries_site_id_state"), "crawl_entries", ["site_id", "state"])
    for name, columns, condition in (
        ("next", ["site_id", "urgency", "priority", "due_at"], LEASABLE),
        ("due", ["due_at"], LEASABLE),
        ("checksum", ["checksum"], WITH_CHECKSUM),
        ("leased", ["lease_owner", "lease_expires_at"], LEASED),
    ):
        op.create_index(f"ix_crawl_entries_{name}", "crawl_entries", columns, sqlite_where=condition, postgresql_where=condition)
