"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "acls",
        sa.Column("url_digest", sa.LargeBinary(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("datasource", sa.Text(), nullable=False),
        sa.Column("feed_id", sa.BigInteger(), nullable=False),
        sa.Column("seen_feed_id", sa.BigInteger(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("inheritance_type", sa.Text(), nullable=False),
        sa.Column("inherit_from", sa.Text(), nullable=True),
        sa.Column("entries", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("url_digest", name=op.f("pk_acls")),
    )
    with op.batch_alter_table("acls", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_acls_datasource"), ["datasource"], unique=False)

    op.create_table(
        "datasources",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_datasources")),
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("url_digest", sa.LargeBinary(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("datasource", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("feed_id", sa.BigInteger(), nullable=False),
        sa.Column("seen_feed_id", sa.BigInteger(), nullable=False),
        sa.Column("secure", sa.Boolean(), nullable=False),
        sa.Column("locked", sa.Boolean(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("content_bytes", sa.BigInteger(), nullable=False),
        sa.Column("charset", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("url_digest", name=op.f("uq_documents_url_digest")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("documents", schema=None) as batch_op:
        batch_op.create_index(
            "ix_documents_eviction",
            ["locked", "rank", "updated_at"],
            unique=False,
            sqlite_where=sa.text("state = 'live'"),
            postgresql_where=sa.text("state = 'live'"),
        )
        batch_op.create_index(
            "ix_documents_live",
            ["datasource", "id"],
            unique=False,
            sqlite_where=sa.text("state = 'live'"),
            postgresql_where=sa.text("state = 'live'"),
        )

    op.create_table(
        "events",
        sa.Column("document_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("feed_id", sa.BigInteger(), nullable=True),
        sa.Column("line", sa.BigInteger(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("document_id", "slot", name=op.f("pk_events")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_facts")),
    )
    op.create_table(
        "feed_log",
        sa.Column("feed_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("record", sa.BigInteger(), nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("feed_id", "number", name=op.f("pk_feed_log")),
    )
    op.create_table(
        "feeds",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("datasource", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("repaired_file", sa.Text(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("records", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("applied", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("included", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("errors", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("acls", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("logged", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("searchable_at", sa.BigInteger(), nullable=True),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("claimed_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feeds")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("feeds", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_feeds_datasource_id"), ["datasource", "id"], unique=False)
        batch_op.create_index(
            "ix_feeds_unapplied",
            ["id"],
            unique=False,
            sqlite_where=sa.text("phase IN ('scan', 'apply', 'sweep')"),
            postgresql_where=sa.text("phase IN ('scan', 'apply', 'sweep')"),
        )
        batch_op.create_index(
            "ix_feeds_unsettled",
            ["id"],
            unique=False,
            sqlite_where=sa.text("phase IN ('settle', 'done') AND searchable_at IS NULL"),
            postgresql_where=sa.text("phase IN ('settle', 'done') AND searchable_at IS NULL"),
        )

    op.create_table(
        "marks",
        sa.Column("document_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("lane", sa.Integer(), nullable=False),
        sa.Column("feed_id", sa.BigInteger(), nullable=False),
        sa.Column("datasource", sa.Text(), nullable=False),
        sa.Column("tightens", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_marks")),
    )
    with op.batch_alter_table("marks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_marks_feed_id"), ["feed_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_marks_stage_lane_feed_id_document_id"), ["stage", "lane", "feed_id", "document_id"], unique=False
        )

    op.create_table(
        "overtaken_marks",
        sa.Column("document_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("feed_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tightens", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("document_id", "feed_id", name=op.f("pk_overtaken_marks")),
    )
    with op.batch_alter_table("overtaken_marks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_overtaken_marks_feed_id"), ["feed_id"], unique=False)
