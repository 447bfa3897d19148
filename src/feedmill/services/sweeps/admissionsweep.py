"""Checks all documents against the settings again after these have changed.

The sweep goes through documents by id, some in each transaction, and stores a cursor, so that it resumes after its process is killed.
Then it evicts documents beyond a lowered limit. While new settings spread, a feeder that still uses the old ones may feed documents that
the sweep has passed already, so a second round follows the first after a while. If the settings change back before the sweep has ended,
they are treated as new settings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from feedmill.core.documents.urlstate import ApplyContext
from feedmill.model.document import Document, DocumentState
from feedmill.model.provenance import MAINTENANCE
from feedmill.model.queue import QueueName
from feedmill.model.topic import Topic
from feedmill.ports import Clock, Lane, Notifier, Store, UnitOfWork
from feedmill.services import keyvalues
from feedmill.services.feeds.feeding import EVICTION_STEP, Admission, ChangeBatch, evict_isolated, evict_over_limit
from feedmill.services.feeds.recordwatch import Caution, watch_documents
from feedmill.services.isolation.batches import belongs_to_item, run_halved
from feedmill.services.isolation.faultpoints import fault_point

ADMISSION_STEP = "admission"
DOCUMENTS_AT_ONCE = 500
ROUNDS = 2
BETWEEN_ROUNDS = timedelta(seconds=30)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cursor:
    """How far a sweep is. Shape: stored as ``DIGEST:ROUND:ID``."""

    digest: str
    round: int = 1
    reached: int = 0

    def __str__(self) -> str:
        return f"{self.digest}:{self.round}:{self.reached}"


def is_between_rounds(stored: str | None) -> bool:
    """Whether a stored cursor is that of a sweep whose next round has to wait until the settings have spread."""
    return (stored or "").rsplit(":", 2)[1:] == [str(ROUNDS), "0"]


def _read_cursor(stored: str | None, digest: str) -> _Cursor:
    """Returns the stored cursor, or a new one if it belongs to a sweep for other settings."""
    parts = (stored or "").rsplit(":", 2)
    if len(parts) != 3 or parts[0] != digest or not (parts[1].isdigit() and parts[2].isdigit()):
        return _Cursor(digest=digest)
    return _Cursor(digest=digest, round=int(parts[1]), reached=int(parts[2]))


def _note_step(unit: UnitOfWork, cursor: _Cursor) -> None:
    if cursor == _Cursor(digest=cursor.digest):
        unit.processing.queues.begin(QueueName.ADMISSION)
    else:
        unit.processing.queues.note_progress(QueueName.ADMISSION)


class AdmissionSweep:
    """The sweep of one process; call ``step`` from its loop."""

    def __init__(
        self,
        store: Store,
        admission: Callable[[], Admission],
        digest: Callable[[], str],
        notifier: Notifier,
        clock: Clock,
        *,
        caution: Caution | None = None,
        at_once: int = DOCUMENTS_AT_ONCE,
    ) -> None:
        self._store = store
        self._watch = watch_documents(ADMISSION_STEP, caution)
        self._evicting = watch_documents(EVICTION_STEP, caution)
        self._admission = admission
        self._digest = digest
        self._notifier = notifier
        self._clock = clock
        self._at_once = at_once
        self._done = ""
        self._round_ended_at: datetime | None = None

    def step(self) -> bool:
        """Does the next bounded piece of work. Returns whether there is more to do now."""
        digest = self._digest()
        if digest == self._done:
            return False
        cursor = self._find_cursor(digest)
        if cursor is None:
            self._done = digest
            return False
        if cursor.round > 1 and cursor.reached == 0 and not self._is_time():
            return False
        return self._work(cursor)

    def _find_cursor(self, digest: str) -> _Cursor | None:
        """Returns where to continue, None if every document was checked against these settings."""
        with self._store.reading() as unit:
            if unit.state.key_values.get(keyvalues.ADMISSION_DIGEST) == digest:
                return None
            return _read_cursor(unit.state.key_values.get(keyvalues.ADMISSION_CURSOR), digest)

    def _is_time(self) -> bool:
        """Whether the settings have had time to spread; a process that starts between the rounds waits the full time again."""
        now = self._clock()
        if self._round_ended_at is None:
            self._round_ended_at = now
        return now - self._round_ended_at >= BETWEEN_ROUNDS

    def _work(self, cursor: _Cursor) -> bool:
        admission = self._admission()
        self._done = ""
        limit = self._find_limit(cursor)
        if limit == 0:
            return False
        try:
            has_more = self._work_whole(cursor, admission, limit)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            has_more = self._work_apart(cursor, admission, limit)
        finally:
            self._watch.end()
        self._notifier.notify(Topic.INDEXING)
        return has_more

    def _find_limit(self, cursor: _Cursor) -> int:
        """Returns how many of the next documents can be checked now: 0 if the first has to wait."""
        limit = self._watch.find_limit(self._at_once)
        if not self._watch.has_suspects:
            return limit
        with self._store.reading() as unit:
            ids = [document.id or 0 for document in unit.documents.scan.list_live(after=cursor.reached, limit=limit)]
        due = self._watch.count_due(ids)
        return due if due < len(ids) else limit

    def _work_whole(self, cursor: _Cursor, admission: Admission, limit: int) -> bool:
        """Checks the next documents in one transaction, all or none. Returns whether there is more to do."""
        with self._store.writing() as unit:
            self._begin_sweep(unit, cursor)
            context = self._context(admission)
            documents = unit.documents.scan.list_live(after=cursor.reached, limit=limit)
            if documents:
                self._reconsider(unit, context, documents)
                self._put_cursor(unit, replace(cursor, reached=documents[-1].id or 0))
                return True
            has_more = evict_over_limit(unit, admission.max_documents, context, Lane.BULK, watch=self._evicting, at_once=self._at_once) > 0
            if not has_more:
                self._end_round(unit, cursor)
        if not has_more:
            self._forget(cursor)
        return has_more

    def _work_apart(self, cursor: _Cursor, admission: Admission, limit: int) -> bool:
        """Checks the next documents one by one; one that fails becomes invisible to all users. Returns whether there is more to do."""
        context = self._context(admission)
        with self._store.reading() as unit:
            documents = unit.documents.scan.list_live(after=cursor.reached, limit=limit)
        if not documents:
            has_more = self._evict_isolated(admission, context)
            if not has_more:
                with self._store.writing() as unit:
                    self._end_round(unit, cursor)
                self._forget(cursor)
            return has_more

        def work(batch: Sequence[Document]) -> None:
            with self._store.writing() as unit:
                self._begin_sweep(unit, cursor)
                now = unit.documents.reader.find_many([document.url for document in batch])
                self._reconsider(unit, context, [document for document in now.values() if document.state is DocumentState.LIVE])

        for failed in run_halved(documents, work, step=ADMISSION_STEP):
            log.error("document_not_checked", url=failed.item.url, reason=failed.reason)
            self._close(failed.item, context)
        with self._store.writing() as unit:
            self._begin_sweep(unit, cursor)
            self._put_cursor(unit, replace(cursor, reached=documents[-1].id or 0))
        return True

    def _evict_isolated(self, admission: Admission, context: ApplyContext) -> bool:
        limit = admission.max_documents
        return evict_isolated(self._store, limit, context, Lane.BULK, watch=self._evicting, at_once=self._at_once) > 0

    def _forget(self, cursor: _Cursor) -> None:
        """Clears which documents ended the process, once the last round is over."""
        if cursor.round >= ROUNDS:
            self._watch.clear()

    def _close(self, document: Document, context: ApplyContext) -> None:
        """Makes a document that cannot be checked invisible to all users. Errors: those of infrastructure; other errors go to the log."""
        try:
            with self._store.writing() as unit:
                batch = ChangeBatch(unit, context, Lane.BULK)
                batch.load([document.url])
                batch.close(document.url)
                batch.finish()
        except Exception as error:
            if not belongs_to_item(error):
                raise
            log.exception("document_not_closed", url=document.url)

    def _begin_sweep(self, unit: UnitOfWork, cursor: _Cursor) -> None:
        # From here on documents are checked against settings other than those of the last complete sweep. If these old settings
        # come back before this sweep ends, all documents have to be checked again.
        unit.state.key_values.put(keyvalues.ADMISSION_DIGEST, "")
        _note_step(unit, cursor)

    def _put_cursor(self, unit: UnitOfWork, cursor: _Cursor) -> None:
        unit.state.key_values.put(keyvalues.ADMISSION_CURSOR, str(cursor))

    def _context(self, admission: Admission) -> ApplyContext:
        return ApplyContext(provenance=MAINTENANCE, now=self._clock(), rules=admission.rules)

    def _reconsider(self, unit: UnitOfWork, context: ApplyContext, documents: Sequence[Document]) -> None:
        """Checks documents against the rules; one that repeatedly ended the process becomes invisible to all users."""
        ids = {document.url: document.id or 0 for document in documents}
        batch = ChangeBatch(unit, context, Lane.BULK, begin=lambda _, url: self._watch.begin(ids[url]))
        self._watch.begin_many(list(ids.values()))
        batch.load(ids)
        for document in documents:
            if self._watch.is_hopeless(ids[document.url]):
                log.error("document_not_checked", url=document.url, reason=self._watch.reason_of(ids[document.url]))
                batch.close(document.url)
                continue
            self._watch.begin(ids[document.url])
            fault_point(ADMISSION_STEP, document.url)
            batch.reconsider(document)
        batch.finish()
        self._watch.begin_many(list(ids.values()))

    def _end_round(self, unit: UnitOfWork, cursor: _Cursor) -> None:
        if cursor.round < ROUNDS:
            unit.state.key_values.put(keyvalues.ADMISSION_CURSOR, str(_Cursor(digest=cursor.digest, round=cursor.round + 1)))
            self._round_ended_at = self._clock()
        else:
            unit.state.key_values.put(keyvalues.ADMISSION_DIGEST, cursor.digest)
            unit.state.key_values.put(keyvalues.ADMISSION_CURSOR, "")
        log.info("admission_swept", digest=cursor.digest, round=cursor.round)
