"""The tables of the groups database and of earlier memberships."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

# The groups database: each feed has one group snapshot with its definitions. A snapshot is visible completely or not at all. If several
# visible snapshots of a source define one group, the definition of the newest feed counts.
group_sources = sa.Table(
    "group_sources",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("memberships", sa.BigInteger, nullable=False),
)

group_snapshots = sa.Table(
    "group_snapshots",
    metadata,
    sa.Column("feed_id", ID, primary_key=True, autoincrement=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("is_full", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("memberships", sa.BigInteger, nullable=False),
    sa.Column("replaced_memberships", sa.BigInteger, nullable=False),
    sa.Index(None, "source", "state"),
)

group_definitions = sa.Table(
    "group_definitions",
    metadata,
    sa.Column("id", ID, primary_key=True, autoincrement=False),
    sa.Column("feed_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("group_digest", sa.LargeBinary, nullable=False),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("domain", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("memberships", sa.BigInteger, nullable=False),
    sa.Column("members_digest", sa.LargeBinary),
    sa.Index("ix_group_definitions_group", "group_digest", "feed_id", unique=True),
)

group_members = sa.Table(
    "group_members",
    metadata,
    sa.Column("definition_id", ID, primary_key=True, autoincrement=False),
    sa.Column("member_digest", sa.LargeBinary, primary_key=True, autoincrement=False),
    sa.Index(None, "member_digest", "definition_id"),
    sqlite_with_rowid=False,
)

# Earlier memberships: what each published feed changed, all sources united. A change without a member means that the group had no members
# before. A name's feed is the newest feed that changed the group.
group_publications = sa.Table(
    "group_publications",
    metadata,
    sa.Column("feed_id", ID, primary_key=True, autoincrement=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
)

group_names = sa.Table(
    "group_names",
    metadata,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("group_digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("domain", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("feed_id", sa.BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

group_changes = sa.Table(
    "group_changes",
    metadata,
    sa.Column("member_digest", sa.LargeBinary, primary_key=True, autoincrement=False),
    sa.Column("group_number", ID, primary_key=True, autoincrement=False),
    sa.Column("feed_id", ID, primary_key=True, autoincrement=False),
    sa.Column("gained", sa.Boolean(create_constraint=False), nullable=False),
    sqlite_with_rowid=False,
)
