"""The progress of the queues, in SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.crawling import SqlCrawlQueue
from feedmill.adapters.store.schema import UNAPPLIED, documents, embedding_queue, feeds, index_tasks, link_queue, queues, replaced_tasks
from feedmill.adapters.store.statements import insert
from feedmill.adapters.store.values import from_micros, now_micros, plain
from feedmill.model.feed import FeedKind
from feedmill.model.queue import FEED_QUEUES, QueueName, WaitingFeed, WaitingQueue, queue_by_size
from feedmill.ports import Stage

_STAGES = {QueueName.EXTRACT: Stage.EXTRACT, QueueName.INDEX: Stage.INDEX}


class SqlQueues:
    """Implements ``ports.Queues``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def begin(self, name: QueueName) -> None:
        """Notes that work on a queue begins now."""
        now = now_micros()
        self._put_queue(name, {"begun_at": now, "moved_at": now, "reached": 0, "document": None, "reason": None})

    def note_progress(self, name: QueueName, *, reached: int = 0) -> None:
        """Notes that a queue made progress."""
        values = {"moved_at": now_micros(), "reached": reached, "document": None, "reason": None}
        self._put_queue(name, values, queues.c.reached < reached if reached else None)

    def note_failure(self, name: QueueName, reason: str, document: str | None = None) -> None:
        """Stores why a queue makes no progress."""
        self._put_queue(name, {"reason": plain(reason), "document": None if document is None else plain(document)})

    def _put_queue(self, name: QueueName, values: dict[str, Any], where: sa.ColumnElement[bool] | None = None) -> None:
        statement = insert(self._connection, queues).values(name=name.value, **values)
        self._connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values, where=where))

    def list(self) -> list[WaitingQueue]:
        """Lists every queue with its waiting items."""
        noted = {row["name"]: row for row in self._connection.execute(sa.select(queues)).mappings()}
        return [self._read_queue(name, noted.get(name.value)) for name in QueueName]

    def _read_queue(self, name: QueueName, noted: sa.RowMapping | None) -> WaitingQueue:
        moved_at = None if noted is None else from_micros(noted["moved_at"])
        reason = None if noted is None else noted["reason"]
        document = None if noted is None else noted["document"]
        if name in FEED_QUEUES:
            return self._read_feeds(name, moved_at, reason)
        if name in _STAGES:
            waiting, oldest_at, head = self._read_stage(_STAGES[name])
        elif name is QueueName.LINKS:
            waiting, oldest_at, head = self._read_links()
        elif name is QueueName.EMBED:
            waiting, oldest_at, head = self._read_embeddings()
        elif name is QueueName.CRAWL:
            waiting, oldest_at, head = *SqlCrawlQueue(self._connection).count_waiting(from_micros(now_micros())), None
        else:
            waiting, oldest_at, head = 0, None if noted is None else from_micros(noted["begun_at"]), None
        return WaitingQueue(
            name=name,
            waiting=waiting,
            oldest_at=oldest_at,
            moved_at=moved_at,
            document=document or head,
            reason=reason if waiting else None,
        )

    def _read_stage(self, stage: Stage) -> tuple[int, datetime | None, str | None]:
        counted = sa.select(sa.func.count(), sa.func.min(index_tasks.c.queued_at)).where(index_tasks.c.stage == stage.value)
        waiting, oldest = self._connection.execute(counted).one()
        first = sa.select(index_tasks.c.document_id).where(index_tasks.c.stage == stage.value)
        first = first.order_by(index_tasks.c.lane, index_tasks.c.feed_id, index_tasks.c.document_id).limit(1)
        return int(waiting), from_micros(oldest), self._find_url(first) if waiting else None

    def _read_links(self) -> tuple[int, datetime | None, str | None]:
        waiting, oldest = self._connection.execute(sa.select(sa.func.count(), sa.func.min(link_queue.c.queued_at))).one()
        first = sa.select(link_queue.c.document_id).order_by(link_queue.c.work, link_queue.c.document_id).limit(1)
        return int(waiting), from_micros(oldest), self._find_url(first) if waiting else None

    def _read_embeddings(self) -> tuple[int, datetime | None, str | None]:
        # a document that the model refused waits for nothing that could move
        is_due = embedding_queue.c.due_at <= now_micros()
        counted = sa.select(sa.func.count(), sa.func.min(embedding_queue.c.due_at)).where(is_due)
        waiting, oldest = self._connection.execute(counted).one()
        first = (
            sa.select(embedding_queue.c.document_id)
            .where(is_due)
            .order_by(embedding_queue.c.due_at, embedding_queue.c.document_id)
            .limit(1)
        )
        return int(waiting), from_micros(oldest), self._find_url(first) if waiting else None

    def _find_url(self, chosen: sa.Select[Any]) -> str | None:
        query = sa.select(documents.c.url).where(documents.c.id == chosen.scalar_subquery())
        return self._connection.execute(query).scalar()

    # --- feeds ---

    def _read_feeds(self, name: QueueName, moved_at: datetime | None, reason: str | None) -> WaitingQueue:
        columns = (feeds.c.id, feeds.c.kind, feeds.c.size_bytes, feeds.c.received_at)
        waiting = [
            row for row in self._connection.execute(sa.select(*columns).where(UNAPPLIED)) if _queue_of(row.kind, row.size_bytes) is name
        ]
        if not waiting:
            return WaitingQueue(name=name, moved_at=moved_at)
        rows = [row for row in self._list_heads() if _queue_of(row.kind, row.size_bytes) is name]
        heads = tuple(self._head(name, row) for row in rows)
        moved = [moment for row in rows if (moment := from_micros(row.moved_at)) is not None]
        failing = next((head for head in heads if head.failure is not None), None)
        first = failing or next(iter(heads), None)
        return WaitingQueue(
            name=name,
            waiting=len(waiting),
            oldest_at=from_micros(min(row.received_at for row in waiting)),
            moved_at=max([*moved, *([] if moved_at is None else [moved_at])], default=None),
            document=None if first is None else f"feed {first.id}",
            reason=failing.failure if failing is not None else reason,
            heads=heads,
        )

    def _list_heads(self) -> Sequence[sa.Row[Any]]:
        """Lists the first unapplied feed of each data source, and of all groups feeds."""
        heads = sa.select(sa.func.min(feeds.c.id)).where(UNAPPLIED).group_by(feeds.c.queue)
        return self._connection.execute(sa.select(feeds).where(feeds.c.id.in_(heads)).order_by(feeds.c.id)).all()

    def _head(self, name: QueueName, row: sa.Row[Any]) -> WaitingFeed:
        times = [row.received_at, row.moved_at or self._find_predecessor_end(row)]
        since = from_micros(max(moment for moment in times if moment is not None))
        assert since is not None
        return WaitingFeed(id=row.id, datasource=row.datasource, queue=name, since=since, failure=row.failure)

    def _find_predecessor_end(self, row: sa.Row[Any]) -> int | None:
        """Returns when the previous feed, for which this one waited, ended."""
        before = sa.select(feeds.c.finished_at).where(feeds.c.queue == row.queue, feeds.c.id < row.id)
        if row.queue == row.datasource:
            before = before.where(feeds.c.datasource == row.datasource)
        found: int | None = self._connection.execute(before.order_by(feeds.c.id.desc()).limit(1)).scalar()
        return found

    def list_stages(self, feed_id: int) -> set[Stage]:
        """Lists the stages in which documents of a feed wait."""
        own = sa.select(index_tasks.c.stage).where(index_tasks.c.feed_id == feed_id)
        replaced = sa.select(index_tasks.c.stage).join(replaced_tasks, replaced_tasks.c.document_id == index_tasks.c.document_id)
        both = own.union(replaced.where(replaced_tasks.c.feed_id == feed_id))
        return {Stage(stage) for stage in self._connection.execute(both).scalars()}


def _queue_of(kind: str, size_bytes: int) -> QueueName:
    return queue_by_size(FeedKind(kind), size_bytes)
