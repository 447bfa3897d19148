"""Access classes of documents by their ACLs, and versions of ACLs.

Every stored ACL and every document with one gets its class. The formats of digests, keys and entries are those of this revision; they stand
here so that later changes of the program do not change what this migration writes.
"""

import hashlib
import json
import time
from collections.abc import Iterable
from functools import cache
from typing import Any
from unicodedata import normalize

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_AT_ONCE = 2_000
_FIRST_CLASS = 2  # 0 is the class of public documents, 1 the class of closed ones
_PUT_VALUE = sa.text("INSERT INTO facts (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
_ADD_CLASS = sa.text(
    "INSERT INTO access_classes (number, digest, inheritance_type, inherit_from, entries, keys, rule)"
    " VALUES (:number, :digest, :inheritance_type, :inherit_from, :entries, :keys, 0)"
)
_ADD_VERSION = sa.text(
    "INSERT INTO acl_versions (url_digest, url, access_class, at, feed_id) VALUES (:url_digest, :url, :access_class, :at, :feed_id)"
)


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
    """Gives every ACL and every document with an ACL its class, and requests a rebuild of the index if there is one."""
    now, numbers, after = time.time_ns() // 1_000, dict[bytes, int](), b""
    while True:
        query = sa.text("SELECT * FROM acls WHERE url_digest > :after ORDER BY url_digest LIMIT :limit")
        found = connection.execute(query, {"after": after, "limit": _AT_ONCE}).mappings().all()
        if not found:
            break
        classes = [_class_of(row) for row in found]
        new = {row["digest"]: row for row in classes if row["digest"] not in numbers}
        numbers.update((digest, number) for number, digest in enumerate(new, _FIRST_CLASS + len(numbers)))
        if new:
            connection.execute(_ADD_CLASS, [{**row, "number": numbers[digest]} for digest, row in new.items()])
        changed = [
            {**{name: row[name] for name in ("url_digest", "url", "feed_id")}, "access_class": numbers[made["digest"]], "at": now}
            for row, made in zip(found, classes, strict=True)
        ]
        connection.execute(sa.text("UPDATE acls SET access_class = :access_class WHERE url_digest = :url_digest"), changed)
        connection.execute(_ADD_VERSION, changed)
        after = bytes(found[-1]["url_digest"])
    if numbers:
        connection.execute(_PUT_VALUE, {"name": "access.newest_class", "value": str(_FIRST_CLASS + len(numbers) - 1)})
    acl_class = "SELECT a.access_class FROM acls a WHERE a.url_digest = documents.url_digest"
    op.execute(f"UPDATE documents SET access_class = ({acl_class}) WHERE EXISTS ({acl_class})")  # noqa: S608 - no value from outside
    values: dict[str, str] = {name: value for name, value in connection.execute(sa.text("SELECT name, value FROM facts"))}  # noqa: C416 - rows
    schema, _, number = values.get("index.folder", "").partition("-")
    if number.isdigit() and not values.get("index.rebuild"):
        connection.execute(_PUT_VALUE, {"name": "index.rebuild", "value": f"{schema}-{int(number) + 1}"})


# --- formats of this revision ---------------------------------------------------------------------------------------------------

_Entry = tuple[str, str, str, str, bool, bool]
"""One line of an ACL: permit or deny, user or group, name, namespace, whether letter case counts, whether the name has no notation."""


def _class_of(row: sa.RowMapping) -> dict[str, Any]:
    """Returns the columns of an ACL's class, without its number."""
    entries = _in_canonical_order(tuple(entry) for entry in json.loads(row["entries"]))
    text = _to_json(entries)
    parent = "-" if row["inherit_from"] is None else f"+{row['inherit_from']}"
    identity = "|".join(("0", row["inheritance_type"], str(len(text)), text, parent))
    return {
        "digest": _digest(identity),
        "inheritance_type": row["inheritance_type"],
        "inherit_from": row["inherit_from"],
        "entries": text,
        "keys": b"".join(_key_digest(entry) + (b"\1" if entry[0] == "deny" else b"\0") for entry in entries),
    }


def _in_canonical_order(entries: Iterable[_Entry]) -> list[_Entry]:
    """Returns entries sorted and without blank names and duplicates."""
    named = {entry for entry in entries if entry[2].strip()}
    return sorted(named, key=lambda entry: (entry[0], entry[1], entry[3], entry[2], entry[4], entry[5]))


def _to_json(value: object) -> str:
    """Returns JSON with escapes only if the text has a lone surrogate, which no database stores."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _key_digest(entry: _Entry) -> bytes:
    """Returns the digest by which a user's names find an entry."""
    _, scope, written, namespace, case_sensitive, unqualified = entry
    name, domain = (written.strip(), "") if unqualified else _split_name(written.strip())
    if not case_sensitive:
        namespace, domain, name = _fold(namespace), _fold(domain), _fold(name)
    return _digest(f"{scope}{int(not case_sensitive)}{len(namespace)}:{namespace}{len(domain)}:{domain}{name}")


def _split_name(text: str) -> tuple[str, str]:
    """Splits a written name into name and domain: at the first backslash, else at the first slash, else at the first at sign."""
    for separator in ("\\", "/"):
        domain, found, name = text.partition(separator)
        if found:
            return name, domain
    name, _, domain = text.partition("@")
    return name, domain


_IGNORABLE_RANGES = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Default_Ignorable_Code_Point of DerivedCoreProperties.txt, Unicode 14.0."""

_IGNORABLE = frozenset(chr(code) for first, last in _IGNORABLE_RANGES for code in range(first, last + 1))


def _fold(text: str) -> str:
    """Returns a text without differences of letter case, width and ignorable characters: Unicode's NFKC_Casefold."""
    return text.lower() if text.isascii() else normalize("NFC", "".join(map(_fold_character, text)))


@cache
def _fold_character(text: str) -> str:
    folded = normalize("NFKC", "".join(char for char in text.casefold() if char not in _IGNORABLE))
    return text if folded == text else _fold_character(folded)
