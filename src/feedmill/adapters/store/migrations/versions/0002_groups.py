"""The groups database, and a queue of its own for its feeds."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.add_column("feeds", sa.Column("queue", sa.Text(), server_default="", nullable=False))
    op.execute("UPDATE feeds SET queue = datasource")
    op.create_table(
        "group_sources",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("memberships", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_group_sources")),
    )
    op.create_table(
        "group_layers",
        sa.Column("feed_id", _ID, autoincrement=False, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("memberships", sa.BigInteger(), nullable=False),
        sa.Column("replaced", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("feed_id", name=op.f("pk_group_layers")),
    )
    op.create_index(op.f("ix_group_layers_source_state"), "group_layers", ["source", "state"])
    op.create_table(
        "group_definitions",
        sa.Column("id", _ID, autoincrement=False, nullable=False),
        sa.Column("feed_id", sa.BigInteger(), nullable=False),
        sa.Column("group_digest", sa.LargeBinary(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("memberships", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_group_definitions")),
    )
    op.create_index(op.f("ix_group_definitions_feed_id"), "group_definitions", ["feed_id"])
    op.create_index("ix_group_definitions_group", "group_definitions", ["group_digest", "feed_id"], unique=True)
    op.create_table(
        "group_members",
        sa.Column("definition_id", _ID, autoincrement=False, nullable=False),
        sa.Column("member_digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("definition_id", "member_digest", name=op.f("pk_group_members")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_group_members_member_digest_definition_id"), "group_members", ["member_digest", "definition_id"])
