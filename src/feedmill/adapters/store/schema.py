"""The tables, as both databases have them.

Rules: a URL is found by its digest, since no database indexes texts of any length; times are microseconds since the epoch in UTC,
so that both databases order and compare them alike; enumerations are their wire texts; what is only ever read whole (metadata,
principals, what extraction found) is one JSON text. ``migrations`` sums up to exactly this, which a test holds.
"""

import sqlalchemy as sa

from feedmill.core.urldigest import digest_of_url

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

# Literal texts, because a database uses a partial index only for a condition that it can compare with the index's own.
UNAPPLIED = sa.text("phase IN ('scan', 'apply', 'sweep')")
UNSETTLED = sa.text("phase IN ('settle', 'done') AND searchable_at IS NULL")
LIVE = sa.text("state = 'live'")
CLASSED = sa.text("access_class > 1")

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def digest(url: str) -> bytes:
    """Gives the 16 bytes by which a URL is found."""
    return digest_of_url(url)


datasources = sa.Table(
    "datasources",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
)

feeds = sa.Table(
    "feeds",
    metadata,
    sa.Column("id", _Id, primary_key=True, autoincrement=True),
    sa.Column("datasource", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("file", sa.Text, nullable=False),
    sa.Column("repaired_file", sa.Text),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("client", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("phase", sa.Text, nullable=False),
    sa.Column("records", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("applied", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("included", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("errors", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("acls", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("logged", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("finished_at", sa.BigInteger),
    sa.Column("searchable_at", sa.BigInteger),
    sa.Column("claimed_by", sa.Text),
    sa.Column("claimed_until", sa.BigInteger),
    sa.Column("queue", sa.Text, nullable=False, server_default=""),
    sa.Index(None, "datasource", "id"),
    sqlite_autoincrement=True,
)
sa.Index("ix_feeds_unapplied", feeds.c.id, sqlite_where=UNAPPLIED, postgresql_where=UNAPPLIED)
sa.Index("ix_feeds_unsettled", feeds.c.id, sqlite_where=UNSETTLED, postgresql_where=UNSETTLED)

feed_log = sa.Table(
    "feed_log",
    metadata,
    sa.Column("feed_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("record", sa.BigInteger, nullable=False),
    sa.Column("line", sa.BigInteger, nullable=False),
    sa.Column("url", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
)

documents = sa.Table(
    "documents",
    metadata,
    sa.Column("id", _Id, primary_key=True, autoincrement=True),
    sa.Column("url_digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("datasource", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("feed_id", sa.BigInteger, nullable=False),
    sa.Column("seen_feed_id", sa.BigInteger, nullable=False),
    sa.Column("secure", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("locked", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("attributes", sa.Text, nullable=False),
    sa.Column("metadata", sa.Text, nullable=False),
    sa.Column("content", sa.Text),
    sa.Column("content_bytes", sa.BigInteger, nullable=False),
    sa.Column("charset", sa.Text),
    sa.Column("text", sa.Text),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("events", sa.Integer, nullable=False),
    sa.Column("access_class", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("classed_at", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("classed_by", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index("ix_documents_classed", "classed_at", "id"),
    sa.Index("ix_documents_live", "datasource", "id", sqlite_where=LIVE, postgresql_where=LIVE),
    sqlite_autoincrement=True,
)
sa.Index(
    "ix_documents_eviction",
    documents.c.locked,
    documents.c.rank,
    documents.c.updated_at,
    sqlite_where=LIVE,
    postgresql_where=LIVE,
)
sa.Index("ix_documents_class", documents.c.access_class, documents.c.id, sqlite_where=CLASSED, postgresql_where=CLASSED)

events = sa.Table(
    "events",
    metadata,
    sa.Column("document_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("feed_id", sa.BigInteger),
    sa.Column("line", sa.BigInteger, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)

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

# Every ACL that a URL has had: what whoever holds ACLs in memory has to take up, and who could see what at a time.
acl_versions = sa.Table(
    "acl_versions",
    metadata,
    sa.Column("number", _Id, primary_key=True, autoincrement=True),
    sa.Column("url_digest", sa.LargeBinary, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("access_class", sa.BigInteger, index=True),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
    sa.Column("feed_id", sa.BigInteger, nullable=False),
    sa.Index(None, "url_digest", "number"),
    sqlite_autoincrement=True,
)

# Numbers are never used again, since the index may still hold one whose class is gone. ``keys`` is made of ``entries``, to be read fast.
access_classes = sa.Table(
    "access_classes",
    metadata,
    sa.Column("number", _Id, primary_key=True, autoincrement=False),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("inheritance_type", sa.Text),
    sa.Column("inherit_from", sa.Text),
    sa.Column("entries", sa.Text, nullable=False),
    sa.Column("keys", sa.LargeBinary, nullable=False),
    sa.Column("rule", sa.BigInteger, nullable=False),
)

# A pattern keeps its number for good, since classes hold it; one without a place is not in force.
policies = sa.Table(
    "policies",
    metadata,
    sa.Column("number", _Id, primary_key=True, autoincrement=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("pattern", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("place", sa.BigInteger),
    sa.Column("entries", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)

# The classes that documents were in before the one that they are in.
past_classes = sa.Table(
    "past_classes",
    metadata,
    sa.Column("number", _Id, primary_key=True, autoincrement=True),
    sa.Column("document_id", sa.BigInteger, nullable=False),
    sa.Column("access_class", sa.BigInteger, nullable=False, index=True),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("begun_by", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    sa.Column("ended_by", sa.BigInteger, nullable=False),
    sa.Index(None, "document_id", "until"),
    sa.Index(None, "until", "document_id"),
    sqlite_autoincrement=True,
)

marks = sa.Table(
    "marks",
    metadata,
    sa.Column("document_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("lane", sa.Integer, nullable=False),
    sa.Column("feed_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("datasource", sa.Text, nullable=False),
    sa.Column("tightens", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("repeats", sa.Boolean(create_constraint=False), server_default=sa.false(), nullable=False),
    sa.Index(None, "stage", "lane", "feed_id", "document_id"),
)

# Feeds whose mark of a document a later feed's mark has replaced: what they changed is not in the index either.
overtaken_marks = sa.Table(
    "overtaken_marks",
    metadata,
    sa.Column("document_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("feed_id", sa.BigInteger, primary_key=True, autoincrement=False, index=True),
    sa.Column("tightens", sa.Boolean(create_constraint=False), nullable=False),
)

# Anchor texts by the document that they lead to and the one in which they stand, and documents that wait for work on theirs.
link_texts = sa.Table(
    "link_texts",
    metadata,
    sa.Column("target_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("source_id", _Id, primary_key=True, autoincrement=False, index=True),
    sa.Column("text", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)

link_queue = sa.Table(
    "link_queue",
    metadata,
    sa.Column("work", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("document_id", _Id, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

facts = sa.Table(
    "facts",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# What was set by API and wins over the file: an entry of a section, as JSON; the version counts its changes.
kept_settings = sa.Table(
    "kept_settings",
    metadata,
    sa.Column("section", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
)

# The groups database: one layer a feed, from which the feed's definitions come; a layer is seen as a whole or not at all, and of several
# definitions of one group in layers of one source that are seen, the one of the newest feed counts.
group_sources = sa.Table(
    "group_sources",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("memberships", sa.BigInteger, nullable=False),
)

group_layers = sa.Table(
    "group_layers",
    metadata,
    sa.Column("feed_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("whole", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("memberships", sa.BigInteger, nullable=False),
    sa.Column("replaced", sa.BigInteger, nullable=False),
    sa.Index(None, "source", "state"),
)

group_definitions = sa.Table(
    "group_definitions",
    metadata,
    sa.Column("id", _Id, primary_key=True, autoincrement=False),
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
    sa.Column("definition_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("member_digest", sa.LargeBinary, primary_key=True, autoincrement=False),
    sa.Index(None, "member_digest", "definition_id"),
    sqlite_with_rowid=False,
)

# Which policy ACLs were in force from a time on, all of them as JSON.
policy_versions = sa.Table(
    "policy_versions",
    metadata,
    sa.Column("number", _Id, primary_key=True, autoincrement=True),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
    sa.Column("policies", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)

# How groups were before: what each published feed changed in who is in which group, all sources together. A change without a member is a
# group that had none before. A name's feed is the newest that changed the group.
group_publications = sa.Table(
    "group_publications",
    metadata,
    sa.Column("feed_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
)

group_names = sa.Table(
    "group_names",
    metadata,
    sa.Column("number", _Id, primary_key=True, autoincrement=True),
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
    sa.Column("group_number", _Id, primary_key=True, autoincrement=False),
    sa.Column("feed_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("gained", sa.Boolean(create_constraint=False), nullable=False),
    sqlite_with_rowid=False,
)

# Signing in: passwords as argon2 hashes, what cookies and tokens hold as SHA-256; credentials are one JSON text.
accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("namespace", sa.Text, primary_key=True),
    sa.Column("account_key", sa.Text, primary_key=True, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("domain", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("password_hash", sa.Text, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("credentials", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)

session_marks = sa.Table(
    "session_marks",
    metadata,
    sa.Column("mark", sa.LargeBinary, primary_key=True),
    sa.Column("digest", sa.LargeBinary, primary_key=True, index=True),
)

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    sa.Column("id", _Id, primary_key=True, autoincrement=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("namespace", sa.Text),
    sa.Column("account_key", sa.Text),
    sa.Column("name", sa.Text),
    sa.Column("domain", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("used_at", sa.BigInteger),
)

one_times = sa.Table(
    "one_times",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)
