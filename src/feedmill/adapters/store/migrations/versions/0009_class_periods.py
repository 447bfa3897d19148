"""The earlier access classes of documents, and the time from which the history is complete."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.add_column("documents", sa.Column("classed_at", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("documents", sa.Column("classed_by", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index("ix_documents_classed", "documents", ["classed_at", "id"])
    op.create_table(
        "past_classes",
        sa.Column("number", _ID, autoincrement=True, nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("access_class", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("begun_by", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("ended_by", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_past_classes")),
        sqlite_autoincrement=True,
    )
    for columns in (["document_id", "until"], ["until", "document_id"], ["access_class"]):
        op.create_index(op.f(f"ix_past_classes_{'_'.join(columns)}"), "past_classes", columns)
    for table in ("documents", "acls", "group_layers"):
        if op.get_bind().execute(sa.text(f"SELECT 1 FROM {table} LIMIT 1")).first() is not None:  # noqa: S608 - no value from outside
            put = "INSERT INTO facts (name, value) VALUES ('history.since', :now) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            op.get_bind().execute(sa.text(put), {"now": datetime.now(UTC).isoformat()})
            break
