"""Which crawled URLs are duplicates of another one, and which sitemaps of a site are still to be read."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

WITH_CHECKSUM = sa.text("checksum IS NOT NULL")
DUPLICATES = sa.text("original_digest IS NOT NULL")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.add_column("crawl_entries", sa.Column("duplicate_of", sa.Text(), server_default="", nullable=False))
    op.add_column("crawl_entries", sa.Column("original_digest", sa.LargeBinary(), nullable=True))
    op.add_column("crawl_sites", sa.Column("sitemaps", sa.Text(), server_default="[]", nullable=False))
    op.drop_index("ix_crawl_entries_checksum", "crawl_entries")
    for name, columns, condition in (
        ("checksum", ["checksum", "original_digest", "added_at"], WITH_CHECKSUM),
        ("duplicates", ["original_digest"], DUPLICATES),
    ):
        op.create_index(f"ix_crawl_entries_{name}", "crawl_entries", columns, sqlite_where=condition, postgresql_where=condition)
