"""A feeder's harness on a real store: feeds are lists of changes, time goes on a second a look."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.store.engine import SqlStore
from feedmill.model.access import StoredAcl
from feedmill.model.change import Change, PutDocument
from feedmill.model.document import Document, DocumentState, Event
from feedmill.model.errors import FeedmillError
from feedmill.model.feed import Feed, FeedKind, LogEntry, NewFeed
from feedmill.ports import BlobStore
from feedmill.services.feeds.feeding import Admission, SliceLimits, faulty_of
from feedmill.services.feeds.feedrun import FeedDependencies, FeedRun
from feedmill.services.feeds.reading import ItemWatch, ScanReport
from tests.builders.changes import OPEN
from tests.feedreaders import gsagroups_reader
from tests.migratedstore import open_migrated

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReader:
    """Reads a feed that is a list; ``fault`` is raised in place of reading."""

    made: Sequence[Change]
    fault: FeedmillError | None = None

    def scan(self) -> ScanReport:
        if self.fault is not None:
            raise self.fault
        return ScanReport(records=sum(1 for change in self.made if change.place.record), changes=len(self.made))

    def changes(self, skip: int, *, watch: ItemWatch | None = None) -> Iterator[Change]:
        if self.fault is not None:
            raise self.fault
        for number, change in enumerate(self.made[skip:], skip + 1):
            if watch is not None:
                watch.begin(number, "parse")
            reason = None if watch is None else watch.refused.get(number)
            yield _unread(change) if reason is None else faulty_of(change, reason)


def _unread(change: Change) -> Change:
    """Returns a change whose content can be read again."""
    if not isinstance(change, PutDocument) or change.content is None:
        return change
    assert isinstance(change.content.stream, io.BytesIO)
    return replace(change, content=replace(change.content, stream=io.BytesIO(change.content.stream.getvalue())))


@dataclass(slots=True, kw_only=True)
class FeedHarness:
    """The store, the feeds by id, and what a run needs."""

    store: SqlStore
    blobs: BlobStore = field(default_factory=MemoryBlobs)
    admission: Admission = field(default_factory=lambda: Admission(rules=OPEN))
    limits: SliceLimits = field(default_factory=SliceLimits)
    feeds: dict[int, list[Change]] = field(default_factory=dict)
    faults: dict[int, FeedmillError] = field(default_factory=dict)
    groups: dict[int, bytes] = field(default_factory=dict)
    now: datetime = BEGIN

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    @property
    def tools(self) -> FeedDependencies:
        return FeedDependencies(
            store=self.store,
            blobs=self.blobs,
            clock=self.clock,
            admission=lambda: self.admission,
            reader=lambda feed: ListReader(made=self.feeds[feed.id], fault=self.faults.get(feed.id)),
            groups_reader=lambda feed: gsagroups_reader(self.groups[feed.id]),
            limits=self.limits,
        )

    def receive(self, changes: Sequence[Change], *, datasource: str = "hr", kind: FeedKind = FeedKind.INCREMENTAL) -> int:
        """Keeps a feed as received."""
        feed = NewFeed(datasource=datasource, kind=kind, file="", size_bytes=len(changes), received_at=self.clock())
        with self.store.writing() as unit:
            feed_id = unit.feeds.queue.add(feed)
        self.feeds[feed_id] = list(changes)
        return feed_id

    def feed(self, feed_id: int) -> Feed:
        with self.store.reading() as unit:
            return unit.feeds.reader.get(feed_id)

    def run(self, feed_id: int) -> Feed:
        """Takes a feed to its end."""
        run = FeedRun(self.feed(feed_id), self.tools)
        while not run.feed.phase.is_past_feeder:
            run.step()
        return self.feed(feed_id)

    def push(self, *changes: Change, datasource: str = "hr", kind: FeedKind = FeedKind.INCREMENTAL) -> Feed:
        """Receives a feed and takes it to its end."""
        return self.run(self.receive(changes, datasource=datasource, kind=kind))

    def log(self, feed_id: int) -> list[LogEntry]:
        with self.store.reading() as unit:
            return unit.feeds.log.list_log(feed_id, 100_000)

    def live(self) -> dict[str, Document]:
        with self.store.reading() as unit:
            return {document.url: document for document in unit.documents.scan.list_live(after=0, limit=100_000)}

    def document(self, url: str) -> Document:
        with self.store.reading() as unit:
            return unit.documents.reader.find_many([url])[url]

    def acls(self, *urls: str) -> dict[str, StoredAcl]:
        with self.store.reading() as unit:
            return unit.access.acls.find_many(urls)

    def events(self, url: str) -> list[Event]:
        document = self.document(url)
        assert document.id is not None
        with self.store.reading() as unit:
            return unit.documents.reader.list_events(document.id)

    def index_all(self) -> None:
        """Takes all marks off, as the indexer does once it has committed."""
        with self.store.writing() as unit:
            known = [d.id for d in unit.documents.reader.find_many([c.url for feed in self.feeds.values() for c in feed if c.url]).values()]
            unit.processing.index_tasks.remove(
                list(unit.processing.index_tasks.find_many([key for key in known if key is not None]).values())
            )


def open_harness(folder: Path, *, max_documents: int = 0, changes_a_slice: int = 500) -> FeedHarness:
    """Opens a harness on a fresh SQLite store."""
    store = open_migrated(folder / "store.sqlite")
    return FeedHarness(
        store=store, admission=Admission(rules=OPEN, max_documents=max_documents), limits=SliceLimits(changes=changes_a_slice)
    )


def is_live(document: Document) -> bool:
    return document.state is DocumentState.LIVE
