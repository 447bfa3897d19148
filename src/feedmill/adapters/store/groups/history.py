"""Earlier group memberships, in SQL.

Rules: only changes are stored, one row for each membership: which feed added or removed it, all sources united. The groups of a time are
the current ones with later changes undone. For a member and a group the earliest change after the time decides; if there is none, the
current state does. A group that had no members before is one row without a member, so that a first load writes one row for each group.
The rows of a feed count from its publication on. If the digests of two definitions' members are known, they decide whether both have the
same members. So a source that replaces its groups by the same ones costs one comparison for each group and stores nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.groups.groups import BUILDING, VISIBLE, SqlGroups, covered
from feedmill.adapters.store.groups.pastgroups import ALL, PastGroups
from feedmill.adapters.store.schema import (
    group_changes,
    group_definitions,
    group_members,
    group_names,
    group_publications,
    group_snapshots,
)
from feedmill.adapters.store.statements import batches, insert
from feedmill.adapters.store.values import to_micros
from feedmill.model.identity import PrincipalKey, Subject
from feedmill.ports import ComparisonCursor, PastMembership, PurgeCursor

_DEFINITIONS_AT_ONCE = 1_000
_VALUES = "(member_digest, group_number, feed_id, gained) VALUES"
_INSERT_SQLITE = f"INSERT INTO group_changes {_VALUES} (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_INSERT_POSTGRES = f"INSERT INTO group_changes {_VALUES} (%s, %s, %s, %s) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Defined:
    """A definition whose members are compared. Shape: ``digest`` is the group's, ``members`` that of its members, if known."""

    id: int
    digest: bytes
    source: str
    names: tuple[str, str, str]
    memberships: int
    members: bytes | None

    def is_same_as(self, other: "_Defined") -> bool:
        return self.members is not None and self.members == other.members


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A definition whose members have changed, except those that are also in the other definitions."""

    at: int
    defined: _Defined | None
    others: tuple[_Defined, ...] = ()

    @property
    def is_idle(self) -> bool:
        return self.defined is None or not self.defined.memberships or any(map(self.defined.is_same_as, self.others))


class SqlGroupHistory:
    """Implements ``ports.GroupHistory``."""

    def __init__(self, connection: sa.Connection, groups: SqlGroups) -> None:
        self._connection = connection
        self._groups = groups

    # --- comparing ---

    def compare(self, feed_id: int, after: ComparisonCursor, limit: int) -> ComparisonCursor | None:
        """Records what publishing a group snapshot will change: first added members, then removed ones."""
        snapshot = self._connection.execute(sa.select(group_snapshots).where(group_snapshots.c.feed_id == feed_id)).mappings().one()
        reached: ComparisonCursor | None = after
        limit_left = limit
        while reached is not None and limit_left > 0:
            tasks = self._list_tasks(snapshot, reached)
            reached, limit_left = self._work(tasks, feed_id, reached, limit_left)
            if reached is not None and len(tasks) == _DEFINITIONS_AT_ONCE:
                break
        return reached

    def _work(self, tasks: Sequence[_Task], feed_id: int, after: ComparisonCursor, limit_left: int) -> tuple[ComparisonCursor | None, int]:
        """Processes tasks up to the limit. Returns where to continue, and how much of the limit is left."""
        numbers = self._number_many([task.defined for task in tasks if task.defined is not None and not task.is_idle], feed_id)
        reached = after
        for task in tasks:
            if limit_left <= 0:
                return reached, limit_left
            if task.defined is not None and not task.is_idle:
                place = (numbers[task.defined.digest], feed_id, after.gains_only)
                last, examined = self._store_changes(task, place, reached.member, limit_left)
                limit_left -= examined
                if last is not None:
                    return ComparisonCursor(gains_only=after.gains_only, definition=reached.definition, member=last), limit_left
            reached = ComparisonCursor(gains_only=after.gains_only, definition=task.at)
        if len(tasks) == _DEFINITIONS_AT_ONCE:
            return reached, limit_left
        return (ComparisonCursor(gains_only=False) if after.gains_only else None), limit_left

    def _list_tasks(self, snapshot: sa.RowMapping, after: ComparisonCursor) -> list[_Task]:
        """Lists what to compare next: the snapshot's definitions or, if a whole snapshot removes groups, those that it replaces."""
        if snapshot["is_full"] and not after.gains_only:
            return self._list_replaced(snapshot, after.definition)
        query = _definitions().where(group_definitions.c.feed_id == snapshot["feed_id"])
        mine = self._read_definitions(_next(query, after.definition))
        seen = self._find_seen([each.digest for each in mine])
        if after.gains_only:
            return [_Task(at=each.id, defined=each, others=tuple(seen.get(each.digest, ()))) for each in mine]
        return [_task_of_loss(each, snapshot["source"], seen.get(each.digest, ())) for each in mine]

    def _list_replaced(self, snapshot: sa.RowMapping, after: int) -> list[_Task]:
        source = snapshot["source"]
        query = _definitions().where(group_snapshots.c.source == source, group_snapshots.c.state == VISIBLE, ~covered())
        replaced = self._read_definitions(_next(query, after))
        digests = [each.digest for each in replaced]
        fresh: dict[bytes, _Defined] = {}
        for batch in batches(digests):
            query = _definitions().where(group_definitions.c.feed_id == snapshot["feed_id"], group_definitions.c.group_digest.in_(batch))
            fresh.update((each.digest, each) for each in self._read_definitions(query))
        seen = self._find_seen(digests)
        tasks = []
        for each in replaced:
            others = [other for other in seen.get(each.digest, ()) if other.source != source]
            others += [fresh[each.digest]] if each.digest in fresh else []
            tasks.append(_Task(at=each.id, defined=each, others=tuple(others)))
        return tasks

    def _find_seen(self, digests: Sequence[bytes]) -> dict[bytes, list[_Defined]]:
        """Finds the definitions of groups that are in force now, in all sources."""
        found: dict[bytes, list[_Defined]] = {}
        for batch in batches(digests):
            query = _definitions().where(group_snapshots.c.state == VISIBLE, group_definitions.c.group_digest.in_(batch), ~covered())
            for each in self._read_definitions(query.where(group_definitions.c.memberships > 0)):
                found.setdefault(each.digest, []).append(each)
        return found

    def _read_definitions(self, query: sa.Select[Any]) -> list[_Defined]:
        return [
            _Defined(
                id=row["id"],
                digest=bytes(row["group_digest"]),
                source=row["source"],
                names=(row["namespace"], row["domain"], row["name"]),
                memberships=row["memberships"],
                members=None if row["members_digest"] is None else bytes(row["members_digest"]),
            )
            for row in self._connection.execute(query).mappings()
        ]

    def _store_changes(self, task: _Task, place: tuple[int, int, bool], after: bytes, limit_left: int) -> tuple[bytes | None, int]:
        """Records the changes of one definition.

        Returns the member after which to continue, None at its end, and the number of members compared.
        """
        assert task.defined is not None
        # The group had no members before, so one row stands for all of its members.
        if place[2] and not task.others:
            self._insert([(ALL, *place)])
            return None, 1
        table = group_members.c
        query = sa.select(table.member_digest).where(table.definition_id == task.defined.id, table.member_digest > after)
        found = self._connection.execute(query.order_by(table.member_digest).limit(limit_left)).scalars()
        members = [bytes(member) for member in found]
        remaining = set(members)
        for other in task.others:
            remaining -= self._find_members(other.id, [member for member in members if member in remaining])
        self._insert([(member, *place) for member in members if member in remaining])
        return (members[-1] if len(members) >= limit_left else None), len(members)

    def _find_members(self, definition_id: int, members: Sequence[bytes]) -> set[bytes]:
        found: set[bytes] = set()
        for batch in batches(members):
            query = sa.select(group_members.c.member_digest)
            query = query.where(group_members.c.definition_id == definition_id, group_members.c.member_digest.in_(batch))
            found.update(map(bytes, self._connection.execute(query).scalars()))
        return found

    def _insert(self, changes: Sequence[tuple[bytes, int, int, bool]]) -> None:
        if changes:
            is_postgres = self._connection.dialect.name == "postgresql"
            self._connection.exec_driver_sql(_INSERT_POSTGRES if is_postgres else _INSERT_SQLITE, list(changes))

    def _number_many(self, changed: Sequence[_Defined], feed_id: int) -> dict[bytes, int]:
        """Returns the number of each group, and stores that a feed changes it."""
        values = {
            each.digest: dict(zip(("namespace", "domain", "name"), each.names, strict=True))
            | {"group_digest": each.digest, "feed_id": feed_id}
            for each in changed
        }
        if values:
            adding = insert(self._connection, group_names)
            adding = adding.on_conflict_do_update(index_elements=["group_digest"], set_={"feed_id": adding.excluded.feed_id})
            self._connection.execute(adding, list(values.values()))
        found: dict[bytes, int] = {}
        for batch in batches(list(values)):
            query = sa.select(group_names.c.group_digest, group_names.c.number).where(group_names.c.group_digest.in_(batch))
            found.update((bytes(digest), number) for digest, number in self._connection.execute(query))
        return found

    def publish(self, feed_id: int, source: str, *, at: datetime) -> None:
        """Records when a group snapshot was published."""
        newest = self._connection.execute(sa.select(sa.func.max(group_publications.c.at))).scalar() or 0
        # The clock may have been set back. The order of publications must not change with it.
        moment = max(newest, to_micros(at))
        adding = insert(self._connection, group_publications).values(feed_id=feed_id, source=source, at=moment)
        self._connection.execute(adding.on_conflict_do_nothing())

    # --- looking back ---

    def find_parents_at(self, keys: Sequence[PrincipalKey], at: datetime) -> list[tuple[PrincipalKey, Subject]]:
        """Finds the groups that had members with these keys at a time."""
        return [(each.key, each.group) for each in self.list_memberships(keys, at) if each.held_at(at)]

    def list_memberships(self, keys: Sequence[PrincipalKey], since: datetime) -> list[PastMembership]:
        """Lists the groups that have, or had at some time after ``since``, members with these keys."""
        return PastGroups(self._connection, self._groups).list_memberships(keys, since)

    # --- upkeep ---

    def forget(self, before: datetime, after: PurgeCursor, limit: int) -> PurgeCursor | None:
        """Removes changes older than a time, and those of dropped group snapshots."""
        self._connection.execute(sa.delete(group_publications).where(group_publications.c.at < to_micros(before)))
        table = group_changes.c
        place = sa.tuple_(table.member_digest, table.group_number, table.feed_id)
        begin = sa.tuple_(sa.literal(after.member), sa.literal(after.group), sa.literal(after.feed_id))
        # The end of this step is looked up first, so that one deletion covers the whole range.
        next_ = sa.select(table.member_digest, table.group_number, table.feed_id).where(place > begin)
        reached = self._connection.execute(next_.order_by(*place.clauses).limit(1).offset(limit - 1)).first()
        among = [place > begin]
        if reached is not None:
            among.append(place <= sa.tuple_(*(sa.literal(value) for value in reached)))
        self._connection.execute(sa.delete(group_changes).where(*among, *_is_forgotten(table.feed_id)))
        if reached is not None:
            return PurgeCursor(member=bytes(reached[0]), group=reached[1], feed_id=reached[2])
        self._connection.execute(sa.delete(group_names).where(*_is_forgotten(group_names.c.feed_id)))
        return None


def _task_of_loss(each: _Defined, source: str, seen: Sequence[_Defined]) -> _Task:
    mine = [other for other in seen if other.source == source]
    others = [other for other in seen if other.source != source]
    return _Task(at=each.id, defined=mine[0] if mine else None, others=(*others, each))


def _definitions() -> sa.Select[Any]:
    query = sa.select(group_definitions, group_snapshots.c.source)
    return query.join(group_snapshots, group_snapshots.c.feed_id == group_definitions.c.feed_id)


def _next(query: sa.Select[Any], after: int) -> sa.Select[Any]:
    return query.where(group_definitions.c.id > after).order_by(group_definitions.c.id).limit(_DEFINITIONS_AT_ONCE)


def _is_forgotten(feed_id: sa.ColumnElement[int]) -> list[sa.ColumnElement[bool]]:
    published = sa.select(group_publications.c.feed_id)
    building = sa.select(group_snapshots.c.feed_id).where(group_snapshots.c.state == BUILDING)
    return [feed_id.not_in(published), feed_id.not_in(building)]
