"""Applies changes to the store, one bounded transaction at a time.

A slice of changes is read and its contents are stored first, outside any transaction. Then one write transaction reads the current state of
the URLs, applies the changes to it in their order, and writes documents, ACLs, events and index tasks together. The result is a
``BatchResult``, which the caller stores with its checkpoint in the same transaction.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import BinaryIO, Protocol, TypeVar

import structlog

from feedmill.core.access.classes import access_key, class_of
from feedmill.core.access.policyacls import PolicySet
from feedmill.core.documents.lifecycle import PUBLIC_NOW, apply, gone, secured
from feedmill.core.documents.urlstate import ApplyContext, Outcome, ReceiptCount, Rules, UrlState, revised
from feedmill.model.access import AccessClass, AccessKey, StoredAcl
from feedmill.model.change import Change, Content, InvalidRecord, PutDocument, UpdateDocument
from feedmill.model.document import BlobRef, Document, DocumentState, Event, EventKind
from feedmill.model.feed import LogEntry, LogLevel
from feedmill.ports import IndexTask, Lane, Stage, Store, UnitOfWork
from feedmill.services.feeds.crawlupdates import CrawlUpdates
from feedmill.services.isolation.batches import belongs_to_item, describe, run_each, run_halved
from feedmill.services.isolation.documentwatch import DocumentWatch
from feedmill.services.isolation.faultpoints import fault_point

EVICTED_AT_ONCE = 1_000
"""How many documents one transaction evicts for the licence limit."""

CONTENT_STEP = "content"
APPLY_STEP = "apply"
CLASS_STEP = "class"
STORE_STEP = "store"
EVICTION_STEP = "eviction"

_TICK = timedelta(microseconds=1)

T = TypeVar("T")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceLimits:
    """Limits of one transaction. Units: changes, bytes of content."""

    changes: int = 500
    content_bytes: int = 16_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Which documents the settings admit. ``max_documents`` 0 = no licence limit."""

    rules: Rules
    max_documents: int = 0


class ItemsFailed(Exception):
    """Some documents of a transaction cannot be written. Shape: reasons by URL."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.reasons = reasons


Slice = list[tuple[Change, BlobRef | None]]


class PutBlobs(Protocol):
    """The part of ``ports.BlobStore`` that the feeder needs."""

    def put(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        """Stores the bytes of a content."""

    def sync(self) -> None:
        """Makes everything stored so far durable."""


class FeedBlobs(PutBlobs, Protocol):
    """The part of ``ports.BlobStore`` that a feed needs: an update of the text alone reads the stored original."""

    def read(self, ref: BlobRef) -> bytes:
        """Reads all bytes of a blob. Errors: Corrupt."""


@dataclass(frozen=True, slots=True)
class ReadSlice:
    """A slice that was read, and the error that ended the reading after it; None if reading continues or reached the end."""

    slice: Slice
    cut: BaseException | None = None


def ignore_progress(_number: int, _step: str) -> None:
    """Ignores which record is in progress; the default where no watch is needed."""


def take_slice(
    changes: Iterator[Change],
    blobs: PutBlobs,
    limits: SliceLimits,
    *,
    applied: int = 0,
    begin: Callable[[int, str], None] = ignore_progress,
) -> ReadSlice:
    """Reads the next slice and stores its contents; an empty slice that is not cut means the end. ``begin`` is called for each content.

    A content that cannot be stored for a reason of its own becomes a record in error. Errors: those of infrastructure.
    """
    taken: Slice = []
    size_bytes = 0
    try:
        for change in changes:
            ref = None
            if isinstance(change, PutDocument | UpdateDocument) and change.content is not None:
                size_bytes += change.content.size_bytes
                begin(applied + len(taken) + 1, CONTENT_STEP)
                change, ref = _store_content(change, change.content, blobs)
            taken.append((change, ref))
            # Checked after each change, so one content may exceed the limit, and every slice has at least one change.
            if len(taken) >= limits.changes or size_bytes >= limits.content_bytes:
                break
    except BaseException as error:
        if not belongs_to_item(error):
            raise
        return ReadSlice(taken, error)
    return ReadSlice(taken)


def _store_content(change: PutDocument | UpdateDocument, content: Content, blobs: PutBlobs) -> tuple[Change, BlobRef | None]:
    try:
        with content.stream as stream:
            fault_point(CONTENT_STEP, change.url)
            return change, blobs.put(stream, content.size_bytes)
    except BaseException as error:
        if not belongs_to_item(error):
            raise
        return faulty_of(change, describe(CONTENT_STEP, error)), None


def faulty_of(change: Change, reason: str) -> InvalidRecord:
    """Returns a change as a record in error. Its URL counts as named, so that a full feed retains the document."""
    return InvalidRecord(place=change.place, url=change.url, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """How the changes of a transaction were counted, and the log entries about them."""

    counts: Mapping[ReceiptCount, int]
    log: tuple[LogEntry, ...]


class ChangeBatch:
    """The working set of one transaction: the states of the URLs before and after the changes.

    Each change has its own moment, a microsecond after the previous one, so that the licence limit finds the older of two updates in a
    slice. ``closes``: if the access of a document cannot be determined, no user may see it. ``moves`` False leaves all documents in their
    classes. ``begin`` is called for each step of each URL before the transaction is written.
    """

    def __init__(
        self,
        unit: UnitOfWork,
        context: ApplyContext,
        lane: Lane,
        *,
        closes: bool = False,
        moves: bool = True,
        begin: Callable[[str, str], None] | None = None,
    ) -> None:
        self._begin = begin
        self._unit = unit
        self._closes = closes
        self._moves = moves
        self._context = context
        self._lane = lane
        self._before: dict[str, UrlState] = {}
        self._states: dict[str, UrlState] = {}
        self._events: dict[str, list[Event]] = {}
        self._entries: list[LogEntry] = []
        self._counts = dict.fromkeys(ReceiptCount, 0)
        self._reclassified: set[str] = set()
        self._closed: set[str] = set()
        self._left: set[str] = set()
        self._policy_set: PolicySet | None = None
        self._crawl_updates = CrawlUpdates(context.provenance.kind)

    def load(self, urls: Iterable[str]) -> None:
        """Reads the current state of URLs."""
        wanted = [url for url in dict.fromkeys(urls) if url not in self._states]
        documents = self._unit.documents.reader.find_many(wanted)
        acls = self._unit.access.acls.find_many(wanted)
        for url in wanted:
            self._before[url] = self._states[url] = UrlState(url=url, document=documents.get(url), acl=acls.get(url))

    def apply(self, change: Change, content: BlobRef | None) -> None:
        """Applies one change to the state of its URL, which must be loaded; a change that fails becomes a record in error."""
        state = UrlState(url="") if change.url is None else self._states[change.url]
        try:
            if not isinstance(change, InvalidRecord):
                fault_point(APPLY_STEP, change.url or "")
            outcome = apply(change, state, self._context, content)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            outcome = apply(faulty_of(change, describe(APPLY_STEP, error)), state, self._context)
        # Later changes of a slice are later in time too, which decides what is evicted first.
        context = self._context
        self._context = ApplyContext(provenance=context.provenance, now=context.now + _TICK, rules=context.rules)
        self._counts[outcome.counted] += 1
        self._entries.extend(outcome.log)
        if change.url is not None:
            self._crawl_updates.note(change, outcome)
            # A record in error moves no document to another class: that its class cannot be determined may be the error itself.
            is_left = outcome.counted is ReceiptCount.ERROR and (state == self._before[change.url] or change.url in self._left)
            (self._left.add if is_left else self._left.discard)(change.url)
            self._become(outcome)

    def _become(self, outcome: Outcome) -> None:
        self._states[outcome.state.url] = outcome.state
        self._events.setdefault(outcome.state.url, []).extend(outcome.events)

    def remove_document(self, document: Document, kind: EventKind, detail: str) -> None:
        """Removes a loaded document that no record named."""
        state = self._states[document.url]
        self._states[document.url] = replace(state, document=gone(document, self._context.feed_id, self._context.now))
        self._remember(document.url, kind, detail)

    def remove_acl(self, acl: StoredAcl) -> None:
        """Removes a loaded ACL that no record named; the access of a document that it protected is decided again."""
        state = self._states[acl.url]
        document = state.document
        if document is not None and document.state is DocumentState.LIVE:
            document = replace(secured(document, False, self._context.rules), version=document.version + 1)
            self._remember(acl.url, EventKind.ACL_CHANGED, "removed with its data source's other acls")
            if not document.secure:
                self._entries.append(LogEntry(level=LogLevel.WARNING, reason=PUBLIC_NOW, url=acl.url))
        self._states[acl.url] = replace(state, acl=None, document=document)

    def reconsider(self, document: Document) -> None:
        """Checks a loaded live document against the admission rules again."""
        self._reclassified.add(document.url)
        state = self._states[document.url]
        refusal = self._context.rules.refusal(document.url)
        if refusal is not None:
            self.remove_document(document, EventKind.BLOCKED, refusal)
            return
        again = secured(document, state.acl is not None, self._context.rules)
        if again.secure is not document.secure:
            self._states[document.url] = replace(state, document=replace(again, version=document.version + 1))

    def classify(self, url: str) -> None:
        """Requests that the document of a loaded URL is put into the class of its access key, whatever its present class."""
        self._reclassified.add(url)

    def close(self, url: str) -> None:
        """Makes the live document of a loaded URL visible to no user."""
        document = self._states[url].live
        if document is not None and document.access_class != AccessClass.CLOSED:
            closed = replace(document, access_class=AccessClass.CLOSED, secure=True, version=document.version + 1)
            self._states[url] = replace(self._states[url], document=closed)
            self._closed.add(url)

    def _remember(self, url: str, kind: EventKind, detail: str) -> None:
        event = Event(kind=kind, at=self._context.now, feed_id=self._context.feed_id, detail=detail)
        self._events.setdefault(url, []).append(event)

    def finish(self) -> BatchResult:
        """Writes all changed states and returns the result."""
        # Before the comparison with the earlier states: a new class makes a new version, which is to be saved.
        self._classify()
        changed = [url for url, state in self._states.items() if state != self._before[url] or self._events.get(url)]
        documents = [d for url in changed if (d := self._states[url].document) is not None and self._is_to_save(d)]
        with_events = [self._with_events(document) for document in documents]
        moved = {document.url for document in documents if _held_class(self._before[document.url].document) != _held_class(document)}
        saved = [document for document, _ in with_events]
        # Documents before events and index tasks, since a new document gets its id here.
        ids = self._unit.documents.writer.save_many(saved, at=self._context.now, feed_id=self._context.feed_id, moved=moved)
        self._unit.documents.writer.add_events([(ids[d.url], number, event) for d, numbered in with_events for number, event in numbered])
        self._save_acls(changed)
        self._crawl_updates.write(self._unit, self._before, {url: self._states[url] for url in changed}, self._events, self._context.now)
        new = {document.url: document for document in documents if self._is_new_version(document)}
        tasks = self._run_each(STORE_STEP, new, lambda document: self._make_task(document, ids[document.url]))
        self._unit.processing.index_tasks.put_many(list(tasks.values()))
        return BatchResult(counts=self._counts, log=tuple(self._entries))

    def _classify(self) -> None:
        """Assigns the class of its access key to every live document; a document that changes class becomes a new version."""
        live = {url: state.live for url, state in self._states.items() if state.live is not None and self._may_move(url)}
        keys = self._run_each(CLASS_STEP, live, self._find_access_key)
        numbers = self._unit.access.classes.number_many([key for key in keys.values() if isinstance(key, AccessKey)])
        for url, document in live.items():
            key = keys[url]
            number = numbers[key] if isinstance(key, AccessKey) else int(key)
            if number != document.access_class:
                version = document.version if self._is_new_version(document) else document.version + 1
                self._states[url] = replace(self._states[url], document=revised(document, access_class=number, version=version))

    def _run_each(self, step: str, documents: Mapping[str, Document], work: Callable[[Document], T]) -> dict[str, T]:
        """Runs work on each document. Returns results by URL. Errors: ItemsFailed with all that fail."""

        def begin_and_work(document: Document) -> T:
            if self._begin is not None:
                self._begin(step, document.url)
            return work(document)

        done, failed = run_each(documents.values(), begin_and_work, step=step)
        if failed:
            raise ItemsFailed({each.item.url: each.reason for each in failed})
        return {document.url: result for document, result in done}

    def _may_move(self, url: str) -> bool:
        return (
            self._moves
            and url not in self._closed
            and url not in self._left
            and (url in self._reclassified or self._states[url] != self._before[url])
        )

    def _find_access_key(self, document: Document) -> AccessKey | AccessClass:
        try:
            return self._access_key(document)
        except Exception as error:
            if not (self._closes and belongs_to_item(error)):
                raise
            log.exception("document_closed", url=document.url, step=CLASS_STEP)
            return AccessClass.CLOSED

    def _access_key(self, document: Document) -> AccessKey | AccessClass:
        fault_point(CLASS_STEP, document.url)
        acl = self._states[document.url].acl
        policy = self._policies.find_policy(document.url) if document.secure else None
        return access_key(document, None if acl is None else acl.acl, 0 if policy is None else policy.number)

    @property
    def _policies(self) -> PolicySet:
        if self._policy_set is None:
            self._policy_set = self._unit.access.policies.current()
        return self._policy_set

    def _is_to_save(self, document: Document) -> bool:
        return document != self._before[document.url].document or bool(self._events.get(document.url))

    def _with_events(self, document: Document) -> tuple[Document, list[tuple[int, Event]]]:
        happened = self._events.get(document.url, [])
        return revised(document, events=document.events + len(happened)), list(enumerate(happened, document.events))

    def _save_acls(self, changed: list[str]) -> None:
        states = [(self._before[url].acl, self._states[url].acl, url) for url in changed]
        now, removed = self._context.now, [url for old, new, url in states if new is None and old is not None]
        self._unit.access.acls.save_many([new for old, new, _ in states if new is not None and new != old], at=now)
        self._unit.access.acls.remove_many(removed, at=now, feed_id=self._context.feed_id)

    def _is_new_version(self, document: Document) -> bool:
        before = self._before[document.url].document
        return document.version != (0 if before is None else before.version)

    def _make_task(self, document: Document, document_id: int) -> IndexTask:
        # A deleted document may still be in the index in its old form, so its next version revokes access as well.
        fault_point(STORE_STEP, document.url)
        before = self._before[document.url].document
        return IndexTask(
            document_id=document_id,
            version=document.version,
            stage=Stage.EXTRACT if document.awaits_extraction else Stage.INDEX,
            lane=self._lane,
            feed_id=self._context.feed_id,
            datasource=document.datasource,
            revokes_access=before is not None and document.state is DocumentState.LIVE and _moves(before, document),
        )


def _held_class(document: Document | None) -> int | None:
    """Returns the class of a document, None if there is no document."""
    return None if document is None or document.state is DocumentState.GONE else class_of(document)


def _moves(before: Document, document: Document) -> bool:
    """Returns whether the index may show a document to users who may no longer see it, or hide it from users who may."""
    permitted_no_user = before.state is DocumentState.GONE and before.access_class == AccessClass.CLOSED
    return document.access_class != before.access_class and not permitted_no_user


def evict_over_limit(
    unit: UnitOfWork,
    max_documents: int,
    context: ApplyContext,
    lane: Lane,
    *,
    watch: DocumentWatch | None = None,
    at_once: int = EVICTED_AT_ONCE,
) -> int:
    """Evicts documents beyond the licence limit and returns their number; 0 once there are none.

    ``watch``: documents that ended the process stay, and others are evicted in their place.
    """
    watch = watch or DocumentWatch(EVICTION_STEP)
    excess = _count_excess(unit, max_documents)
    to_evict = _list_to_evict(unit, min(excess, at_once), watch) if excess > 0 else []
    _evict(unit, to_evict, max_documents, context, lane, watch)
    return len(to_evict)


def _count_excess(unit: UnitOfWork, max_documents: int) -> int:
    return unit.documents.scan.count_live() - max_documents if max_documents else 0


def _list_to_evict(unit: UnitOfWork, count: int, watch: DocumentWatch) -> list[Document]:
    """Lists ``count`` documents in the order of eviction, without those that have to wait or are skipped."""
    found = unit.documents.scan.list_for_eviction(count)
    # Documents that stay are at the front of the order, so as many more are listed, until enough others are among them.
    while (suspects := [document for document in found if _stays(document, watch)]) and len(found) - len(suspects) < count:
        wider = unit.documents.scan.list_for_eviction(count + len(suspects))
        if len(wider) == len(found):
            break
        found = wider
    return [document for document in found if not _stays(document, watch)][:count]


def _stays(document: Document, watch: DocumentWatch) -> bool:
    document_id = document.id or 0
    if watch.is_hopeless(document_id):
        reason = watch.report_once(document_id)
        if reason is not None:
            log.error("document_not_pushed_out", url=document.url, reason=reason)
        return True
    return not watch.is_due(document_id)


def _evict(
    unit: UnitOfWork, to_evict: Sequence[Document], max_documents: int, context: ApplyContext, lane: Lane, watch: DocumentWatch
) -> None:
    if to_evict:
        ids = {document.url: document.id or 0 for document in to_evict}
        batch = ChangeBatch(unit, context, lane, begin=lambda _, url: watch.begin(ids[url]))
        batch.load(document.url for document in to_evict)
        for document in to_evict:
            watch.begin(ids[document.url])
            fault_point(EVICTION_STEP, document.url)
            batch.remove_document(document, EventKind.PUSHED_OUT, f"the limit is {max_documents} documents")
        batch.finish()


def evict_isolated(
    store: Store,
    max_documents: int,
    context: ApplyContext,
    lane: Lane,
    *,
    watch: DocumentWatch | None = None,
    at_once: int = EVICTED_AT_ONCE,
) -> int:
    """Does the same as ``evict_over_limit`` in separate transactions: if one document fails, it stays and others are evicted in its place.

    Returns the number of evicted documents. Errors: those of infrastructure.
    """
    watched = watch or DocumentWatch(EVICTION_STEP)
    with store.reading() as unit:
        excess = _count_excess(unit, max_documents)
        to_evict = _list_to_evict(unit, at_once, watched) if excess > 0 else []
    removed = 0

    def work(batch: Sequence[Document]) -> None:
        with store.writing() as unit:
            now = unit.documents.reader.find_many([document.url for document in batch])
            # The list is from an earlier transaction. A document that has changed since may no longer be the one to evict.
            current = [document for document in batch if now.get(document.url) == document]
            _evict(unit, current, max_documents, context, lane, watched)
        nonlocal removed
        removed += len(current)

    while to_evict and removed < excess:
        batch, to_evict = to_evict[: excess - removed], to_evict[excess - removed :]
        for failed in run_halved(batch, work, step=EVICTION_STEP):
            log.error("document_not_pushed_out", url=failed.item.url, reason=failed.reason)
    return removed
