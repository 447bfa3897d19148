"""Tables and columns under the names that the program uses for what they hold.

Only names change: no row is copied. SQLite cannot rename an index, so it builds those of the renamed tables again; these tables hold what
waits for the index, groups feeds, sessions and one-time values, so they are small. Their primary keys have their earlier names in SQLite,
which shows them nowhere.
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_TABLES = {
    "marks": "index_tasks",
    "overtaken_marks": "replaced_tasks",
    "facts": "key_values",
    "kept_settings": "stored_settings",
    "group_layers": "group_snapshots",
    "session_marks": "session_digests",
    "one_times": "one_time_values",
}
_COLUMNS = (
    ("index_tasks", "tightens", "revokes_access"),
    ("index_tasks", "repeats", "is_refresh"),
    ("replaced_tasks", "tightens", "revokes_access"),
    ("group_snapshots", "whole", "is_full"),
    ("group_snapshots", "replaced", "replaced_memberships"),
    ("session_digests", "digest", "session_digest"),
    ("session_digests", "mark", "digest"),
    ("access_classes", "rule", "policy_number"),
    ("policies", "place", "position"),
    ("feeds", "claimed_by", "lease_owner"),
    ("feeds", "claimed_until", "lease_expires_at"),
)
_INDEXES = (
    ("ix_marks_feed_id", "index_tasks", ("feed_id",)),
    ("ix_marks_stage_lane_feed_id_document_id", "index_tasks", ("stage", "lane", "feed_id", "document_id")),
    ("ix_overtaken_marks_feed_id", "replaced_tasks", ("feed_id",)),
    ("ix_group_layers_source_state", "group_snapshots", ("source", "state")),
    ("ix_session_marks_digest", "session_digests", ("session_digest",)),
    ("ix_one_times_expires_at", "one_time_values", ("expires_at",)),
)


def upgrade() -> None:
    """Brings the schema to this revision."""
    is_postgres = op.get_bind().dialect.name == "postgresql"
    for old, new in _TABLES.items():
        op.rename_table(old, new)
        if is_postgres:
            op.execute(f"ALTER TABLE {new} RENAME CONSTRAINT pk_{old} TO pk_{new}")
    for table, old, new in _COLUMNS:
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    for old, table, columns in _INDEXES:
        new = f"ix_{table}_{'_'.join(columns)}"
        if is_postgres:
            op.execute(f"ALTER INDEX {old} RENAME TO {new}")
        else:
            op.drop_index(old, table_name=table)
            op.create_index(new, table, list(columns))
