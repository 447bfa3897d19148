"""Processes one feed in the feeder: scan, apply, sweep. The indexer settles it (``Indexer._end_feeds``).

Every step is one bounded piece of work that ends in a transaction with its checkpoint. A feeder that is killed at any point resumes after
the last transaction, and a feeder with many feeds can run one step of each in turn.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from feedmill.core.documents.receipts import describe_deleted, entry_at
from feedmill.core.documents.urlstate import ApplyContext, ReceiptCount
from feedmill.core.urls.wildcards import matches_wildcards
from feedmill.model.access import StoredAcl
from feedmill.model.change import Change, Delete, DeleteMatching, GroupChange, InvalidRecord
from feedmill.model.document import BlobRef, Document, EventKind
from feedmill.model.errors import BadFeed, NotFound
from feedmill.model.feed import Feed, FeedState, FeedType, LogEntry, LogLevel, Phase, SourceCommand
from feedmill.model.provenance import from_feed
from feedmill.model.queue import queue_of
from feedmill.ports import Clock, Lane, LiveUrl, Store, UnitOfWork
from feedmill.services.feeds.feeding import (
    APPLY_STEP,
    EVICTION_STEP,
    STORE_STEP,
    Admission,
    BatchResult,
    ChangeBatch,
    FeedBlobs,
    ItemsFailed,
    Slice,
    SliceLimits,
    evict_isolated,
    evict_over_limit,
    faulty_of,
    take_slice,
)
from feedmill.services.feeds.originals import join_originals
from feedmill.services.feeds.progress import ended, failed, logged, scanned, unread
from feedmill.services.feeds.reading import PARSE_STEP, Reader
from feedmill.services.feeds.recordwatch import Caution, RecordWatch, watch_documents
from feedmill.services.isolation.batches import belongs_to_item, describe
from feedmill.services.isolation.faultpoints import fault_point

SMALL_FEED_RECORDS = 200
"""A feed of at most this many records uses the quick lane of extractor and indexer."""

SCAN_STEP = "scan"
SWEEP_STEP = "sweep"

log = structlog.get_logger(__name__)

_FAILED_STEP = re.compile(r"step (\w+) failed: ")


def _ignore(_step: str) -> None:
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedDependencies:
    """What a run depends on; ``admission`` is called at each step, because the settings may change.

    Without ``caution`` the record that ended the process is not noted. ``on_failed`` is called with the step of each record that failed.
    """

    store: Store
    blobs: FeedBlobs
    clock: Clock
    admission: Callable[[], Admission]
    reader: Callable[[Feed], Reader[Change]]
    groups_reader: Callable[[Feed], Reader[GroupChange]]
    limits: SliceLimits
    caution: Caution | None = None
    on_failed: Callable[[str], None] = _ignore


class FeedRun:
    """One feed in progress; call ``step`` until its feed has left the feeder."""

    def __init__(self, feed: Feed, tools: FeedDependencies) -> None:
        self.feed = feed
        self._tools = tools
        self._changes: Iterator[Change] | None = None
        self._swept_to = 0
        self._unswept: set[str] = set()
        self._watch = RecordWatch(feed.id, tools.caution)
        self._evicting = watch_documents(EVICTION_STEP, tools.caution)

    def step(self) -> None:
        """Does the next piece of work: a slice, or a deletion by pattern.

        Errors: FeedDeferred while a record waits that ended the process.
        """
        self._watch.work(is_reading=self.feed.phase.is_reading, work=self._work, give_up=self._give_up)
        if self.feed.phase.is_past_feeder:
            self._watch.clear()

    def _work(self) -> None:
        match self.feed.phase:
            case Phase.SCAN:
                self._scan()
            case Phase.APPLY:
                self._apply()
            case Phase.SWEEP:
                self._sweep()

    def _give_up(self, reason: str) -> None:
        """Ends a feed that ended the process without a part that can be blamed."""
        self._changes = None
        entry = LogEntry(level=LogLevel.ERROR, reason=reason)
        if self.feed.phase is Phase.SCAN:
            self._save(*failed(self.feed, entry, self._tools.clock()))
        else:
            self._cut_short(entry)

    @property
    def _lane(self) -> Lane:
        return Lane.QUICK if self.feed.records <= SMALL_FEED_RECORDS and self.feed.kind.command is None else Lane.BULK

    @property
    def _is_full(self) -> bool:
        return self.feed.kind.feedtype is FeedType.FULL

    def _scan(self) -> None:
        """Reads the whole feed once; a feed that is not well-formed to its end changes nothing."""
        if self.feed.kind.command is not None:
            self._save(replace(self.feed, state=FeedState.IN_PROGRESS, phase=Phase.SWEEP))
            return
        try:
            reader = self._tools.reader(self.feed)
        except BadFeed as error:
            self._save(*failed(self.feed, unread(error), self._tools.clock()))
            return
        self._watch.begin_reading()
        try:
            fault_point(SCAN_STEP, self.feed.datasource)
            report = reader.scan()
        except (BadFeed, NotFound) as error:
            self._save(*failed(self.feed, unread(error), self._tools.clock()))
        except Exception as error:
            if not belongs_to_item(error):
                raise
            self._save(*failed(self.feed, _report_cut(error, SCAN_STEP), self._tools.clock()))
        else:
            self._save(*scanned(self.feed, report))

    def _apply(self) -> None:
        """Applies the next slice. After a failed step the read position is dropped, so that the next step reads from the checkpoint."""
        changes, self._changes = self._changes, None
        limits = self._tools.limits
        # A slice that has ended the process before is read in smaller ones, down to the suspected record alone.
        limits = replace(limits, changes=self._watch.find_limit(self.feed.applied, limits.changes))
        try:
            if changes is None:
                changes = self._tools.reader(self.feed).changes(self.feed.applied, watch=self._watch)
            taken = take_slice(changes, self._tools.blobs, limits, applied=self.feed.applied, begin=self._watch.begin)
        except (BadFeed, NotFound) as error:
            self._cut_short(unread(error))
            return
        if taken.slice:
            joined = join_originals(taken.slice, self.feed.datasource, self._tools.store, self._tools.blobs)
            # Before the transaction: a reference must not be committed before the bytes that it names are durable.
            self._tools.blobs.sync()
            for part in _split_slice(joined):
                self._apply_slice(part)
        # The slice before the cut was applied, and its checkpoint stored. Only then the feed ends.
        if taken.cut is not None:
            self._cut_short(_report_cut(taken.cut))
        elif not taken.slice:
            self._end_apply()
        else:
            self._changes = changes

    def _apply_slice(self, taken: Slice) -> None:
        """Applies a slice in one transaction, after a failure in smaller ones, until the change that fails alone is in error."""
        if isinstance(taken[0][0], DeleteMatching):
            self._delete_matching(taken[0][0])
            return
        try:
            self._put_whole(taken, evicts=not self._is_full)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            self._put_isolated(taken)
            if not self._is_full:
                admission = self._tools.admission()
                evict_isolated(self._tools.store, admission.max_documents, self._context(admission), self._lane, watch=self._evicting)

    def _put_whole(self, taken: Slice, *, evicts: bool = False, moves: bool = True) -> None:
        admission = self._tools.admission()
        with self._tools.store.writing() as unit:
            context = self._context(admission)
            batch = ChangeBatch(unit, context, self._lane, moves=moves, begin=self._watch.begin_url)
            self._watch.begin_many(self.feed.applied + 1, len(taken), STORE_STEP)
            batch.load(change.url for change, _ in taken if change.url is not None)
            for number, (change, content) in enumerate(taken, self.feed.applied + 1):
                self._watch.begin(number, APPLY_STEP, change.url)
                batch.apply(change, content)
            self._watch.begin_many(self.feed.applied + 1, len(taken), STORE_STEP)
            feed = self._save_progress(unit, batch.finish())
            if evicts:
                evict_over_limit(unit, admission.max_documents, context, self._lane, watch=self._evicting)
                self._watch.begin_many(self.feed.applied + 1, len(taken), STORE_STEP)
        self.feed = feed

    def _put_isolated(self, taken: Slice) -> None:
        """Applies a slice that failed, and halves it when it fails again. Changes are applied in order, each with its checkpoint."""
        try:
            self._put_whole(taken)
        except ItemsFailed as error:
            # Each failure has one cause, so only these changes are in error, and the rest is applied together at once.
            if _names_each_once(taken, error.reasons):
                self._put_isolated([_rejected(change, content, error.reasons) for change, content in taken])
                return
            if len(taken) == 1:
                self._reject(taken[0][0], str(error))
                return
        except Exception as error:
            if not belongs_to_item(error):
                raise
            if len(taken) == 1:
                self._reject(taken[0][0], describe(STORE_STEP, error))
                return
        else:
            return
        middle = len(taken) // 2
        self._put_isolated(taken[:middle])
        self._put_isolated(taken[middle:])

    def _reject(self, change: Change, reason: str) -> None:
        """Counts a change as in error: by its URL if the state of that can be read, else by its position alone."""
        faulty = faulty_of(change, reason)
        log.warning("record_failed", feed=self.feed.id, url=change.url, line=change.place.line, reason=reason)
        try:
            self._put_whole([(faulty, None)], moves=False)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            # Not even the state of the URL can be read, so the change is counted by its position alone.
            self._put_whole([(replace(faulty, url=None), None)], moves=False)

    def _delete_matching(self, change: DeleteMatching) -> None:
        """Deletes the documents of the source that match a pattern, and then counts the change with their number.

        This is one step, as long as the source is large; each of its transactions is bounded.
        After an interruption it begins again: the documents that are gone already are not counted then.
        """
        count = after = 0
        try:
            while live := self._list_live_urls(after):
                after = live[-1].document_id
                count += self._delete_all([each.url for each in live if matches_wildcards(change.pattern, each.url)], change)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            self._reject(change, describe(APPLY_STEP, error))
            return
        notes = [entry_at(change.place, note.level, note.reason) for note in change.notes]
        entry = entry_at(change.place, LogLevel.NOTICE, describe_deleted(count))
        counts = dict.fromkeys(ReceiptCount, 0) | {ReceiptCount.INCLUDED: 1}
        with self._tools.store.writing() as unit:
            feed = self._save_progress(unit, BatchResult(counts=counts, log=(*notes, entry)))
        self.feed = feed

    def _list_live_urls(self, after: int) -> list[LiveUrl]:
        with self._tools.store.reading() as unit:
            return unit.documents.scan.list_live_urls(after=after, limit=self._tools.limits.changes, datasource=self.feed.datasource)

    def _delete_all(self, urls: Sequence[str], change: DeleteMatching) -> int:
        """Deletes documents of the source in one transaction. Returns how many are gone by it."""
        if not urls:
            return 0
        number = self.feed.applied + 1
        with self._tools.store.writing() as unit:
            batch = ChangeBatch(unit, self._context(self._tools.admission()), self._lane, begin=self._watch.begin_url)
            self._watch.begin_many(number, 1, STORE_STEP)
            batch.load(urls)
            for url in urls:
                self._watch.begin(number, APPLY_STEP, url)
                batch.apply(Delete(place=change.place, url=url), None)
            result = batch.finish()
        # a document that another feed took over meanwhile stays, with an entry that says so
        return result.counts[ReceiptCount.INCLUDED] - len(result.log)

    def _context(self, admission: Admission) -> ApplyContext:
        return ApplyContext(provenance=from_feed(self.feed.id, self.feed.datasource), now=self._tools.clock(), rules=admission.rules)

    def _save_progress(self, unit: UnitOfWork, result: BatchResult) -> Feed:
        """Stores the checkpoint with the result of a transaction."""
        feed = replace(
            self.feed,
            applied=self.feed.applied + sum(result.counts.values()),
            included=self.feed.included + result.counts[ReceiptCount.INCLUDED],
            errors=self.feed.errors + result.counts[ReceiptCount.ERROR],
            acls=self.feed.acls + result.counts[ReceiptCount.ACL],
        )
        for entry in result.log:
            if entry.level is LogLevel.ERROR and (failed_in := _FAILED_STEP.match(entry.reason)) is not None:
                self._tools.on_failed(failed_in[1])
        feed, entries = logged(feed, result.log)
        unit.feeds.queue.save(feed, entries)
        return feed

    def _cut_short(self, entry: LogEntry) -> None:
        """Ends a feed whose bytes differ from what the scan read. A sweep of a full feed would remove what could not be read."""
        self._end_feed(*logged(replace(self.feed, errors=self.feed.errors + 1), (entry,)))

    def _end_apply(self) -> None:
        # A full feed of which nothing could be included would remove every document of its source.
        is_failed = self.feed.errors > 0 and self.feed.included == 0 and self.feed.acls == 0
        if self._is_full and not is_failed:
            self._save(replace(self.feed, phase=Phase.SWEEP))
        else:
            self._end_feed(self.feed)

    def _sweep(self) -> None:
        """Removes what the source has and the feed did not name: documents, then ACLs, then documents beyond the licence limit.

        The limit comes last; otherwise a full feed's documents could be evicted by the documents that they replace.
        """
        try:
            has_more = self._sweep_next(self._tools.limits.changes)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            has_more = self._sweep_apart()
        if not has_more:
            for url in sorted(set(self._watch.left) - self._unswept):
                self._report_unswept(url, self._watch.left[url])
            self._end_feed(self.feed)

    def _sweep_next(self, limit: int) -> bool:
        """Removes the next documents or ACLs in one transaction, all or none. Returns whether there is more to do."""
        admission = self._tools.admission()
        with self._tools.store.writing() as unit:
            feed, context = self.feed, self._context(admission)
            documents, acls = self._list_unseen(unit, limit)
            if documents or acls:
                batch = ChangeBatch(unit, context, self._lane)
                batch.load([document.url for document in documents] + [acl.url for acl in acls])
                self._remove(batch, documents, acls)
                feed = self._save_progress(unit, batch.finish())
            has_more = bool(documents or acls) or self._evict(unit, admission, context) > 0
            if has_more:
                unit.feeds.queue.save(feed)
        self.feed = feed
        if documents:
            # Only after the commit. A transaction that failed has removed nothing up to there.
            self._swept_to = documents[-1].id or 0
        return has_more

    def _evict(self, unit: UnitOfWork, admission: Admission, context: ApplyContext) -> int:
        return evict_over_limit(unit, admission.max_documents, context, self._lane, watch=self._evicting)

    def _list_unseen(self, unit: UnitOfWork, limit: int) -> tuple[list[Document], list[StoredAcl]]:
        """Lists the next documents of the source that the feed did not name; after the last one, the ACLs that can be removed."""
        unseen_by = self.feed.id if self._is_full else None
        source, spared = self.feed.datasource, self._unswept | set(self._watch.left)
        # More are read than needed, since some of them are spared.
        found = unit.documents.scan.list_live(after=self._swept_to, limit=limit + len(spared), datasource=source, unseen_by=unseen_by)
        documents = [document for document in found if document.url not in spared][:limit]
        # ACLs come after the last document: a document may still be protected by one of them.
        acls = [] if documents else unit.access.acls.list_of_source(source, limit=limit + len(spared), unseen_by=unseen_by)
        return documents, [acl for acl in acls if acl.url not in spared][:limit]

    def _sweep_apart(self) -> bool:
        """Removes the next ones one by one; one that fails stays, with a line in the log. Returns whether there is more to do."""
        with self._tools.store.reading() as unit:
            documents, acls = self._list_unseen(unit, self._tools.limits.changes)
        if not documents and not acls:
            admission = self._tools.admission()
            context = self._context(admission)
            return evict_isolated(self._tools.store, admission.max_documents, context, self._lane, watch=self._evicting) > 0
        for _ in documents or acls:
            try:
                self._sweep_next(1)
            except Exception as error:
                if not belongs_to_item(error):
                    raise
                self._store_unswept(describe(SWEEP_STEP, error))
        return True

    def _store_unswept(self, reason: str) -> None:
        """Leaves the next document or ACL in place and logs the reason."""
        with self._tools.store.reading() as unit:
            documents, acls = self._list_unseen(unit, 1)
        if not documents and not acls:
            return
        self._report_unswept(documents[0].url if documents else acls[0].url, reason)
        self._swept_to = documents[0].id or 0 if documents else self._swept_to

    def _report_unswept(self, url: str, reason: str) -> None:
        self._unswept.add(url)
        log.warning("document_not_removed", feed=self.feed.id, url=url, reason=reason)
        entry = LogEntry(level=LogLevel.ERROR, reason=f"{reason}; it stays, and the next full feed removes it", url=url)
        self._save(*logged(replace(self.feed, errors=self.feed.errors + 1), (entry,)))

    def _remove(self, batch: ChangeBatch, documents: list[Document], acls: list[StoredAcl]) -> None:
        kind = EventKind.SWEPT if self._is_full else EventKind.SOURCE_DELETED
        for document in documents:
            self._watch.begin_removal(document.url)
            fault_point(SWEEP_STEP, document.url)
            batch.remove_document(document, kind, f"feed {self.feed.id} of data source {self.feed.datasource}")
        for acl in acls:
            self._watch.begin_removal(acl.url)
            fault_point(SWEEP_STEP, acl.url)
            batch.remove_acl(acl)

    def _end_feed(self, feed: Feed, entries: tuple[LogEntry, ...] = ()) -> None:
        """Ends the feed. If the index still shows what the feed's ACLs forbid, the indexer ends it later."""
        now = self._tools.clock()
        with self._tools.store.writing() as unit:
            if feed.kind.command is SourceCommand.DELETE:
                unit.feeds.sources.note_deleted(feed.datasource)
            elif feed.kind.command is SourceCommand.DESTROY:
                unit.feeds.sources.forget(feed.datasource)
            # In the transaction that ends the feed: if index tasks are left now, the indexer completes the feed after the last of them.
            waiting, revoking = unit.processing.index_tasks.list_open_feeds([feed.id])
            feed = replace(feed, finished_at=now)
            feed = ended(feed, is_obeyed=not revoking, searchable_at=None if waiting else now)
            unit.feeds.queue.save(feed, entries)
            unit.processing.queues.note_progress(queue_of(feed))
        self.feed = feed

    def _save(self, feed: Feed, entries: tuple[LogEntry, ...] = ()) -> None:
        with self._tools.store.writing() as unit:
            unit.feeds.queue.save(feed, entries)
            if feed.phase.is_past_feeder:
                unit.processing.queues.note_progress(queue_of(feed))
        self.feed = feed


def _split_slice(taken: Slice) -> Iterator[Slice]:
    """Yields the parts of a slice, in order: a deletion by a pattern is a part of its own."""
    part: Slice = []
    for change, content in taken:
        if isinstance(change, DeleteMatching):
            if part:
                yield part
            yield [(change, content)]
            part = []
        else:
            part.append((change, content))
    if part:
        yield part


def _names_each_once(taken: Slice, reasons: Mapping[str, str]) -> bool:
    """Returns whether each failure can only come from a single change that is not in error already."""
    named = [change.url for change, _ in taken if change.url in reasons]
    return len(named) == len(reasons) and not any(isinstance(change, InvalidRecord) and change.url in reasons for change, _ in taken)


def _rejected(change: Change, content: BlobRef | None, reasons: Mapping[str, str]) -> tuple[Change, BlobRef | None]:
    reason = reasons.get(change.url or "")
    return (change, content) if reason is None else (faulty_of(change, reason), None)


def _report_cut(error: BaseException, step: str = PARSE_STEP) -> LogEntry:
    """Returns the log entry for a feed whose reading failed for an unforeseen reason."""
    if isinstance(error, BadFeed | NotFound):
        return unread(error)
    log.error("feed_unreadable", step=step, exc_info=error)
    return LogEntry(level=LogLevel.ERROR, reason=describe(step, error))
