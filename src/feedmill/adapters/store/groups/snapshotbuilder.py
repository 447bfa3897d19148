"""Builds group snapshots in SQL, invisibly, then publishes or drops them. See ``groups`` for the rules."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.documents.indextasks import SqlKeyValueStore
from feedmill.adapters.store.groups.groups import BUILDING, DEAD, GENERATION, REDEFINED, VISIBLE, SqlGroups, remove_definitions
from feedmill.adapters.store.schema import group_definitions, group_members, group_snapshots, group_sources
from feedmill.adapters.store.statements import batches, insert
from feedmill.adapters.store.values import plain
from feedmill.core.access.principals import digest_of, exact_key, key_of, subject_of
from feedmill.model.access import Principal
from feedmill.model.change import PutGroup

_INSERT_SQLITE = "INSERT INTO group_members (definition_id, member_digest) VALUES (?, ?)"
_INSERT_POSTGRES = "INSERT INTO group_members (definition_id, member_digest) VALUES (%s, %s)"


def _group_digest(group: Principal) -> bytes:
    return digest_of(exact_key(subject_of(group)))


def _member_digests(members: Iterable[Principal]) -> list[bytes]:
    return list(dict.fromkeys(digest_of(key_of(member)) for member in members))


class SqlGroupSnapshotBuilder:
    """Implements ``ports.GroupSnapshotBuilder``."""

    def __init__(self, connection: sa.Connection, groups: SqlGroups) -> None:
        self._connection = connection
        self._groups = groups

    def begin_snapshot(self, feed_id: int, source: str, *, is_full: bool) -> None:
        """Begins a feed's group snapshot, if it has not begun."""
        counts = {"memberships": 0, "replaced_memberships": 0}
        snapshot = {"feed_id": feed_id, "source": source, "is_full": is_full, "state": BUILDING, **counts}
        self._connection.execute(insert(self._connection, group_snapshots).values(snapshot).on_conflict_do_nothing())

    def define_many(self, feed_id: int, definitions: Sequence[PutGroup]) -> int:
        """Stores definitions in a group snapshot."""
        snapshot = self._find_snapshot(feed_id)
        defined = {_group_digest(definition.group): definition for definition in definitions}
        again = self._remove_from_snapshot(feed_id, list(defined))
        if again:
            # A process that reads snapshots ahead sees by this that it must read again.
            SqlKeyValueStore(self._connection).put(REDEFINED, str(feed_id))
        # A full snapshot replaces everything of its source when it is published, so nothing has to be hidden one by one.
        older = {} if snapshot["is_full"] else self._find_visible(snapshot["source"], list(defined))
        next_id = self._next_id()
        new: list[dict[str, Any]] = []
        members: list[tuple[int, bytes]] = []
        for digest, definition in defined.items():
            digests = _member_digests(definition.members)
            if digests or digest in older:
                new.append(_row(next_id + len(new), feed_id, digest, definition.group, digests))
                members.extend((new[-1]["id"], member) for member in digests)
        if new:
            self._connection.execute(sa.insert(group_definitions), new)
        self._insert_members(members)
        gained = len(members) - sum(again.values())
        replaced = sum(row["memberships"] for digest, row in older.items() if digest not in again)
        return self._add_memberships(feed_id, gained, replaced)

    def extend(self, feed_id: int, group: Principal, members: Sequence[Principal]) -> int:
        """Adds members to a group that the group snapshot already defines."""
        table = group_definitions
        query = sa.select(table.c.id).where(table.c.feed_id == feed_id, table.c.group_digest == _group_digest(group))
        definition_id = int(self._connection.execute(query).scalar_one())
        digests = _member_digests(members)
        known: set[bytes] = set()
        for batch in batches(digests):
            query = sa.select(group_members.c.member_digest)
            query = query.where(group_members.c.definition_id == definition_id, group_members.c.member_digest.in_(batch))
            known.update(bytes(digest) for digest in self._connection.execute(query).scalars())
        fresh = [(definition_id, digest) for digest in digests if digest not in known]
        self._insert_members(fresh)
        counted = {"memberships": table.c.memberships + len(fresh), "members_digest": None}
        grown = sa.update(table).where(table.c.id == definition_id).values(counted)
        self._connection.execute(grown)
        return self._add_memberships(feed_id, len(fresh), 0)

    def copy_definitions(self, feed_id: int, groups: Sequence[Principal]) -> None:
        """Copies the source's current definitions of groups that the group snapshot does not define."""
        snapshot = self._find_snapshot(feed_id)
        digests = [_group_digest(group) for group in groups]
        table = group_definitions
        for batch in batches(digests):
            defined = set(self._connection.execute(_in_snapshot(feed_id, batch, table.c.group_digest)).scalars())
            for digest, old in self._find_visible(snapshot["source"], [digest for digest in batch if digest not in defined]).items():
                new_id = self._next_id()
                row = {**old, "id": new_id, "feed_id": feed_id, "group_digest": digest}
                self._connection.execute(sa.insert(table), [row])
                copied = sa.select(sa.literal(new_id, sa.BigInteger), group_members.c.member_digest)
                copied = copied.where(group_members.c.definition_id == old["id"])
                self._connection.execute(sa.insert(group_members).from_select(["definition_id", "member_digest"], copied))
                self._add_memberships(feed_id, old["memberships"], 0)

    def expected_memberships(self, feed_id: int) -> int:
        """Counts the memberships that will be visible once the group snapshot is published."""
        snapshot = self._find_snapshot(feed_id)
        return self._groups.count_memberships() - self._count_of(snapshot["source"]) + self._expected_of_source(snapshot)

    def publish(self, feed_id: int) -> None:
        """Makes a group snapshot visible."""
        snapshot = self._find_snapshot(feed_id)
        expected = self._expected_of_source(snapshot)
        if snapshot["is_full"]:
            self._retire_visible(snapshot["source"])
        self._set_state(feed_id, VISIBLE)
        self._store_counts(feed_id, snapshot["source"], expected)

    def drop(self, feed_id: int) -> None:
        """Discards a group snapshot."""
        self._set_state(feed_id, DEAD)

    # --- steps ---

    def _find_snapshot(self, feed_id: int) -> sa.RowMapping:
        return self._connection.execute(sa.select(group_snapshots).where(group_snapshots.c.feed_id == feed_id)).mappings().one()

    def _add_memberships(self, feed_id: int, gained: int, replaced: int) -> int:
        table = group_snapshots
        counted = {"memberships": table.c.memberships + gained, "replaced_memberships": table.c.replaced_memberships + replaced}
        update = sa.update(table).where(table.c.feed_id == feed_id).values(counted).returning(table.c.memberships)
        return int(self._connection.execute(update).scalar_one())

    def _next_id(self) -> int:
        """Returns a free id. Writers take turns, so no other writer takes it."""
        return int(self._connection.execute(sa.select(sa.func.coalesce(sa.func.max(group_definitions.c.id), 0))).scalar_one()) + 1

    def _insert_members(self, members: Sequence[tuple[int, bytes]]) -> None:
        if not members:
            return
        # the drivers' own statements: compiling parameters one by one would take longer than inserting them
        is_postgres = self._connection.dialect.name == "postgresql"
        self._connection.exec_driver_sql(_INSERT_POSTGRES if is_postgres else _INSERT_SQLITE, list(members))

    def _remove_from_snapshot(self, feed_id: int, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Removes the group snapshot's definitions of groups, and returns how many members each had."""
        table = group_definitions
        found: list[tuple[bytes, int, int]] = []
        for batch in batches(digests):
            query = _in_snapshot(feed_id, batch, table.c.group_digest, table.c.id, table.c.memberships)
            found.extend((bytes(digest), id_, count) for digest, id_, count in self._connection.execute(query))
        remove_definitions(self._connection, [id_ for _, id_, _ in found])
        return {digest: count for digest, _, count in found}

    def _find_visible(self, source: str, digests: Sequence[bytes]) -> dict[bytes, sa.RowMapping]:
        """Finds the visible definitions of groups in a source, including empty ones, since they hide older definitions."""
        table = group_definitions
        found: dict[bytes, sa.RowMapping] = {}
        for batch in batches(digests):
            query = sa.select(table).join(group_snapshots, group_snapshots.c.feed_id == table.c.feed_id)
            query = query.where(group_snapshots.c.source == source, group_snapshots.c.state == VISIBLE, table.c.group_digest.in_(batch))
            for row in self._connection.execute(query.order_by(table.c.feed_id)).mappings():
                found[bytes(row["group_digest"])] = row
        return found

    def _count_of(self, source: str) -> int:
        query = sa.select(group_sources.c.memberships).where(group_sources.c.name == source)
        return int(self._connection.execute(query).scalar() or 0)

    def _expected_of_source(self, snapshot: sa.RowMapping) -> int:
        unchanged = 0 if snapshot["is_full"] else self._count_of(snapshot["source"]) - int(snapshot["replaced_memberships"])
        return unchanged + int(snapshot["memberships"])

    def _retire_visible(self, source: str) -> None:
        visible = (group_snapshots.c.source == source, group_snapshots.c.state == VISIBLE)
        self._connection.execute(sa.update(group_snapshots).where(*visible).values(state=DEAD))

    def _set_state(self, feed_id: int, state: str) -> None:
        self._connection.execute(sa.update(group_snapshots).where(group_snapshots.c.feed_id == feed_id).values(state=state))

    def _store_counts(self, feed_id: int, source: str, memberships: int) -> None:
        """Stores the new membership count of a source, and raises the generation because groups have changed."""
        counted = insert(self._connection, group_sources).values(name=source, memberships=memberships)
        self._connection.execute(counted.on_conflict_do_update(index_elements=["name"], set_={"memberships": memberships}))
        if memberships == 0:
            self._connection.execute(sa.delete(group_sources).where(group_sources.c.name == source))
        SqlKeyValueStore(self._connection).put(GENERATION, str(feed_id))


def _row(id_: int, feed_id: int, digest: bytes, group: Principal, members: Sequence[bytes]) -> dict[str, Any]:
    subject = subject_of(group)
    names = {"namespace": plain(subject.namespace), "domain": plain(subject.domain), "name": plain(subject.name)}
    counted = {"memberships": len(members), "members_digest": _digest_all(members)}
    return {"id": id_, "feed_id": feed_id, "group_digest": digest, **counted, **names}


def _digest_all(members: Sequence[bytes]) -> bytes:
    """Returns a digest that is equal if two groups have the same members."""
    return hashlib.blake2b(b"".join(sorted(members)), digest_size=16).digest()


def _in_snapshot(feed_id: int, digests: Sequence[bytes], *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    table = group_definitions
    return sa.select(*columns).where(table.c.feed_id == feed_id, table.c.group_digest.in_(digests))
