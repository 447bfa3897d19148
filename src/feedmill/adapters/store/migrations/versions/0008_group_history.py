"""Earlier group memberships."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.add_column("group_definitions", sa.Column("members_digest", sa.LargeBinary(), nullable=True))
    op.create_table(
        "group_publications",
        sa.Column("feed_id", _ID, autoincrement=False, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("feed_id", name=op.f("pk_group_publications")),
    )
    op.create_index(op.f("ix_group_publications_at"), "group_publications", ["at"])
    op.create_table(
        "group_names",
        sa.Column("number", _ID, autoincrement=True, nullable=False),
        sa.Column("group_digest", sa.LargeBinary(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("feed_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_group_names")),
        sa.UniqueConstraint("group_digest", name=op.f("uq_group_names_group_digest")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "group_changes",
        sa.Column("member_digest", sa.LargeBinary(), nullable=False),
        sa.Column("group_number", _ID, autoincrement=False, nullable=False),
        sa.Column("feed_id", _ID, autoincrement=False, nullable=False),
        sa.Column("gained", sa.Boolean(create_constraint=False), nullable=False),
        sa.PrimaryKeyConstraint("member_digest", "group_number", "feed_id", name=op.f("pk_group_changes")),
        sqlite_with_rowid=False,
    )
