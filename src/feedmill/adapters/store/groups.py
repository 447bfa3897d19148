"""The groups database, in SQL.

Rules: a layer is building, visible or dead, and its state is all that changes when it is published, so that this takes no longer for
three million memberships than for one. A definition counts when its layer is visible and no visible layer of the same source and of a
newer feed defines the same group. Members are kept as digests of the keys under which they are looked up, never as names. A definition
without members is kept only where an older one of its source has to be covered. How groups were before stands in ``grouphistory``.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.marks import SqlFacts
from feedmill.adapters.store.schema import group_definitions, group_layers, group_members, group_sources
from feedmill.adapters.store.statements import batches, insert
from feedmill.adapters.store.values import plain
from feedmill.core.principals import digest_of, exact_key, key_of, subject_of
from feedmill.model.access import Principal, Scope
from feedmill.model.change import PutGroup
from feedmill.model.identity import PrincipalKey, Subject
from feedmill.ports import DeadGroup, GroupDefinition

_GENERATION = "groups.generation"
_REDEFINED = "groups.redefined"
_MEMBERS_AT_ONCE = 50_000
_INSERT_SQLITE = "INSERT INTO group_members (definition_id, member_digest) VALUES (?, ?)"
_INSERT_POSTGRES = "INSERT INTO group_members (definition_id, member_digest) VALUES (%s, %s)"
BUILDING, VISIBLE, _DEAD = "building", "visible", "dead"


def _group_digest(group: Principal) -> bytes:
    return digest_of(exact_key(subject_of(group)))


def _member_digests(members: Iterable[Principal]) -> list[bytes]:
    return list(dict.fromkeys(digest_of(key_of(member)) for member in members))


class SqlGroups:
    """Fills ``ports.Groups``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    # --- reading ---

    def find_parents(self, keys: Sequence[PrincipalKey]) -> list[tuple[PrincipalKey, Subject]]:
        """Finds the groups that have members of these keys."""
        by_digest = {digest_of(key): key for key in keys}
        columns = (group_members.c.member_digest, group_definitions.c.namespace, group_definitions.c.domain, group_definitions.c.name)
        joined = group_members.join(group_definitions, group_definitions.c.id == group_members.c.definition_id)
        query = sa.select(*columns).select_from(joined.join(group_layers, group_layers.c.feed_id == group_definitions.c.feed_id))
        query = query.where(group_layers.c.state == VISIBLE, ~covered())
        found: dict[tuple[bytes, str, str, str], None] = {}
        for batch in batches(list(by_digest)):
            for digest, namespace, domain, name in self._connection.execute(query.where(group_members.c.member_digest.in_(batch))):
                found[bytes(digest), namespace, domain, name] = None
        return [
            (by_digest[digest], Subject(scope=Scope.GROUP, name=name, domain=domain, namespace=namespace))
            for digest, namespace, domain, name in found
        ]

    def generation(self) -> int:
        """Gives the feed that changed groups last."""
        return int(SqlFacts(self._connection).get(_GENERATION) or 0)

    def count_memberships(self) -> int:
        """Counts the members of all groups that are seen."""
        total = sa.select(sa.func.coalesce(sa.func.sum(group_sources.c.memberships), 0))
        return int(self._connection.execute(total).scalar_one())

    def list_visible(self) -> dict[int, str]:
        """Lists the layers that are seen, with their sources."""
        query = sa.select(group_layers.c.feed_id, group_layers.c.source).where(group_layers.c.state == VISIBLE)
        return {row.feed_id: row.source for row in self._connection.execute(query)}

    def list_building(self) -> list[int]:
        """Lists the feeds whose layers are being built."""
        return list(self._connection.execute(sa.select(group_layers.c.feed_id).where(group_layers.c.state == BUILDING)).scalars())

    def measure_layer(self, feed_id: int) -> tuple[int, int]:
        """Counts a layer's definitions and their members."""
        table = group_definitions.c
        counted = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(table.memberships), 0)).where(table.feed_id == feed_id)
        definitions, members = self._connection.execute(counted).one()
        return int(definitions), int(members)

    def is_redefined(self, feed_id: int) -> bool:
        """Whether a definition of a layer, or of a later one, was replaced or taken away while it was built."""
        return int(SqlFacts(self._connection).get(_REDEFINED) or 0) >= feed_id

    def iter_definitions(self, feed_id: int, *, after: int = 0) -> Iterator[GroupDefinition]:
        """Gives the definitions of a layer by id."""
        table = group_definitions.c
        columns = (table.id, table.group_digest, table.namespace, table.domain, table.name, table.memberships)
        query = sa.select(*columns).where(table.feed_id == feed_id, table.id > after).order_by(table.id)
        for id_, found, namespace, domain, name, count in self._connection.execute(query):
            group = Subject(scope=Scope.GROUP, name=name, domain=domain, namespace=namespace)
            yield GroupDefinition(id=id_, key=bytes(found), group=group, memberships=count)

    def iter_members(self, feed_id: int, *, after: int = 0, until: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Gives the members of a layer's definitions: joined by the database, since each row of millions would be an object of Python's."""
        table = group_definitions.c
        among = [table.feed_id == feed_id, table.id > after, *([table.id <= until] if until is not None else [])]
        member, is_postgres = group_members.c.member_digest, self._connection.dialect.name == "postgresql"
        joined = sa.func.string_agg(member, sa.literal(b"")) if is_postgres else sa.func.group_concat(sa.func.hex(member), "")
        query = sa.select(table.id, joined).join(group_members, group_members.c.definition_id == table.id)
        query = query.where(*among, table.memberships <= _MEMBERS_AT_ONCE).group_by(table.id).order_by(table.id)
        for id_, members in self._connection.execute(query):
            yield id_, bytes(members) if is_postgres else bytes.fromhex(members)
        for id_ in self._connection.execute(sa.select(table.id).where(*among, table.memberships > _MEMBERS_AT_ONCE)).scalars().all():
            found = self._connection.execute(sa.select(member).where(group_members.c.definition_id == id_)).scalars()
            while chunk := found.fetchmany(_MEMBERS_AT_ONCE):
                yield id_, b"".join(map(bytes, chunk))

    # --- building a layer ---

    def build(self, feed_id: int, source: str, *, whole: bool) -> None:
        """Begins a feed's layer, where it is not begun yet."""
        layer = {"feed_id": feed_id, "source": source, "whole": whole, "state": BUILDING, "memberships": 0, "replaced": 0}
        self._connection.execute(insert(self._connection, group_layers).values(layer).on_conflict_do_nothing())

    def define_many(self, feed_id: int, definitions: Sequence[PutGroup]) -> int:
        """Puts definitions into a layer."""
        layer = self._layer(feed_id)
        defined = {_group_digest(definition.group): definition for definition in definitions}
        again = self._remove_from_layer(feed_id, list(defined))
        if again:
            SqlFacts(self._connection).put(_REDEFINED, str(feed_id))
        older = {} if layer["whole"] else self._find_visible(layer["source"], list(defined))
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
        return self._add(feed_id, gained, replaced)

    def extend(self, feed_id: int, group: Principal, members: Sequence[Principal]) -> int:
        """Adds further members to a group that the layer defines."""
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
        return self._add(feed_id, len(fresh), 0)

    def keep_many(self, feed_id: int, groups: Sequence[Principal]) -> None:
        """Takes over what the layer's source has now of groups that the layer does not define."""
        layer = self._layer(feed_id)
        digests = [_group_digest(group) for group in groups]
        table = group_definitions
        for batch in batches(digests):
            defined = set(self._connection.execute(_in_layer(feed_id, batch, table.c.group_digest)).scalars())
            for digest, old in self._find_visible(layer["source"], [digest for digest in batch if digest not in defined]).items():
                new_id = self._next_id()
                row = {**old, "id": new_id, "feed_id": feed_id, "group_digest": digest}
                self._connection.execute(sa.insert(table), [row])
                copied = sa.select(sa.literal(new_id, sa.BigInteger), group_members.c.member_digest)
                copied = copied.where(group_members.c.definition_id == old["id"])
                self._connection.execute(sa.insert(group_members).from_select(["definition_id", "member_digest"], copied))
                self._add(feed_id, old["memberships"], 0)

    def expected_memberships(self, feed_id: int) -> int:
        """Counts what would be seen once the layer is published."""
        layer = self._layer(feed_id)
        return self.count_memberships() - self._count_of(layer["source"]) + self._expected_of_source(layer)

    # --- ending a layer ---

    def publish(self, feed_id: int) -> None:
        """Shows a layer."""
        layer = self._layer(feed_id)
        expected = self._expected_of_source(layer)
        if layer["whole"]:
            self._bury(layer["source"])
        self._set_state(feed_id, VISIBLE)
        self._settle(feed_id, layer["source"], expected)

    def drop(self, feed_id: int) -> None:
        """Gives up a layer."""
        self._set_state(feed_id, _DEAD)

    # --- upkeep ---

    def list_dead(self, *, after: int, limit: int) -> list[DeadGroup]:
        """Lists definitions that nobody sees any more."""
        table = group_definitions
        hides_nothing = sa.and_(table.c.memberships == 0, ~_covers())
        is_dead = sa.or_(group_layers.c.state == _DEAD, sa.and_(group_layers.c.state == VISIBLE, sa.or_(hides_nothing, covered())))
        query = sa.select(table.c.id, table.c.memberships).join(group_layers, group_layers.c.feed_id == table.c.feed_id)
        query = query.where(table.c.id > after, is_dead).order_by(table.c.id).limit(limit)
        return [DeadGroup(id=id_, memberships=count) for id_, count in self._connection.execute(query)]

    def trim_dead(self, definition_id: int, limit: int) -> int:
        """Removes some members of a dead definition."""
        some = sa.select(group_members.c.member_digest).where(group_members.c.definition_id == definition_id).limit(limit)
        digests = list(self._connection.execute(some).scalars())
        for batch in batches(digests):
            chosen = (group_members.c.definition_id == definition_id, group_members.c.member_digest.in_(batch))
            self._connection.execute(sa.delete(group_members).where(*chosen))
        return len(digests)

    def remove_dead(self, definition_ids: Sequence[int]) -> None:
        """Removes dead definitions with their members."""
        self._remove(definition_ids)

    def remove_empty_layers(self) -> None:
        """Forgets layers without definitions, but for one that is being built."""
        has_any = sa.exists().where(group_definitions.c.feed_id == group_layers.c.feed_id)
        self._connection.execute(sa.delete(group_layers).where(group_layers.c.state != BUILDING, ~has_any))

    # --- steps ---

    def _layer(self, feed_id: int) -> sa.RowMapping:
        return self._connection.execute(sa.select(group_layers).where(group_layers.c.feed_id == feed_id)).mappings().one()

    def _add(self, feed_id: int, gained: int, replaced: int) -> int:
        table = group_layers
        counted = {"memberships": table.c.memberships + gained, "replaced": table.c.replaced + replaced}
        update = sa.update(table).where(table.c.feed_id == feed_id).values(counted).returning(table.c.memberships)
        return int(self._connection.execute(update).scalar_one())

    def _next_id(self) -> int:
        """Gives a free id; writers take turns, so nobody else takes it."""
        return int(self._connection.execute(sa.select(sa.func.coalesce(sa.func.max(group_definitions.c.id), 0))).scalar_one()) + 1

    def _insert_members(self, members: Sequence[tuple[int, bytes]]) -> None:
        if not members:
            return
        # The drivers' own statements: compiling parameters one by one would take longer than inserting them.
        is_postgres = self._connection.dialect.name == "postgresql"
        self._connection.exec_driver_sql(_INSERT_POSTGRES if is_postgres else _INSERT_SQLITE, list(members))

    def _remove_from_layer(self, feed_id: int, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Removes what the layer says of groups so far, and gives how many members each had."""
        table = group_definitions
        found: list[tuple[bytes, int, int]] = []
        for batch in batches(digests):
            query = _in_layer(feed_id, batch, table.c.group_digest, table.c.id, table.c.memberships)
            found.extend((bytes(digest), id_, count) for digest, id_, count in self._connection.execute(query))
        self._remove([id_ for _, id_, _ in found])
        return {digest: count for digest, _, count in found}

    def _remove(self, definition_ids: Sequence[int]) -> None:
        for batch in batches(definition_ids):
            self._connection.execute(sa.delete(group_members).where(group_members.c.definition_id.in_(batch)))
            self._connection.execute(sa.delete(group_definitions).where(group_definitions.c.id.in_(batch)))

    def _find_visible(self, source: str, digests: Sequence[bytes]) -> dict[bytes, sa.RowMapping]:
        """Finds the definitions of groups that a source shows now, empty ones too, since they cover others."""
        table = group_definitions
        found: dict[bytes, sa.RowMapping] = {}
        for batch in batches(digests):
            query = sa.select(table).join(group_layers, group_layers.c.feed_id == table.c.feed_id)
            query = query.where(group_layers.c.source == source, group_layers.c.state == VISIBLE, table.c.group_digest.in_(batch))
            for row in self._connection.execute(query.order_by(table.c.feed_id)).mappings():
                found[bytes(row["group_digest"])] = row
        return found

    def _count_of(self, source: str) -> int:
        query = sa.select(group_sources.c.memberships).where(group_sources.c.name == source)
        return int(self._connection.execute(query).scalar() or 0)

    def _expected_of_source(self, layer: sa.RowMapping) -> int:
        kept = 0 if layer["whole"] else self._count_of(layer["source"]) - int(layer["replaced"])
        return kept + int(layer["memberships"])

    def _bury(self, source: str) -> None:
        visible = (group_layers.c.source == source, group_layers.c.state == VISIBLE)
        self._connection.execute(sa.update(group_layers).where(*visible).values(state=_DEAD))

    def _set_state(self, feed_id: int, state: str) -> None:
        self._connection.execute(sa.update(group_layers).where(group_layers.c.feed_id == feed_id).values(state=state))

    def _settle(self, feed_id: int, source: str, memberships: int) -> None:
        """Keeps what a source counts from now on, and tells who looks that groups have changed."""
        counted = insert(self._connection, group_sources).values(name=source, memberships=memberships)
        self._connection.execute(counted.on_conflict_do_update(index_elements=["name"], set_={"memberships": memberships}))
        if memberships == 0:
            self._connection.execute(sa.delete(group_sources).where(group_sources.c.name == source))
        SqlFacts(self._connection).put(_GENERATION, str(feed_id))


def _row(id_: int, feed_id: int, digest: bytes, group: Principal, members: Sequence[bytes]) -> dict[str, Any]:
    subject = subject_of(group)
    names = {"namespace": plain(subject.namespace), "domain": plain(subject.domain), "name": plain(subject.name)}
    counted = {"memberships": len(members), "members_digest": _digest_all(members)}
    return {"id": id_, "feed_id": feed_id, "group_digest": digest, **counted, **names}


def _digest_all(members: Sequence[bytes]) -> bytes:
    """Gives what tells whether two groups have the same members."""
    return hashlib.blake2b(b"".join(sorted(members)), digest_size=16).digest()


def _in_layer(feed_id: int, digests: Sequence[bytes], *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    table = group_definitions
    return sa.select(*columns).where(table.c.feed_id == feed_id, table.c.group_digest.in_(digests))


def covered() -> sa.ColumnElement[bool]:
    """Whether a newer visible layer of the same source defines the group too."""
    return _has_other(lambda other: other.c.feed_id > group_definitions.c.feed_id)


def _covers() -> sa.ColumnElement[bool]:
    """Whether an older visible layer of the same source defines the group too."""
    return _has_other(lambda other: other.c.feed_id < group_definitions.c.feed_id)


def _has_other(compare: Callable[[sa.FromClause], sa.ColumnElement[bool]]) -> sa.ColumnElement[bool]:
    other, layer = group_definitions.alias(), group_layers.alias()
    same = (other.c.group_digest == group_definitions.c.group_digest, layer.c.source == group_layers.c.source)
    joined = other.join(layer, layer.c.feed_id == other.c.feed_id)
    query = sa.select(other.c.id).select_from(joined).where(*same, layer.c.state == VISIBLE, compare(other))
    return query.correlate(group_definitions, group_layers).exists()
