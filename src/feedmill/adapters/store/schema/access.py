"""The tables of ACLs, access classes and policy ACLs, with their earlier versions."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

acls = sa.Table(
    "acls",
    metadata,
    sa.Column("url_digest", sa.LargeBinary, primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("datasource", sa.Text, nullable=False, index=True),
    sa.Column("feed_id", sa.BigInteger, nullable=False),
    sa.Column("seen_feed_id", sa.BigInteger, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("inheritance_type", sa.Text, nullable=False),
    sa.Column("inherit_from", sa.Text),
    sa.Column("entries", sa.Text, nullable=False),
    sa.Column("access_class", sa.BigInteger, nullable=False, server_default="0", index=True),
)

# Every ACL that a URL has had. Processes with ACLs in memory read the changes here, and the history reads the ACLs of a time.
acl_versions = sa.Table(
    "acl_versions",
    metadata,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("url_digest", sa.LargeBinary, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("access_class", sa.BigInteger, index=True),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
    sa.Column("feed_id", sa.BigInteger, nullable=False),
    sa.Index(None, "url_digest", "number"),
    sqlite_autoincrement=True,
)

# Numbers are never reused, since the index may still hold the number of a removed class. ``keys`` is derived from ``entries``, for speed.
access_classes = sa.Table(
    "access_classes",
    metadata,
    sa.Column("number", ID, primary_key=True, autoincrement=False),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("inheritance_type", sa.Text),
    sa.Column("inherit_from", sa.Text),
    sa.Column("entries", sa.Text, nullable=False),
    sa.Column("keys", sa.LargeBinary, nullable=False),
    sa.Column("policy_number", sa.BigInteger, nullable=False),
)

# A pattern keeps its number for ever, since classes refer to it. A pattern without a position is not in force.
policies = sa.Table(
    "policies",
    metadata,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("pattern", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("position", sa.BigInteger),
    sa.Column("entries", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)

# the policy ACLs in force from a time on, all of them as JSON
policy_versions = sa.Table(
    "policy_versions",
    metadata,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
    sa.Column("policies", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)
