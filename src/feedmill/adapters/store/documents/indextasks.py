"""The outbox and the single values, in SQL."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store import rows
from feedmill.adapters.store.prepared import Prepared
from feedmill.adapters.store.schema import facts, marks, overtaken_marks
from feedmill.adapters.store.statements import batches, insert, upsert
from feedmill.adapters.store.values import now_micros
from feedmill.ports import IndexTask, Lane, Stage

_FACTS = Prepared(lambda names: sa.select(facts.c.name, facts.c.value).where(facts.c.name.in_(names)))


class SqlIndexTasks:
    """Implements ``ports.IndexTasks``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def put_many(self, changed: Sequence[IndexTask]) -> None:
        """Stores index tasks, one for each document."""
        if not changed:
            return
        self._keep_overtaken(changed)
        statement = insert(self._connection, marks)
        new = statement.excluded
        replaced: dict[str, sa.ColumnElement[Any]] = {name: new[name] for name in ("version", "stage", "feed_id", "datasource")}
        replaced["tightens"] = sa.or_(marks.c.tightens, new.tightens)
        # a document that changes repeatedly has waited since its first change; in another stage its wait begins again
        replaced["queued_at"] = sa.case((marks.c.stage == new.stage, marks.c.queued_at), else_=new.queued_at)
        replaced["repeats"] = sa.and_(marks.c.repeats, new.repeats)
        replaced["lane"] = sa.case((marks.c.lane < new.lane, marks.c.lane), else_=new.lane)
        upserting = statement.on_conflict_do_update(index_elements=["document_id"], set_=replaced)
        now = now_micros()
        self._connection.execute(upserting, [{**rows.mark_to_row(mark), "queued_at": now} for mark in changed])

    def _keep_overtaken(self, changed: Sequence[IndexTask]) -> None:
        """Remembers the feeds whose index tasks another feed's tasks are about to replace."""
        feeds = {mark.document_id: mark.feed_id for mark in changed}
        held = self.find_many(list(feeds)).values()
        overtaken = [
            {"document_id": mark.document_id, "feed_id": mark.feed_id, "tightens": mark.revokes_access}
            for mark in held
            if mark.feed_id != feeds[mark.document_id]
        ]
        if overtaken:
            statement = insert(self._connection, overtaken_marks)
            tightens = sa.or_(overtaken_marks.c.tightens, statement.excluded.tightens)
            keeping = statement.on_conflict_do_update(index_elements=["document_id", "feed_id"], set_={"tightens": tightens})
            self._connection.execute(keeping, overtaken)

    def list(self, stage: Stage, limit: int, *, lane: Lane | None = None, after: IndexTask | None = None) -> list[IndexTask]:
        """Lists index tasks of a stage, quick lane first."""
        order = (marks.c.lane, marks.c.feed_id, marks.c.document_id)
        query = sa.select(marks).where(marks.c.stage == stage.value).order_by(*order).limit(limit)
        if after is not None:
            query = query.where(sa.tuple_(*order) > sa.tuple_(after.lane.value, after.feed_id, after.document_id))
        if lane is not None:
            query = query.where(marks.c.lane == lane.value)
        return [rows.mark_from_row(row) for row in self._connection.execute(query).mappings()]

    def advance(self, done: Sequence[IndexTask]) -> None:
        """Moves tasks to the index stage if their versions are exactly these."""
        if done:
            changing = sa.update(marks).where(marks.c.document_id == sa.bindparam("id_"), marks.c.version == sa.bindparam("version_"))
            values = [{"id_": mark.document_id, "version_": mark.version} for mark in done]
            self._connection.execute(changing.values(stage=Stage.INDEX.value, queued_at=now_micros()), values)

    def remove(self, done: Sequence[IndexTask]) -> None:
        """Removes tasks if their versions are exactly these."""
        if done:
            removing = sa.delete(marks).where(marks.c.document_id == sa.bindparam("id_"), marks.c.version == sa.bindparam("version_"))
            self._connection.execute(removing, [{"id_": mark.document_id, "version_": mark.version} for mark in done])
            self._forget_overtaken([mark.document_id for mark in done])

    def _forget_overtaken(self, document_ids: Sequence[int]) -> None:
        """Removes the record of replaced tasks for documents that have no task any more."""
        if self._connection.execute(sa.select(overtaken_marks.c.document_id).limit(1)).first() is None:
            return
        has_mark = sa.exists().where(marks.c.document_id == overtaken_marks.c.document_id)
        for batch in batches(document_ids):
            self._connection.execute(sa.delete(overtaken_marks).where(overtaken_marks.c.document_id.in_(batch), ~has_mark))

    def find_many(self, document_ids: Sequence[int]) -> dict[int, IndexTask]:
        """Finds index tasks by document."""
        found: dict[int, IndexTask] = {}
        for batch in batches(document_ids):
            for row in self._connection.execute(sa.select(marks).where(marks.c.document_id.in_(batch))).mappings():
                found[row["document_id"]] = rows.mark_from_row(row)
        return found

    def count(self) -> dict[Stage, int]:
        """Counts index tasks by stage."""
        query = sa.select(marks.c.stage, sa.func.count()).group_by(marks.c.stage)
        counted = {Stage(stage): int(count) for stage, count in self._connection.execute(query)}
        return {stage: counted.get(stage, 0) for stage in Stage}

    def list_open_feeds(self, feed_ids: Sequence[int]) -> tuple[set[int], set[int]]:
        """Returns which of the feeds still have index tasks, and which have tasks that revoke access."""
        marked: set[int] = set()
        tightening: set[int] = set()
        for feed_id in feed_ids:
            for table in (marks, overtaken_marks):
                one = sa.select(table.c.document_id).where(table.c.feed_id == feed_id).limit(1)
                if self._connection.execute(one).first() is not None:
                    marked.add(feed_id)
                    if self._connection.execute(one.where(table.c.tightens)).first() is not None:
                        tightening.add(feed_id)
        return marked, tightening


class SqlKeyValueStore:
    """Implements ``ports.KeyValueStore``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get(self, name: str) -> str | None:
        """Returns a value, or None if it was never set."""
        return self.find_many([name]).get(name)

    def find_many(self, names: Sequence[str]) -> dict[str, str]:
        """Finds the values of the names that were set."""
        return dict(_FACTS.run(self._connection, names)) if names else {}

    def put(self, name: str, value: str) -> None:
        """Sets a value."""
        self._connection.execute(upsert(self._connection, facts, ["name"]), [{"name": name, "value": value}])
