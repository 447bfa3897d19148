"""Classes of documents by their access keys, and versions of ACLs."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from feedmill.adapters.store import rows
from feedmill.adapters.store.access import SqlAcls, SqlClasses
from feedmill.adapters.store.indextasks import SqlKeyValueStore

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_AT_ONCE = 2_000


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.create_table(
        "access_classes",
        sa.Column("number", _ID, autoincrement=False, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("inheritance_type", sa.Text(), nullable=True),
        sa.Column("inherit_from", sa.Text(), nullable=True),
        sa.Column("entries", sa.Text(), nullable=False),
        sa.Column("keys", sa.LargeBinary(), nullable=False),
        sa.Column("rule", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_access_classes")),
        sa.UniqueConstraint("digest", name=op.f("uq_access_classes_digest")),
    )
    op.create_table(
        "acl_versions",
        sa.Column("number", _ID, autoincrement=True, nullable=False),
        sa.Column("url_digest", sa.LargeBinary(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("access_class", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("feed_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_acl_versions")),
        sqlite_autoincrement=True,
    )
    for columns in (["access_class"], ["at"], ["url_digest", "number"]):
        op.create_index(op.f(f"ix_acl_versions_{'_'.join(columns)}"), "acl_versions", columns)
    op.add_column("acls", sa.Column("access_class", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index(op.f("ix_acls_access_class"), "acls", ["access_class"])
    op.add_column("documents", sa.Column("access_class", sa.BigInteger(), server_default="1", nullable=False))
    op.execute("UPDATE documents SET access_class = 0 WHERE NOT secure")
    classed = sa.text("access_class > 1")
    op.create_index("ix_documents_class", "documents", ["access_class", "id"], sqlite_where=classed, postgresql_where=classed)
    _classify(op.get_bind())


def _classify(connection: sa.Connection) -> None:
    """Returns every ACL and every document with one its class, and has the index built anew where there is one."""
    acls, now = SqlAcls(connection, SqlClasses(connection)), datetime.now(UTC)
    after = b""
    while True:
        query = sa.text("SELECT * FROM acls WHERE url_digest > :after ORDER BY url_digest LIMIT :limit")
        found = connection.execute(query, {"after": after, "limit": _AT_ONCE}).mappings().all()
        if not found:
            break
        acls.save_many([rows.acl_from_row(row) for row in found], at=now)
        after = bytes(found[-1]["url_digest"])
    theirs = "SELECT a.access_class FROM acls a WHERE a.url_digest = documents.url_digest"
    op.execute(f"UPDATE documents SET access_class = ({theirs}) WHERE EXISTS ({theirs})")  # noqa: S608 - no value from outside
    facts = SqlKeyValueStore(connection)
    schema, _, number = (facts.get("index.folder") or "").partition("-")
    if number.isdigit() and not facts.get("index.rebuild"):
        facts.put("index.rebuild", f"{schema}-{int(number) + 1}")
