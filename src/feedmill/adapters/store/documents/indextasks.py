"""The outbox and the single values, in SQL."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store import rows
from feedmill.adapters.store.prepared import PreparedChange, PreparedListing, PreparedQuery
from feedmill.adapters.store.schema import index_tasks, key_values, replaced_tasks
from feedmill.adapters.store.statements import batches, insert, upsert
from feedmill.adapters.store.values import now_micros
from feedmill.ports import IndexTask, Lane, Stage

_KEY_VALUES = PreparedQuery(lambda names: sa.select(key_values.c.name, key_values.c.value).where(key_values.c.name.in_(names)))
_SAME_VERSION = (index_tasks.c.document_id == sa.bindparam("id_"), index_tasks.c.version == sa.bindparam("version_"))


def _build_put(connection: sa.Connection) -> sa.ClauseElement:
    statement = insert(connection, index_tasks)
    new = statement.excluded
    replaced: dict[str, sa.ColumnElement[Any]] = {name: new[name] for name in ("version", "stage", "feed_id", "datasource")}
    # A revocation that waits must not be lost because a later change revokes nothing.
    replaced["revokes_access"] = sa.or_(index_tasks.c.revokes_access, new.revokes_access)
    # a document that changes repeatedly has waited since its first change; in another stage its wait begins again
    replaced["queued_at"] = sa.case((index_tasks.c.stage == new.stage, index_tasks.c.queued_at), else_=new.queued_at)
    replaced["is_refresh"] = sa.and_(index_tasks.c.is_refresh, new.is_refresh)
    replaced["lane"] = sa.case((index_tasks.c.lane < new.lane, index_tasks.c.lane), else_=new.lane)
    return statement.on_conflict_do_update(index_elements=["document_id"], set_=replaced)


_OF_STAGE = index_tasks.c.stage == sa.bindparam("stage_", type_=sa.Text)
_OF_LANE = index_tasks.c.lane == sa.bindparam("lane_", type_=sa.Integer)
_FEED, _DOCUMENT = (sa.bindparam(name, type_=sa.BigInteger) for name in ("after_feed_", "after_document_"))


def _build_listing(*conditions: sa.ColumnElement[bool]) -> PreparedListing:
    order = (index_tasks.c.lane, index_tasks.c.feed_id, index_tasks.c.document_id)
    query = sa.select(*rows.TASK).where(_OF_STAGE, *conditions).order_by(*order)
    return PreparedListing(query.limit(sa.bindparam("limit_", type_=sa.Integer)))


_ALL, _ALL_OF_LANE = _build_listing(), _build_listing(_OF_LANE)
# Two queries, since SQLite sorts all tasks of a feed to compare them as whole rows: 6 ms for each part of a feed of 20,000 documents.
_BEHIND_IN_FEED = _build_listing(_OF_LANE, index_tasks.c.feed_id == _FEED, index_tasks.c.document_id > _DOCUMENT)
_OF_LATER_FEEDS = _build_listing(_OF_LANE, index_tasks.c.feed_id > _FEED)
_PUT = PreparedChange(_build_put, [column.name for column in index_tasks.columns])
_ADVANCE = PreparedChange(
    lambda _: (
        sa.update(index_tasks)
        .where(*_SAME_VERSION)
        .values(stage=sa.bindparam("stage_", type_=sa.Text), queued_at=sa.bindparam("now_", type_=sa.BigInteger))
    ),
    ("id_", "version_", "stage_", "now_"),
)
_REMOVE = PreparedChange(lambda _: sa.delete(index_tasks).where(*_SAME_VERSION), ("id_", "version_"))
_BY_DOCUMENT = PreparedQuery(lambda ids: sa.select(*rows.TASK).where(index_tasks.c.document_id.in_(ids)))


def _list_behind(connection: sa.Connection, stage: Stage, limit: int, after: IndexTask) -> list[IndexTask]:
    place = {"lane_": after.lane.value, "after_feed_": after.feed_id or 0}
    found = _run(connection, _BEHIND_IN_FEED, stage, limit, **place, after_document_=after.document_id)
    return found if len(found) == limit else [*found, *_run(connection, _OF_LATER_FEEDS, stage, limit - len(found), **place)]


def _run(connection: sa.Connection, listing: PreparedListing, stage: Stage, limit: int, **values: int) -> list[IndexTask]:
    return list(map(rows.task_from_row, listing.run(connection, {"stage_": stage.value, "limit_": limit, **values})))


class SqlIndexTasks:
    """Implements ``ports.IndexTasks``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def put_many(self, changed: Sequence[IndexTask]) -> None:
        """Stores index tasks, one for each document."""
        if not changed:
            return
        self._record_replaced(changed)
        now = now_micros()
        _PUT.run(self._connection, [{**rows.task_to_row(task), "queued_at": now} for task in changed])

    def _record_replaced(self, changed: Sequence[IndexTask]) -> None:
        """Remembers the feeds whose index tasks another feed's tasks are about to replace."""
        feeds = {task.document_id: task.feed_id for task in changed}
        held = self.find_many(list(feeds)).values()
        replaced_by_others = [
            {"document_id": task.document_id, "feed_id": task.feed_id or 0, "revokes_access": task.revokes_access}
            for task in held
            if task.feed_id != feeds[task.document_id]
        ]
        if replaced_by_others:
            statement = insert(self._connection, replaced_tasks)
            revokes_access = sa.or_(replaced_tasks.c.revokes_access, statement.excluded.revokes_access)
            recording = statement.on_conflict_do_update(index_elements=["document_id", "feed_id"], set_={"revokes_access": revokes_access})
            self._connection.execute(recording, replaced_by_others)

    def list(self, stage: Stage, limit: int, *, lane: Lane | None = None, after: IndexTask | None = None) -> list[IndexTask]:
        """Lists index tasks of a stage, quick lane first."""
        if after is not None:
            return _list_behind(self._connection, stage, limit, after)
        if lane is None:
            return _run(self._connection, _ALL, stage, limit)
        return _run(self._connection, _ALL_OF_LANE, stage, limit, lane_=lane.value)

    def advance(self, done: Sequence[IndexTask]) -> None:
        """Moves tasks to the index stage if their versions are exactly these."""
        if done:
            moved = {"stage_": Stage.INDEX.value, "now_": now_micros()}
            _ADVANCE.run(self._connection, [{"id_": task.document_id, "version_": task.version, **moved} for task in done])

    def remove(self, done: Sequence[IndexTask]) -> None:
        """Removes tasks if their versions are exactly these."""
        if done:
            _REMOVE.run(self._connection, [{"id_": task.document_id, "version_": task.version} for task in done])
            self._forget_replaced([task.document_id for task in done])

    def _forget_replaced(self, document_ids: Sequence[int]) -> None:
        """Removes the record of replaced tasks for documents that have no task any more."""
        # The table is usually empty, and one look is cheaper than a deletion for each batch.
        if self._connection.execute(sa.select(replaced_tasks.c.document_id).limit(1)).first() is None:
            return
        has_task = sa.exists().where(index_tasks.c.document_id == replaced_tasks.c.document_id)
        for batch in batches(document_ids):
            self._connection.execute(sa.delete(replaced_tasks).where(replaced_tasks.c.document_id.in_(batch), ~has_task))

    def find_many(self, document_ids: Sequence[int]) -> dict[int, IndexTask]:
        """Finds index tasks by document."""
        found: dict[int, IndexTask] = {}
        for batch in batches(document_ids):
            for row in _BY_DOCUMENT.run(self._connection, batch):
                task = rows.task_from_row(row)
                found[task.document_id] = task
        return found

    def count(self) -> dict[Stage, int]:
        """Counts index tasks by stage."""
        query = sa.select(index_tasks.c.stage, sa.func.count()).group_by(index_tasks.c.stage)
        counted = {Stage(stage): int(count) for stage, count in self._connection.execute(query)}
        return {stage: counted.get(stage, 0) for stage in Stage}

    def list_open_feeds(self, feed_ids: Sequence[int]) -> tuple[set[int], set[int]]:
        """Returns which of the feeds still have index tasks, and which have tasks that revoke access."""
        waiting: set[int] = set()
        revoking: set[int] = set()
        for feed_id in feed_ids:
            for table in (index_tasks, replaced_tasks):
                one = sa.select(table.c.document_id).where(table.c.feed_id == feed_id).limit(1)
                if self._connection.execute(one).first() is not None:
                    waiting.add(feed_id)
                    if self._connection.execute(one.where(table.c.revokes_access)).first() is not None:
                        revoking.add(feed_id)
        return waiting, revoking


class SqlKeyValueStore:
    """Implements ``ports.KeyValueStore``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get(self, name: str) -> str | None:
        """Returns a value, or None if it was never set."""
        return self.find_many([name]).get(name)

    def find_many(self, names: Sequence[str]) -> dict[str, str]:
        """Finds the values of the names that were set."""
        return dict(_KEY_VALUES.run(self._connection, names)) if names else {}

    def put(self, name: str, value: str) -> None:
        """Sets a value."""
        self._connection.execute(upsert(self._connection, key_values, ["name"]), [{"name": name, "value": value}])
