"""ACLs, their versions, and access classes, in SQL.

A class is found by a digest of its key and gets its number on first use. Numbers grow and are never reused.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from feedmill.adapters.store import rows
from feedmill.adapters.store.documents.indextasks import SqlKeyValueStore
from feedmill.adapters.store.prepared import PreparedQuery
from feedmill.adapters.store.schema import access_classes, acl_versions, acls, past_classes
from feedmill.adapters.store.statements import batches, upsert
from feedmill.adapters.store.values import from_micros, plain, to_micros
from feedmill.core.access.classes import in_one_order
from feedmill.core.access.principals import digest_of, key_of
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.access import Access, AccessClass, AccessKey, Acl, AclVersion, InheritanceType, PackedClasses, StoredAcl

_NEWEST_CLASS = "access.newest_class"
READ_AT_ONCE = 10_000

_CLASS = tuple(access_classes.c[name] for name in ("number", "inheritance_type", "inherit_from", "entries", "policy_number"))
_CLASSES = PreparedQuery(lambda numbers: sa.select(*_CLASS).where(access_classes.c.number.in_(numbers)))
_CLASSES_OF_ACLS = PreparedQuery(lambda digests: sa.select(acls.c.url, acls.c.access_class).where(acls.c.url_digest.in_(digests)))
_PACKED_COLUMNS = tuple(access_classes.c[name] for name in ("number", "inheritance_type", "inherit_from", "keys", "policy_number"))
_NUMBER = access_classes.c.number
_PACKED = PreparedQuery(
    lambda _: sa.select(*_PACKED_COLUMNS).where(_NUMBER.between(sa.bindparam("first"), sa.bindparam("last"))).order_by(_NUMBER)
)
_NEWEST_VERSION = PreparedQuery(lambda _: sa.select(sa.func.max(acl_versions.c.number)))


class SqlClasses:
    """Implements ``ports.Classes``. Caches what it has looked up, since it lives only as long as its transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._numbers: dict[AccessKey, int] = {}

    def number_many(self, keys: Sequence[AccessKey]) -> dict[AccessKey, int]:
        """Returns the number of each class. A class without a number gets a new one."""
        wanted = {_digest_of_key(key): key for key in keys if key not in self._numbers}
        for batch in batches(list(wanted)):
            query = sa.select(access_classes.c.digest, access_classes.c.number).where(access_classes.c.digest.in_(batch))
            self._numbers.update((wanted.pop(bytes(found)), number) for found, number in self._connection.execute(query))
        if wanted:
            self._add_keys(wanted)
        return {key: self._numbers[key] for key in keys}

    def _add_keys(self, keys: dict[bytes, AccessKey]) -> None:
        # Not the highest number in the table: the newest class may have been removed, and its number must not come again.
        first = self.newest() + 1
        added = [_row(number, found, key) for number, (found, key) in enumerate(keys.items(), first)]
        self._connection.execute(sa.insert(access_classes), added)
        SqlKeyValueStore(self._connection).put(_NEWEST_CLASS, str(added[-1]["number"]))
        self._numbers.update((key, number) for number, key in enumerate(keys.values(), first))

    def newest(self) -> int:
        """Returns the highest number used so far."""
        return int(SqlKeyValueStore(self._connection).get(_NEWEST_CLASS) or AccessClass.CLOSED)

    def get_many(self, numbers: Sequence[int]) -> dict[int, AccessKey]:
        """Returns the access keys of classes. Removed classes are left out."""
        found: dict[int, AccessKey] = {}
        for batch in batches(numbers):
            for number, *row in _CLASSES.run(self._connection, batch):
                found[number] = _key_from_row(*row)
        return found

    def find_policies(self, numbers: Sequence[int]) -> dict[int, int]:
        """Finds the policies of classes."""
        found: dict[int, int] = {}
        for batch in batches(numbers):
            query = sa.select(access_classes.c.number, access_classes.c.policy_number).where(access_classes.c.number.in_(batch))
            found.update((number, policy_number) for number, policy_number in self._connection.execute(query))
        return found

    def iter_packed(self, after: int) -> Iterator[PackedClasses]:
        """Returns all classes with higher numbers, by number, many at a time."""
        for first in range(after + 1, self.newest() + 1, READ_AT_ONCE):
            found = _PACKED.run(self._connection, (first, first + READ_AT_ONCE - 1))
            if found:
                numbers, types, parents, keys, policy_numbers = zip(*found, strict=True)
                yield PackedClasses(numbers, types, parents, keys, policy_numbers)

    def remove_unused(self, *, after: int, limit: int) -> int | None:
        """Removes unused classes, going by number from ``after`` on. Returns None if there was none left."""
        table = access_classes.c.number
        query = sa.select(table).where(table > after).order_by(table).limit(limit)
        numbers = list(self._connection.execute(query).scalars())
        for batch in batches(numbers):
            self._connection.execute(sa.delete(access_classes).where(table.in_(batch), *_unused()))
        return numbers[-1] if numbers else None


def _unused() -> list[sa.ColumnElement[bool]]:
    # As text, with the condition of the partial index, so that the database uses that index.
    from_documents = sa.text("NOT EXISTS (SELECT 1 FROM documents d WHERE d.access_class > 1 AND d.access_class = access_classes.number)")
    number = access_classes.c.number
    unreferenced = [~sa.exists().where(table.c.access_class == number) for table in (acls, acl_versions, past_classes)]
    return [*unreferenced, from_documents]  # type: ignore[list-item]  # a text is a condition too


def _digest_of_key(key: AccessKey) -> bytes:
    acl = key.acl
    parts = [str(key.policy_number)]
    if acl is not None:
        entries = rows.entries_to_json(acl.entries)
        parts += [acl.inheritance_type.value, str(len(entries)), entries, "-" if acl.inherit_from is None else f"+{acl.inherit_from}"]
    return hashlib.blake2b("|".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _row(number: int, found: bytes, key: AccessKey) -> dict[str, object]:
    acl = key.acl
    return {
        "number": number,
        "digest": found,
        "inheritance_type": None if acl is None else acl.inheritance_type.value,
        "inherit_from": None if acl is None or acl.inherit_from is None else plain(acl.inherit_from),
        "entries": rows.entries_to_json(() if acl is None else acl.entries),
        "keys": b"" if acl is None else pack_keys(acl),
        "policy_number": key.policy_number,
    }


def pack_keys(acl: Acl) -> bytes:
    """Returns the entries of an ACL in the form of ``PackedClasses.keys``."""
    return b"".join(digest_of(key_of(entry.principal)) + (b"\1" if entry.access is Access.DENY else b"\0") for entry in acl.entries)


def _key_from_row(inheritance_type: str | None, inherit_from: str | None, entries: str, policy_number: int) -> AccessKey:
    if inheritance_type is None:
        return AccessKey(acl=None, policy_number=policy_number)
    acl = Acl(
        entries=rows.entries_from_json(entries),
        inheritance_type=InheritanceType(inheritance_type),
        inherit_from=inherit_from,
    )
    return AccessKey(acl=acl, policy_number=policy_number)


class SqlAcls:
    """Implements ``Acls`` and ``AclVersions`` of ``ports``."""

    def __init__(self, connection: sa.Connection, classes: SqlClasses) -> None:
        self._connection = connection
        self._classes = classes

    def find_many(self, urls: Sequence[str]) -> dict[str, StoredAcl]:
        """Finds ACLs by URL."""
        found: dict[str, StoredAcl] = {}
        for batch in batches([digest_of_url(url) for url in urls]):
            for row in self._connection.execute(sa.select(acls).where(acls.c.url_digest.in_(batch))).mappings():
                found[row["url"]] = rows.acl_from_row(row)
        return found

    def save_many(self, changed: Sequence[StoredAcl], *, at: datetime) -> None:
        """Inserts or replaces ACLs by URL, and stores a version of each ACL that changed."""
        if not changed:
            return
        keys = {stored.url: AccessKey(acl=in_one_order(stored.acl)) for stored in changed}
        numbers = self._classes.number_many(list(keys.values()))
        before = self.find_classes(list(keys))
        values = [rows.acl_to_row(stored) | {"access_class": numbers[keys[stored.url]]} for stored in changed]
        self._connection.execute(upsert(self._connection, acls, ["url_digest"]), values)
        self._keep_versions([value for value in values if value["access_class"] != before.get(value["url"])], at)

    def remove_many(self, urls: Sequence[str], *, at: datetime, feed_id: int | None = None) -> None:
        """Removes ACLs by URL, and stores when each ended."""
        there = self.find_classes(urls)
        for batch in batches([digest_of_url(url) for url in there]):
            self._connection.execute(sa.delete(acls).where(acls.c.url_digest.in_(batch)))
        gone = [{"url_digest": digest_of_url(url), "url": url, "access_class": None, "feed_id": feed_id or 0} for url in there]
        self._keep_versions(gone, at)

    def _keep_versions(self, values: Sequence[Mapping[str, object]], at: datetime) -> None:
        if values:
            names = ("url_digest", "url", "access_class", "feed_id")
            made = [{name: value[name] for name in names} | {"at": to_micros(at)} for value in values]
            self._connection.execute(sa.insert(acl_versions), made)

    def find_classes(self, urls: Sequence[str]) -> dict[str, int]:
        """Finds the classes of ACLs by URL."""
        found: dict[str, int] = {}
        for batch in batches([digest_of_url(url) for url in urls]):
            found.update((url, number) for url, number in _CLASSES_OF_ACLS.run(self._connection, batch))
        return found

    def list_classes(self, *, after: int, limit: int) -> list[int]:
        """Lists the classes that ACLs make now, by number."""
        query = sa.select(acls.c.access_class).where(acls.c.access_class > after).distinct()
        return list(self._connection.execute(query.order_by(acls.c.access_class).limit(limit)).scalars())

    def list_of_source(self, datasource: str, *, limit: int, unseen_by: int | None = None) -> list[StoredAcl]:
        """Lists ACLs that a source wrote last."""
        query = sa.select(acls).where(acls.c.datasource == datasource).limit(limit)
        if unseen_by is not None:
            query = query.where(acls.c.seen_feed_id != unseen_by)
        return [rows.acl_from_row(row) for row in self._connection.execute(query).mappings()]

    def find_classes_at(self, urls: Sequence[str], at: datetime) -> dict[str, int]:
        """Finds the classes that the ACLs of URLs made at a time, by URL."""
        table, found = acl_versions.c, dict[str, int]()
        for batch in batches([digest_of_url(url) for url in urls]):
            newest = sa.select(sa.func.max(table.number)).where(table.url_digest.in_(batch), table.at <= to_micros(at))
            held = sa.select(table.url, table.access_class).where(table.number.in_(newest.group_by(table.url_digest)))
            found.update((url, number) for url, number in self._connection.execute(held) if number is not None)
        return found

    def find_last_change(self, urls: Sequence[str], *, after: datetime, until: datetime) -> AclVersion | None:
        """Finds the newest version of any of these URLs' ACLs within a period."""
        table, found = acl_versions.c, list[AclVersion]()
        timely = sa.and_(table.at > to_micros(after), table.at <= to_micros(until))
        for batch in batches([digest_of_url(url) for url in urls]):
            query = (
                sa.select(acl_versions).where(table.url_digest.in_(batch), timely).order_by(table.at.desc(), table.number.desc()).limit(1)
            )
            found.extend(_version_from_row(row) for row in self._connection.execute(query).mappings())
        return max(found, key=lambda version: (version.at, version.number), default=None)

    def newest_version(self) -> int:
        """Returns the number of the newest version, or 0 if there is none."""
        return int(_NEWEST_VERSION.run(self._connection)[0][0] or 0)

    def list_versions(self, *, after: int, limit: int) -> list[AclVersion]:
        """Lists versions by number."""
        table = acl_versions.c
        query = sa.select(acl_versions).where(table.number > after).order_by(table.number).limit(limit)
        return [_version_from_row(row) for row in self._connection.execute(query).mappings()]

    def forget_versions(self, before: datetime, *, after: int, limit: int) -> int | None:
        """Removes versions that were no longer in force at a time, among the next by number."""
        table, at = acl_versions.c, to_micros(before)
        query = sa.select(table.number).where(table.number > after, table.at < at).order_by(table.number).limit(limit)
        numbers = list(self._connection.execute(query).scalars())
        newer = acl_versions.alias()
        is_overtaken = sa.exists().where(newer.c.url_digest == table.url_digest, newer.c.number > table.number, newer.c.at < at)
        for batch in batches(numbers):
            says_nothing = sa.or_(is_overtaken, table.access_class.is_(None))
            self._connection.execute(sa.delete(acl_versions).where(table.number.in_(batch), says_nothing))
        return numbers[-1] if numbers else None


def _version_from_row(row: sa.RowMapping) -> AclVersion:
    at = from_micros(row["at"])
    return AclVersion(number=row["number"], url=row["url"], access_class=row["access_class"], at=at, feed_id=row["feed_id"])
