"""One feed on its way through the feeder: scan, apply, sweep, settle.

Every step is one bounded piece of work that ends in a transaction with its checkpoint, so that a feeder that is killed anywhere goes on
where the last transaction ended, and a feeder with many feeds can give each its turn.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from feedmill.core.urlstate import Counted, Feeding
from feedmill.model.access import StoredAcl
from feedmill.model.change import Change, GroupChange
from feedmill.model.document import Document, EventKind
from feedmill.model.errors import BadFeed, NotFound
from feedmill.model.feed import Feed, FeedKind, FeedState, LogEntry, Phase
from feedmill.model.queue import queue_of
from feedmill.ports import BlobStore, Clock, Lane, Store, UnitOfWork
from feedmill.services.feeds.feeding import Admission, SliceLimits, Tally, Workbench, push_out, take_slice
from feedmill.services.feeds.progress import ended, failed, logged, scanned, unread
from feedmill.services.feeds.reading import Reader

SMALL_FEED_RECORDS = 200
"""A feed of up to so many records takes the quick lane through extractor and indexer."""

_ADMINISTRATIVE = (FeedKind.DELETE_SOURCE, FeedKind.DESTROY_SOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a run works with; ``admission`` is asked at each step, since the settings may change."""

    store: Store
    blobs: BlobStore
    clock: Clock
    admission: Callable[[], Admission]
    reader: Callable[[Feed], Reader[Change]]
    groups_reader: Callable[[Feed], Reader[GroupChange]]
    limits: SliceLimits


class FeedRun:
    """One feed being worked on; ``step`` until its feed is past the feeder."""

    def __init__(self, feed: Feed, tools: Tools) -> None:
        self.feed = feed
        self._tools = tools
        self._changes: Iterator[Change] | None = None
        self._swept_to = 0

    def step(self) -> None:
        """Does the next bounded piece of work."""
        match self.feed.phase:
            case Phase.SCAN:
                self._scan()
            case Phase.APPLY:
                self._apply()
            case Phase.SWEEP:
                self._sweep()

    @property
    def _lane(self) -> Lane:
        return Lane.QUICK if self.feed.records <= SMALL_FEED_RECORDS and self.feed.kind not in _ADMINISTRATIVE else Lane.BULK

    def _scan(self) -> None:
        """Reads the whole feed once: what is not well-formed to its end changes nothing."""
        if self.feed.kind in _ADMINISTRATIVE:
            self._save(replace(self.feed, state=FeedState.IN_PROGRESS, phase=Phase.SWEEP))
            return
        try:
            report = self._tools.reader(self.feed).scan()
        except (BadFeed, NotFound) as error:
            self._save(*failed(self.feed, unread(error), self._tools.clock()))
        else:
            self._save(*scanned(self.feed, report))

    def _apply(self) -> None:
        """Applies the next slice. A step that fails forgets how far it has read, so that the next one reads from the checkpoint."""
        changes, self._changes = self._changes, None
        try:
            if changes is None:
                changes = self._tools.reader(self.feed).changes(self.feed.applied)
            taken = take_slice(changes, self._tools.blobs, self._tools.limits)
        except (BadFeed, NotFound) as error:
            self._cut_short(error)
            return
        if not taken:
            self._end_apply()
            return
        self._tools.blobs.sync()
        admission = self._tools.admission()
        with self._tools.store.writing() as unit:
            feeding = self._feeding(admission)
            bench = Workbench(unit, feeding, self._lane)
            bench.load(change.url for change, _ in taken if change.url is not None)
            for change, content in taken:
                bench.apply(change, content)
            feed = self._keep(unit, bench.finish())
            if feed.kind is not FeedKind.FULL:
                push_out(unit, admission.max_documents, feeding, self._lane)
        self.feed, self._changes = feed, changes

    def _feeding(self, admission: Admission) -> Feeding:
        return Feeding(feed_id=self.feed.id, datasource=self.feed.datasource, now=self._tools.clock(), rules=admission.rules)

    def _keep(self, unit: UnitOfWork, tally: Tally) -> Feed:
        """Stores the checkpoint with what a transaction came to."""
        feed = replace(
            self.feed,
            applied=self.feed.applied + sum(tally.counts.values()),
            included=self.feed.included + tally.counts[Counted.INCLUDED],
            errors=self.feed.errors + tally.counts[Counted.ERROR],
            acls=self.feed.acls + tally.counts[Counted.ACL],
        )
        feed, log = logged(feed, tally.log)
        unit.feeds.save(feed, log)
        return feed

    def _cut_short(self, error: BadFeed | NotFound) -> None:
        """Ends a feed whose bytes are no longer what the scan saw; the sweep of a full one would remove what could not be read."""
        feed, log = logged(replace(self.feed, errors=self.feed.errors + 1), (unread(error),))
        self._settle(feed, log)

    def _end_apply(self) -> None:
        is_failed = self.feed.errors > 0 and self.feed.included == 0 and self.feed.acls == 0
        if self.feed.kind is FeedKind.FULL and not is_failed:
            self._save(replace(self.feed, phase=Phase.SWEEP))
        else:
            self._settle(self.feed)

    def _sweep(self) -> None:
        """Removes what the source has and the feed did not name: documents, then ACLs, then what is beyond the licence limit.

        The limit comes last, lest a full feed's documents be pushed out by those that it replaces.
        """
        feed, limit = self.feed, self._tools.limits.changes
        unseen_by = feed.id if feed.kind is FeedKind.FULL else None
        admission = self._tools.admission()
        with self._tools.store.writing() as unit:
            feeding = self._feeding(admission)
            documents = unit.documents.list_live(after=self._swept_to, limit=limit, datasource=feed.datasource, unseen_by=unseen_by)
            acls = [] if documents else unit.acls.list_of_source(feed.datasource, limit=limit, unseen_by=unseen_by)
            if documents or acls:
                bench = Workbench(unit, feeding, self._lane)
                bench.load([document.url for document in documents] + [acl.url for acl in acls])
                self._remove(bench, documents, acls)
                feed = self._keep(unit, bench.finish())
            has_more = bool(documents or acls) or push_out(unit, admission.max_documents, feeding, self._lane) > 0
            if has_more:
                unit.feeds.save(feed)
        self.feed = feed
        if documents:
            self._swept_to = documents[-1].id or 0
        if not has_more:
            self._settle(feed)

    def _remove(self, bench: Workbench, documents: list[Document], acls: list[StoredAcl]) -> None:
        kind = EventKind.SWEPT if self.feed.kind is FeedKind.FULL else EventKind.SOURCE_DELETED
        for document in documents:
            bench.remove_document(document, kind, f"feed {self.feed.id} of data source {self.feed.datasource}")
        for acl in acls:
            bench.remove_acl(acl)

    def _settle(self, feed: Feed, log: tuple[LogEntry, ...] = ()) -> None:
        """Ends the feed, unless the index still shows what the feed's ACLs forbid: then the indexer ends it."""
        now = self._tools.clock()
        with self._tools.store.writing() as unit:
            if feed.kind is FeedKind.DELETE_SOURCE:
                unit.sources.mark_deleted(feed.datasource)
            elif feed.kind is FeedKind.DESTROY_SOURCE:
                unit.sources.forget(feed.datasource)
            marked, tightening = unit.marks.list_open_feeds([feed.id])
            feed = replace(feed, finished_at=now)
            feed = ended(feed, is_obeyed=not tightening, searchable_at=None if marked else now)
            unit.feeds.save(feed, log)
            unit.queues.note_progress(queue_of(feed))
        self.feed = feed

    def _save(self, feed: Feed, log: tuple[LogEntry, ...] = ()) -> None:
        with self._tools.store.writing() as unit:
            unit.feeds.save(feed, log)
            if feed.phase.is_past_feeder:
                unit.queues.note_progress(queue_of(feed))
        self.feed = feed
