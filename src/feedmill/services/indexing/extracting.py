"""Extraction: reads documents with EXTRACT tasks, extracts their text in worker processes, stores it, and passes the tasks to the indexer.

If a document cannot be passed to a worker or its text cannot be stored, it continues without its text, with the reason. A document that
ended the extractor waits until others are done (``services.isolation.attempts``).

A small change uses the quick workers, within the limits of ``pacing``. A document that is too slow for them continues with the others.
"""

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import structlog

from feedmill import __version__
from feedmill.core.crawling.dates import DateParts, DateRules
from feedmill.core.text.textblob import decode_text
from feedmill.model.document import Document, Event, EventKind, Text
from feedmill.model.errors import Broken, Corrupt, FeedmillError
from feedmill.model.extraction import Answer, Task
from feedmill.model.lightdataclass import light_dataclass
from feedmill.model.queue import QueueName
from feedmill.model.topic import Topic
from feedmill.ports import BlobStore, Clock, Extractor, IndexTask, InFlight, Lane, Notifier, Stage, Store, UnitOfWork
from feedmill.services.failurenote import FailureNote
from feedmill.services.indexing.pacing import Pacing
from feedmill.services.isolation.attempts import Attempts, key_of_document, read_interruptions
from feedmill.services.isolation.batches import FailedItem, belongs_to_item, describe, run_halved
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.isolation.noinflight import NoInFlight
from feedmill.services.isolation.recording import FailureRecorder

SUBMIT = "extract.hand_over"
STORE_TEXT = "extract.keep"
STEPS = "extract."
"""The common prefix of the names of extraction steps."""

POLL_SECONDS = 0.5
COLLECT_SECONDS = 0.02
PAUSE_SECONDS = 0.02
GATHER_SECONDS = 0.3
WORTH_A_LOOK = 64
BATCH = 400
INLINE_BYTES = 1 << 20

log = structlog.get_logger(__name__)


@light_dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    index_task: IndexTask
    document: Document
    task: Task


def _ignore(_outcome: str) -> None:
    return


class Extracting:
    """Processes EXTRACT tasks; ``work`` runs until it is stopped. ``on_extracted`` is called for each document: whole, cut or failed."""

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        extractor: Extractor,
        notifier: Notifier,
        clock: Clock,
        *,
        on_extracted: Callable[[str], None] = _ignore,
        in_flight: InFlight | None = None,
        recorder: FailureRecorder | None = None,
        dates: DateRules | None = None,
    ) -> None:
        self._dates = dates
        self._store = store
        self._blobs = blobs
        self._extractor = extractor
        self._notifier = notifier
        self._clock = clock
        self._on_extracted = on_extracted
        self._attempts = Attempts(store, in_flight or NoInFlight(), clock)
        self._recorder = recorder or FailureRecorder(clock, __version__)
        self._suspected_feeds = self._attempts.find_feeds(SUBMIT, STORE_TEXT)
        self._reached: dict[Lane, IndexTask | None] = dict.fromkeys(Lane)
        self._jobs: dict[int, _Job] = {}
        self._done: list[tuple[_Job, Answer]] = []
        self._again: list[_Job] = []
        self._done_since = 0.0
        self._failed: dict[int, FailedItem[Document]] = {}
        self._pacing = Pacing()
        self._trouble = FailureNote(store, QueueName.EXTRACT)

    def work(self, is_stopped: Callable[[], bool]) -> None:
        """Works until stopped; documents that are in flight then are extracted again after the next start. Errors: Broken."""
        while not is_stopped():
            try:
                if not self.turn():
                    self._notifier.wait(POLL_SECONDS)
            except Broken:
                raise
            except FeedmillError as error:
                log.warning("extractor_waits", reason=str(error))
                self._trouble.note(str(error))
                self._notifier.wait(POLL_SECONDS)
        self.close()

    def turn(self) -> bool:
        """Assigns documents that have tasks to workers and stores finished texts. Returns whether anything is in flight."""
        self._resubmit()
        for lane in Lane:
            self._assign(lane)
        if not self._jobs and not self._done:
            return False
        self._collect()
        if self._is_time_to_store():
            done, self._done = self._done[:BATCH], self._done[BATCH:]
            self._store_texts(done)
            self._notifier.notify(Topic.INDEXING)
        return True

    def close(self) -> None:
        """Ends the worker processes."""
        self._extractor.close()

    def _collect(self) -> None:
        """Collects finished documents; if no change is urgent, it pauses so that one poll serves many documents."""
        is_awaited = any(job.index_task.lane is Lane.QUICK for job in self._jobs.values())
        if self._jobs and not is_awaited:
            self._notifier.wait(PAUSE_SECONDS)
        for answer in self._extractor.collect(COLLECT_SECONDS if is_awaited else 0.0):
            if not self._done:
                self._done_since = time.monotonic()
            self._take_answer(answer)

    def _is_time_to_store(self) -> bool:
        """Whether to begin a transaction: for many documents, for an urgent one, or after a while."""
        if not self._done:
            return False
        if len(self._done) >= BATCH or not self._jobs or time.monotonic() - self._done_since >= GATHER_SECONDS:
            return True
        return any(job.index_task.lane is Lane.QUICK for job, _ in self._done)

    # --- to the workers ---

    def _assign(self, lane: Lane) -> None:
        capacity = self._extractor.capacity(quick=lane is Lane.QUICK)
        # A look costs a transaction, which pays only if many tasks fit, or if nothing is in flight.
        if capacity <= 0 or (lane is Lane.BULK and capacity < WORTH_A_LOOK and self._jobs):
            return
        with self._store.reading() as unit:
            index_tasks = self._list_tasks(unit, lane, min(capacity, BATCH))
            documents = unit.documents.reader.find_by_id([index_task.document_id for index_task in index_tasks])
        idle: list[IndexTask] = []
        for index_task in index_tasks:
            document = documents.get(index_task.document_id)
            if document is None or not document.awaits_extraction:
                idle.append(index_task)
            elif lane is Lane.BULK or not self._pacing.must_wait(document):
                self._submit_isolated(index_task, document)
        if idle:
            with self._store.writing() as unit:
                unit.processing.index_tasks.advance(idle)

    def _list_tasks(self, unit: UnitOfWork, lane: Lane, capacity: int) -> list[IndexTask]:
        """Lists index tasks that are not in flight: those after the last one that was assigned, and at the end from the start again."""
        reached = self._reached[lane]
        held = [*(job for job, _ in self._done), *self._again]
        busy = self._jobs.keys() | {job.index_task.document_id for job in held}
        listed = unit.processing.index_tasks.list(
            Stage.EXTRACT, capacity if reached is not None else capacity + len(busy), lane=lane, after=reached
        )
        index_tasks = self._list_due([index_task for index_task in listed if index_task.document_id not in busy])[:capacity]
        # Fewer than fit means that the end of the list is reached. The next look begins at its start again.
        self._reached[lane] = index_tasks[-1] if len(index_tasks) == capacity else None
        return index_tasks

    def _list_due(self, index_tasks: list[IndexTask]) -> list[IndexTask]:
        """Lists tasks to work on now: tasks of feeds with a document that ended this process wait until no other work is at risk."""
        others = [index_task for index_task in index_tasks if not self._is_suspected(index_task)]
        return others or (index_tasks if self._attempts.may_risk(is_idle=not self._jobs) else [])

    def _is_suspected(self, index_task: IndexTask) -> bool:
        if index_task.feed_id in self._suspected_feeds:
            return True
        return self._attempts.has_any and any(self._attempts.count(_key_of(step, index_task)) for step in (SUBMIT, STORE_TEXT))

    def _submit_isolated(self, index_task: IndexTask, document: Document) -> None:
        key = _key_of(SUBMIT, index_task)
        if self._attempts.is_hopeless(key):
            self._give_up(index_task, document, SUBMIT, read_interruptions(SUBMIT, self._attempts.count(key)))
            return
        try:
            with self._attempts.on(key):
                fault_point(SUBMIT, document.url)
                self._submit(index_task, document)
        except BaseException as error:
            if not belongs_to_item(error):
                raise
            self._jobs.pop(index_task.document_id, None)
            self._give_up(index_task, document, SUBMIT, describe(SUBMIT, error))

    def _give_up(self, index_task: IndexTask, document: Document, step: str, reason: str) -> None:
        """Lets a document continue without text."""
        answer = Answer(key=index_task.document_id, mimetype=document.attributes.mimetype or "", reason=reason)
        job = _Job(index_task=index_task, document=document, task=Task(key=index_task.document_id, url=document.url, mimetype=None))
        self._failed[index_task.document_id] = FailedItem(document, step, reason)
        self._done.append((job, answer))

    def _submit(self, index_task: IndexTask, document: Document) -> None:
        assert document.content is not None
        # A large content is passed as an open file. A packed blob has no file of its own, so its bytes travel in the message.
        path = self._blobs.path(document.content) if document.content_bytes > INLINE_BYTES else None
        try:
            data = None if path is not None else self._blobs.read(document.content)
        except Corrupt as error:
            text = Answer(key=index_task.document_id, mimetype=document.attributes.mimetype or "", reason=f"the content is lost: {error}")
            task = Task(key=index_task.document_id, url=document.url, mimetype=None)
            self._done.append((_Job(index_task=index_task, document=document, task=task), text))
            return
        task = Task(
            key=index_task.document_id,
            url=document.url,
            mimetype=document.attributes.mimetype,
            data=data,
            path=path,
            charset=document.charset,
            text_bytes=document.attributes.text_bytes,
            attachments=document.attributes.attachments,
        )
        self._jobs[index_task.document_id] = _Job(index_task=index_task, document=document, task=task)
        self._extractor.submit(task, quick=index_task.lane is Lane.QUICK and self._pacing.admit(task, document.datasource))

    def _resubmit(self) -> None:
        while self._again and self._extractor.capacity(quick=False) > 0:
            job = self._again.pop()
            self._jobs[job.task.key] = job
            self._extractor.submit(job.task, quick=False)

    # --- from the workers ---

    def _take_answer(self, answer: Answer) -> None:
        job = self._jobs.pop(answer.key)
        self._pacing.dismiss(answer.key, was_too_slow=answer.too_slow, datasource=job.document.datasource)
        if answer.too_slow:
            self._again.append(job)
        else:
            self._done.append((job, answer))

    def _store_texts(self, done: Sequence[tuple[_Job, Answer]]) -> None:
        """Stores texts, then sets them and passes the tasks on in one transaction."""
        texts = [(job, self._text_isolated(job, answer)) for job, answer in done]
        # Before the transaction that refers to the texts.
        self._blobs.sync()
        for each in run_halved(texts, self._save, step=STORE_TEXT):
            self._save_failed(each.item[0], each.reason)
        for job, text in texts:
            self._failed.pop(job.task.key, None)
            self._on_extracted("whole" if text.reason is None else "cut" if text.blob is not None else "failed")
        self._attempts.clear(_key_of(step, job.index_task) for job, _ in texts for step in (SUBMIT, STORE_TEXT))

    def _text_isolated(self, job: _Job, answer: Answer) -> Text:
        """Stores a text; if that fails, returns a failed text with the reason."""
        key = _key_of(STORE_TEXT, job.index_task)
        if self._attempts.is_hopeless(key):
            return self._lose(job, read_interruptions(STORE_TEXT, self._attempts.count(key)))
        try:
            with self._attempts.on(key):
                fault_point(STORE_TEXT, job.document.url)
                return self._text_of(job, answer)
        except BaseException as error:
            if not belongs_to_item(error):
                raise
            return self._lose(job, describe(STORE_TEXT, error))

    def _lose(self, job: _Job, reason: str) -> Text:
        self._failed[job.task.key] = FailedItem(job.document, STORE_TEXT, reason)
        assert job.document.content is not None
        return Text(source=job.document.content, mimetype=job.document.attributes.mimetype, reason=reason)

    def _save_failed(self, job: _Job, reason: str) -> None:
        """Passes a task on although the store does not accept its text; the document is indexed without it."""
        with self._store.writing() as unit:
            unit.processing.index_tasks.advance([job.index_task])
            self._recorder.record(unit, [FailedItem(job.document, STORE_TEXT, reason)], feeds=_feed_of(job), is_found=True)

    def _save(self, texts: Sequence[tuple[_Job, Text]]) -> None:
        failed = {job.document.url: text for job, text in texts if text.reason is not None}
        with self._store.writing() as unit:
            unit.documents.writer.save_texts([(job.task.key, text) for job, text in texts], at=self._clock())
            unit.processing.index_tasks.advance([job.index_task for job, _ in texts])
            unit.processing.queues.note_progress(QueueName.EXTRACT)
            self._recorder.clear(unit, [job.task.key for job, _ in texts if job.task.key not in self._failed], STEPS)
            for job, _ in texts:
                if job.task.key in self._failed:
                    self._recorder.record(unit, [self._failed[job.task.key]], feeds=_feed_of(job), is_found=True)
            if failed:
                found = unit.documents.reader.find_many(list(failed)).values()
                documents = [document for document in found if document.text == failed[document.url] and not document.damage]
                unit.documents.writer.save_many([replace(document, events=document.events + 1) for document in documents], moved=())
                reported = [(each.id, each.events, self._event(failed[each.url])) for each in documents if each.id is not None]
                unit.documents.writer.add_events(reported)

    def _text_of(self, job: _Job, answer: Answer) -> Text:
        assert job.document.content is not None
        blob = None
        if answer.body:
            blob = self._blobs.put(io.BytesIO(answer.body), len(answer.body))
        return Text(
            source=job.document.content,
            blob=blob,
            title=answer.title,
            mimetype=answer.mimetype,
            language=answer.language,
            metadata=answer.metadata,
            robots=answer.robots,
            reason=answer.reason,
            date=self._find_date(job.document, answer),
        )

    def _find_date(self, document: Document, answer: Answer) -> datetime | None:
        """Returns the date that the rules of the settings find, None if there are no rules."""
        if self._dates is None or self._dates.is_empty:
            return None
        parts = DateParts(
            url=document.url,
            title=document.attributes.title or answer.title or "",
            metadata=(*document.metadata, *answer.metadata),
            last_modified=document.attributes.last_modified,
            read_body=lambda: decode_text(answer.body) if answer.body else "",
        )
        return self._dates.find_date(parts, self._clock())

    def _event(self, text: Text) -> Event:
        kind = EventKind.CUT if text.blob is not None else EventKind.EXTRACTION_FAILED
        return Event(kind=kind, at=self._clock(), detail=text.reason or "")


def _key_of(step: str, index_task: IndexTask) -> str:
    return key_of_document(step, index_task.document_id)


def _feed_of(job: _Job) -> dict[int, int | None]:
    return {job.task.key: job.index_task.feed_id}
