"""Pull sources, their runs, and what these have applied."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "pull_sources",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("is_paused", sa.Boolean(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=False),
        sa.Column("lease_expires_at", sa.BigInteger(), nullable=True),
        sa.Column("listing", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.Column("completed_at", sa.BigInteger(), nullable=True),
        sa.Column("full_at", sa.BigInteger(), nullable=True),
        sa.Column("tried_at", sa.BigInteger(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("source", name=op.f("pk_pull_sources")),
    )
    op.create_table(
        "pull_runs",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("is_full", sa.Boolean(), nullable=False),
        sa.Column("is_dry", sa.Boolean(), nullable=False),
        sa.Column("is_forced", sa.Boolean(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("requested_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("added", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.BigInteger(), nullable=False),
        sa.Column("unchanged", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("held", sa.BigInteger(), nullable=False),
        sa.Column("known", sa.BigInteger(), nullable=False),
        sa.Column("listing", sa.BigInteger(), nullable=False),
        sa.Column("first_listing", sa.BigInteger(), nullable=False),
        sa.Column("unnamed", sa.BigInteger(), nullable=False),
        sa.Column("checkpoint", sa.Text(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.Column("restarts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pull_runs")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_pull_runs_source_id"), "pull_runs", ["source", "id"])
    op.create_index(op.f("ix_pull_runs_state"), "pull_runs", ["state"])
    op.create_table(
        "pull_items",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("url_digest", sa.LargeBinary(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("listing", sa.BigInteger(), nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("source", "url_digest", name=op.f("pk_pull_items")),
    )
