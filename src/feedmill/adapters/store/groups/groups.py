"""Reads the groups database, in SQL; ``snapshotbuilder`` writes the definitions of a groups feed.

Rules: a group snapshot is building, visible or dead. Publishing changes nothing but this state, so it takes no longer for three million
memberships than for one. A definition counts if its snapshot is visible and no visible snapshot of the same source and of a newer feed
defines the same group. Members are stored as digests of the keys by which they are looked up, never as names. A definition without
members is stored only if it must hide an older one of its source. Earlier memberships are in ``history``.
"""

from collections.abc import Callable, Iterator, Sequence

import sqlalchemy as sa

from feedmill.adapters.store.documents.indextasks import SqlKeyValueStore
from feedmill.adapters.store.schema import group_definitions, group_members, group_snapshots, group_sources
from feedmill.adapters.store.statements import batches
from feedmill.core.access.principals import digest_of, exact_key
from feedmill.model.access import Scope
from feedmill.model.identity import PrincipalKey, Subject
from feedmill.ports import GroupDefinition, SourcedDefinition

GENERATION = "groups.generation"
"""The key-value entry that names the feed that changed groups last."""
REDEFINED = "groups.redefined"
"""The key-value entry that names the feed that last replaced a definition of its own group snapshot."""
BUILDING, VISIBLE, DEAD = "building", "visible", "dead"
_MEMBERS_AT_ONCE = 50_000


class SqlGroups:
    """Implements ``Memberships`` and ``GroupSnapshots`` of ``ports``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find_parents(self, keys: Sequence[PrincipalKey]) -> list[tuple[PrincipalKey, Subject]]:
        """Finds the groups that have members with these keys."""
        by_digest = {digest_of(key): key for key in keys}
        columns = (group_members.c.member_digest, group_definitions.c.namespace, group_definitions.c.domain, group_definitions.c.name)
        joined = group_members.join(group_definitions, group_definitions.c.id == group_members.c.definition_id)
        query = sa.select(*columns).select_from(joined.join(group_snapshots, group_snapshots.c.feed_id == group_definitions.c.feed_id))
        query = query.where(group_snapshots.c.state == VISIBLE, ~covered())
        found: dict[tuple[bytes, str, str, str], None] = {}
        for batch in batches(list(by_digest)):
            for digest, namespace, domain, name in self._connection.execute(query.where(group_members.c.member_digest.in_(batch))):
                found[bytes(digest), namespace, domain, name] = None
        return [
            (by_digest[digest], Subject(scope=Scope.GROUP, name=name, domain=domain, namespace=namespace))
            for digest, namespace, domain, name in found
        ]

    def find_definitions(self, group: Subject) -> list[SourcedDefinition]:
        """Returns the definitions of a group that count."""
        table, snapshots = group_definitions, group_snapshots
        query = sa.select(snapshots.c.source, table.c.feed_id, table.c.memberships)
        query = query.select_from(table.join(snapshots, snapshots.c.feed_id == table.c.feed_id)).order_by(snapshots.c.source)
        is_group = table.c.group_digest == digest_of(exact_key(group))
        query = query.where(snapshots.c.state == VISIBLE, ~covered(), is_group, table.c.memberships > 0)
        return [
            SourcedDefinition(source=source, feed_id=feed_id, memberships=memberships)
            for source, feed_id, memberships in self._connection.execute(query)
        ]

    def generation(self) -> int:
        """Returns the number of the feed that changed groups last."""
        return int(SqlKeyValueStore(self._connection).get(GENERATION) or 0)

    def count_memberships(self) -> int:
        """Counts the members of all visible groups."""
        total = sa.select(sa.func.coalesce(sa.func.sum(group_sources.c.memberships), 0))
        return int(self._connection.execute(total).scalar_one())

    def count_by_source(self) -> dict[str, tuple[int, int]]:
        """Counts the groups that have members, and these, of each source."""
        table, snapshots = group_definitions, group_snapshots
        query = sa.select(snapshots.c.source, sa.func.count(), sa.func.sum(table.c.memberships))
        query = query.select_from(table.join(snapshots, snapshots.c.feed_id == table.c.feed_id)).group_by(snapshots.c.source)
        counted = query.where(snapshots.c.state == VISIBLE, ~covered(), table.c.memberships > 0)
        return {source: (int(groups), int(members)) for source, groups, members in self._connection.execute(counted)}

    def list_visible(self) -> dict[int, str]:
        """Lists the visible group snapshots with their sources."""
        query = sa.select(group_snapshots.c.feed_id, group_snapshots.c.source).where(group_snapshots.c.state == VISIBLE)
        return {row.feed_id: row.source for row in self._connection.execute(query)}

    def list_building(self) -> list[int]:
        """Lists the feeds whose group snapshots are being built."""
        return list(self._connection.execute(sa.select(group_snapshots.c.feed_id).where(group_snapshots.c.state == BUILDING)).scalars())

    def measure_snapshot(self, feed_id: int) -> tuple[int, int]:
        """Counts the definitions of a group snapshot and their members."""
        table = group_definitions.c
        counted = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(table.memberships), 0)).where(table.feed_id == feed_id)
        definitions, members = self._connection.execute(counted).one()
        return int(definitions), int(members)

    def is_redefined(self, feed_id: int) -> bool:
        """Returns whether a definition of this group snapshot, or of a later one, was replaced or removed while the snapshot was built."""
        return int(SqlKeyValueStore(self._connection).get(REDEFINED) or 0) >= feed_id

    def iter_definitions(self, feed_id: int, *, after: int = 0) -> Iterator[GroupDefinition]:
        """Returns the definitions of a group snapshot by id."""
        table = group_definitions.c
        columns = (table.id, table.group_digest, table.namespace, table.domain, table.name, table.memberships)
        query = sa.select(*columns).where(table.feed_id == feed_id, table.id > after).order_by(table.id)
        for id_, found, namespace, domain, name, count in self._connection.execute(query):
            group = Subject(scope=Scope.GROUP, name=name, domain=domain, namespace=namespace)
            yield GroupDefinition(id=id_, key=bytes(found), group=group, memberships=count)

    def iter_members(self, feed_id: int, *, after: int = 0, until: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Returns the members of a snapshot's definitions, joined by the database, since each row would be a Python object."""
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


def covered() -> sa.ColumnElement[bool]:
    """Returns whether a newer visible snapshot of the same source also defines the group."""
    return _has_other(lambda other: other.c.feed_id > group_definitions.c.feed_id)


def covers() -> sa.ColumnElement[bool]:
    """Returns whether an older visible snapshot of the same source also defines the group."""
    return _has_other(lambda other: other.c.feed_id < group_definitions.c.feed_id)


def _has_other(compare: Callable[[sa.FromClause], sa.ColumnElement[bool]]) -> sa.ColumnElement[bool]:
    other, snapshot = group_definitions.alias(), group_snapshots.alias()
    same = (other.c.group_digest == group_definitions.c.group_digest, snapshot.c.source == group_snapshots.c.source)
    joined = other.join(snapshot, snapshot.c.feed_id == other.c.feed_id)
    query = sa.select(other.c.id).select_from(joined).where(*same, snapshot.c.state == VISIBLE, compare(other))
    return query.correlate(group_definitions, group_snapshots).exists()


def remove_definitions(connection: sa.Connection, definition_ids: Sequence[int]) -> None:
    """Removes definitions with their members."""
    for batch in batches(definition_ids):
        connection.execute(sa.delete(group_members).where(group_members.c.definition_id.in_(batch)))
        connection.execute(sa.delete(group_definitions).where(group_definitions.c.id.in_(batch)))
