"""Feeds, their logs and the data sources, in SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store import rows
from feedmill.adapters.store.pulling import forget_items
from feedmill.adapters.store.schema import UNAPPLIED, UNSETTLED, datasources, documents, feed_log, feeds
from feedmill.adapters.store.statements import batches, insert
from feedmill.adapters.store.values import now_micros, plain, to_micros
from feedmill.model.errors import NotFound
from feedmill.model.feed import DataSource, Feed, FeedKind, FeedTarget, LogEntry, NewFeed
from feedmill.ports import FileUse, Lease

_GROUPS_QUEUE = "/xmlgroups"
"""The queue of all groups feeds, which no data source can be named. Every other feed is in the queue of its data source."""

FIRST_LATE = 1_000_000
LATE_ENTRIES = 1_000
"""The first number of the late log entries, and how many of them a feed can have."""

_SOURCE_KINDS = {FeedKind.FULL: "content", FeedKind.INCREMENTAL: "content", FeedKind.METADATA_AND_URL: "web"}


class SqlFeeds:
    """Implements ``StoredFeedReader``, ``FeedQueue``, ``FeedLog`` and ``FeedUpkeep`` of ``ports``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, feed: NewFeed) -> int:
        """Stores a received feed and its data source."""
        values = {
            "datasource": feed.datasource,
            "kind": feed.kind.value,
            "format": feed.format,
            "file": feed.file,
            "size_bytes": feed.size_bytes,
            "received_at": to_micros(feed.received_at),
            "client": plain(feed.client),
            "state": "received",
            "phase": "scan",
            "queue": _GROUPS_QUEUE if feed.kind.target is FeedTarget.GROUPS else feed.datasource,
        }
        kind = _SOURCE_KINDS.get(feed.kind)
        if kind is not None:
            source = insert(self._connection, datasources).values(name=feed.datasource, kind=kind)
            self._connection.execute(source.on_conflict_do_update(index_elements=["name"], set_={"kind": kind}))
        return int(self._connection.execute(sa.insert(feeds).values(values).returning(feeds.c.id)).scalar_one())

    def get(self, feed_id: int) -> Feed:
        """Returns a feed."""
        row = self._connection.execute(sa.select(feeds).where(feeds.c.id == feed_id)).mappings().first()
        if row is None:
            raise NotFound(f"there is no feed {feed_id}")
        return rows.feed_from_row(row)

    def list_newest(self, datasource: str | None, limit: int, before: int | None = None) -> list[Feed]:
        """Lists feeds, newest first, those older than ``before``."""
        query = sa.select(feeds).order_by(feeds.c.id.desc()).limit(limit)
        if datasource is not None:
            query = query.where(feeds.c.datasource == datasource)
        if before is not None:
            query = query.where(feeds.c.id < before)
        return [rows.feed_from_row(row) for row in self._connection.execute(query).mappings()]

    def count_waiting(self) -> int:
        """Counts the feeds that are not completely applied."""
        return int(self._connection.execute(sa.select(sa.func.count()).select_from(feeds).where(UNAPPLIED)).scalar_one())

    def list_claimable(self, lease: Lease, *, now: datetime, limit: int) -> list[Feed]:
        """Lists the first unapplied feed of each queue that the owner may claim or already holds."""
        # Only the first feed of each queue: the feeds of a data source are applied in order.
        heads = sa.select(sa.func.min(feeds.c.id)).where(UNAPPLIED).group_by(feeds.c.queue)
        free = sa.or_(feeds.c.lease_owner.is_(None), feeds.c.lease_owner == lease.owner, feeds.c.lease_expires_at < to_micros(now))
        query = sa.select(feeds).where(feeds.c.id.in_(heads), free, feeds.c.size_bytes >= lease.min_bytes).order_by(feeds.c.id).limit(limit)
        if lease.max_bytes is not None:
            query = query.where(feeds.c.size_bytes < lease.max_bytes)
        return [rows.feed_from_row(row) for row in self._connection.execute(query).mappings()]

    def claim(self, lease: Lease, *, now: datetime, limit: int) -> list[Feed]:
        """Claims the feeds that ``list_claimable`` returns."""
        taken = self.list_claimable(lease, now=now, limit=limit)
        if taken:
            claim = {"lease_owner": lease.owner, "lease_expires_at": to_micros(lease.until)}
            self._connection.execute(sa.update(feeds).where(feeds.c.id.in_([feed.id for feed in taken])).values(claim))
        return taken

    def release(self, owner: str) -> None:
        """Releases all feeds that ``owner`` holds."""
        self._connection.execute(sa.update(feeds).where(feeds.c.lease_owner == owner).values(lease_owner=None, lease_expires_at=None))

    def save(self, feed: Feed, log: Sequence[LogEntry] = ()) -> None:
        """Stores a feed's progress and appends to its log. ``feed.logged`` already counts the new entries."""
        moved = {"moved_at": now_micros(), "failure": None}
        self._connection.execute(sa.update(feeds).where(feeds.c.id == feed.id).values(rows.feed_progress(feed) | moved))
        if log:
            first = feed.logged - len(log)
            self._connection.execute(sa.insert(feed_log), [_log_row(feed.id, first + place, entry) for place, entry in enumerate(log)])

    def log_late(self, feed_id: int, entries: Sequence[LogEntry]) -> None:
        """Appends entries with numbers of their own range, so that they never collide with the feeder's entries."""
        counted = sa.select(feeds.c.late_logged).where(feeds.c.id == feed_id).with_for_update()
        first = self._connection.execute(counted).scalar_one_or_none()
        if first is None or not entries or first >= LATE_ENTRIES:
            return
        accepted = list(entries[: LATE_ENTRIES - first])
        rows_of = [_log_row(feed_id, FIRST_LATE + first + place, entry) for place, entry in enumerate(accepted)]
        self._connection.execute(sa.insert(feed_log), rows_of)
        self._connection.execute(sa.update(feeds).where(feeds.c.id == feed_id).values(late_logged=first + len(accepted)))

    def note_progress(self, feed_id: int, reached: int) -> None:
        """Notes progress of a feed within a step."""
        further = sa.update(feeds).where(feeds.c.id == feed_id, feeds.c.reached < reached)
        self._connection.execute(further.values(reached=reached, moved_at=now_micros(), failure=None))

    def note_failure(self, feed_id: int, reason: str) -> None:
        """Stores why a feed's last step failed."""
        self._connection.execute(sa.update(feeds).where(feeds.c.id == feed_id).values(failure=plain(reason)))

    def list_log(self, feed_id: int, limit: int) -> list[LogEntry]:
        """Lists a feed's log in the order written."""
        query = sa.select(feed_log).where(feed_log.c.feed_id == feed_id).order_by(feed_log.c.number).limit(limit)
        parts = (query.where(feed_log.c.number < FIRST_LATE), query.where(feed_log.c.number >= FIRST_LATE))
        return [rows.log_from_row(row) for part in parts for row in self._connection.execute(part).mappings()]

    def list_unsettled(self) -> list[Feed]:
        """Lists feeds that are applied but not yet completely in force or searchable."""
        query = sa.select(feeds).where(UNSETTLED).order_by(feeds.c.id)
        return [rows.feed_from_row(row) for row in self._connection.execute(query).mappings()]

    def list_prunable(self, keep: int) -> list[Feed]:
        """Lists final, searchable feeds beyond the newest ``keep`` of their data or group source."""
        position = sa.func.row_number().over(partition_by=[feeds.c.queue, feeds.c.datasource], order_by=feeds.c.id.desc()).label("position")
        ranked = sa.select(feeds.c.id, position).subquery()
        query = sa.select(feeds).join(ranked, ranked.c.id == feeds.c.id)
        query = query.where(ranked.c.position > keep, feeds.c.phase == "done", feeds.c.searchable_at.is_not(None))
        return [rows.feed_from_row(row) for row in self._connection.execute(query).mappings()]

    def remove(self, feed_ids: Sequence[int]) -> None:
        """Removes feeds and their logs."""
        for batch in batches(feed_ids):
            self._connection.execute(sa.delete(feed_log).where(feed_log.c.feed_id.in_(batch)))
            self._connection.execute(sa.delete(feeds).where(feeds.c.id.in_(batch)))

    def find_files(self, names: Sequence[str]) -> dict[str, FileUse]:
        """Returns how feeds use files, by name."""
        found: dict[str, FileUse] = {}
        is_needed = sa.case((UNAPPLIED, sa.true()), else_=sa.false()).label("is_needed")
        for batch in batches(names):
            for column, use in ((feeds.c.repaired_file, FileUse.SPENT), (feeds.c.file, FileUse.RECEIVED)):
                query = sa.select(column, is_needed).where(column.in_(batch))
                for name, needed in self._connection.execute(query):
                    found[name] = FileUse.NEEDED if needed else use
        return found


def _log_row(feed_id: int, number: int, entry: LogEntry) -> dict[str, Any]:
    return {
        "feed_id": feed_id,
        "number": number,
        "level": entry.level.value,
        "record": entry.record,
        "line": entry.line,
        "url": None if entry.url is None else plain(entry.url),
        "reason": plain(entry.reason),
    }


class SqlSources:
    """Implements ``ports.Sources``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def list(self) -> list[DataSource]:
        """Lists all data sources with their counts."""
        counts = sa.select(documents.c.datasource, sa.func.count().label("n")).where(sa.text("documents.state = 'live'"))
        docs = counts.group_by(documents.c.datasource).subquery()
        fed = sa.select(feeds.c.queue, sa.func.count().label("n")).group_by(feeds.c.queue).subquery()
        query = sa.select(
            datasources.c.name,
            datasources.c.kind,
            sa.func.coalesce(docs.c.n, 0).label("documents"),
            sa.func.coalesce(fed.c.n, 0).label("feeds"),
        )
        query = query.outerjoin(docs, docs.c.datasource == datasources.c.name).outerjoin(fed, fed.c.queue == datasources.c.name)
        found = self._connection.execute(query.order_by(datasources.c.name)).mappings()
        return [DataSource(name=row["name"], kind=row["kind"], documents=row["documents"], feeds=row["feeds"]) for row in found]

    def note_crawled(self, name: str) -> None:
        """Makes the source of crawled documents known."""
        statement = insert(self._connection, datasources).values(name=name, kind="web")
        self._connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_={"kind": "web"}, where=datasources.c.kind == "deleted")
        )

    def note_deleted(self, name: str) -> None:
        """Shows a source as deleted, unless a feed wrote to it meanwhile."""
        if self._is_fed_again(name):
            return
        forget_items(self._connection, name)
        self._connection.execute(sa.update(datasources).where(datasources.c.name == name).values(kind="deleted"))

    def forget(self, name: str) -> None:
        """Removes a source's name and its applied feeds. If a feed wrote to it meanwhile, the name stays."""
        applied = sa.select(feeds.c.id).where(feeds.c.queue == name, feeds.c.phase.in_(["settle", "done"]))
        SqlFeeds(self._connection).remove(self._connection.execute(applied).scalars().all())
        forget_items(self._connection, name)
        if not self._is_fed_again(name):
            self._connection.execute(sa.delete(datasources).where(datasources.c.name == name))

    def _is_fed_again(self, name: str) -> bool:
        kinds = [kind.value for kind in _SOURCE_KINDS]
        waiting = sa.select(feeds.c.id).where(feeds.c.queue == name, UNAPPLIED, feeds.c.kind.in_(kinds))
        return self._connection.execute(waiting.limit(1)).first() is not None
