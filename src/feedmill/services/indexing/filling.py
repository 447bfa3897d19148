"""Fills index writers with documents that have index tasks, one document at a time, within a bounded time.

A document that cannot be prepared is written in a reduced form, or removed from the index; its task is removed like any other, with the
failure in the same transaction. If the old entry of a document may be visible to users who lost access, the document is removed from the
index before it waits for anything.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from feedmill.core.documents.anchors import NO_INCOMING_LINKS, IncomingLinks
from feedmill.core.documents.visibility import is_indexed
from feedmill.model.document import Document, DocumentState
from feedmill.model.entrybuild import Trouble
from feedmill.model.search import IndexDocument
from feedmill.ports import BlobStore, IndexTask, IndexWriter, UnitOfWork
from feedmill.services.indexing.apart import CHARACTERS_AT_ONCE, LARGE_CHARACTERS, ApartLane, size_of
from feedmill.services.indexing.entries import NO_TEXT
from feedmill.services.indexing.linking import Linking
from feedmill.services.indexing.preparing import (
    BUILD,
    COMMIT,
    LACKS_LINKS,
    LACKS_TEXT,
    READ_ROW,
    READ_TEXT,
    TELL,
    assemble,
    find_incoming_links,
    put_isolated,
    read_text,
)
from feedmill.services.isolation.attempts import Attempts, key_of, key_of_document, read_interruptions
from feedmill.services.isolation.batches import Failed, belongs_to_item
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.isolation.recording import FailureRecorder
from feedmill.services.sweeps.patternsweep import PatternSweep

SLICE_SECONDS = 0.25
"""For how long documents are prepared before the indexer looks for quicker ones again."""

COPY = "index.rebuild"
STEPS = "index."
"""The common prefix of the names of indexing steps: an entry that was written whole clears the failures of these steps alone."""

WATCHED = (BUILD, COMMIT, READ_TEXT, TELL)
"""The steps in which a document is noted because it may end the indexer."""

LINK_TEXTS_BATCH = key_of(TELL, "batch")
"""The note while the indexer reads incoming links of several documents at once. Its interruptions are cleared only by a commit. An end
of the process before that loses the work done for the others, and without the count the next process would read them in a batch again.
"""


@dataclass(slots=True)
class Uncommitted:
    """What was written to the engine for index tasks and is not committed yet. Shape: ``troubles`` by document ids."""

    tasks: dict[int, IndexTask] = field(default_factory=dict)
    troubles: dict[int, tuple[Document, Trouble]] = field(default_factory=dict)
    since: float = 0.0
    has_removed: bool = False

    def __bool__(self) -> bool:
        return bool(self.tasks) or self.has_removed

    def note(self, task: IndexTask, document: Document | None, trouble: Trouble | None) -> None:
        """Notes that the engine has everything that a task requires."""
        if not self:
            self.since = time.monotonic()
        self.tasks[task.document_id] = task
        self.troubles.pop(task.document_id, None)
        if trouble is not None and document is not None:
            self.troubles[task.document_id] = document, trouble

    def forget(self, document_id: int) -> None:
        """Drops a task, which stays in the store and is done again."""
        self.tasks.pop(document_id, None)
        self.troubles.pop(document_id, None)

    def clear(self) -> None:
        """Drops all tasks."""
        self.tasks.clear()
        self.troubles.clear()
        self.has_removed = False


class Filling:
    """Fills writers. ``lane`` takes documents that are prepared in a separate process; None if there is no such process."""

    def __init__(self, blobs: BlobStore, links: Linking, patterns: PatternSweep, attempts: Attempts, lane: ApartLane | None) -> None:
        self._blobs = blobs
        self._links = links
        self._patterns = patterns
        self._attempts = attempts
        self._lane = lane
        self.suspected_feeds: frozenset[int] = frozenset()

    def fill(
        self, writers: Sequence[IndexWriter], tasks: Sequence[IndexTask], documents: Mapping[int, Document], uncommitted: Uncommitted
    ) -> int:
        """Processes tasks in order until the time is over, at least one; returns how many were processed."""
        begun = time.monotonic()
        wanted = {key: document for key, document in documents.items() if is_indexed(document)}
        apart = {task.document_id for task in tasks if self._belongs_apart(task)}
        incoming, untold = self.find_incoming_links([document for key, document in wanted.items() if key not in apart])
        for place, task in enumerate(tasks):
            # Never before the first task, or a slow one would stop all work for ever.
            if place and time.monotonic() - begun > SLICE_SECONDS:
                return place
            document = wanted.get(task.document_id)
            known = documents.get(task.document_id)
            if document is None and known is not None and known.damage and known.state is DocumentState.LIVE:
                self.set_aside(writers, task, known, Trouble(READ_ROW, f"step {READ_ROW} failed: {known.damage}"), uncommitted)
            elif document is None:
                self.remove(writers, task, uncommitted)
            elif task.document_id in apart:
                self._put_apart(writers, task, uncommitted)
            else:
                self._take(
                    writers, task, document, incoming.get(task.document_id, NO_INCOMING_LINKS), untold.get(task.document_id), uncommitted
                )
        return len(tasks)

    def find_incoming_links(self, documents: Sequence[Document]) -> tuple[dict[int, IncomingLinks], dict[int, Trouble]]:
        """Returns what incoming links say about documents, and for which that failed; one by one if it ended the process before."""
        counts = (self._attempts.count(key) for key in (LINK_TEXTS_BATCH, *(_key_of(TELL, document) for document in documents)))
        if not any(counts):
            with self._attempts.on(LINK_TEXTS_BATCH):
                return find_incoming_links(self._links.find_incoming_links, documents)
        incoming: dict[int, IncomingLinks] = {}
        untold: dict[int, Trouble] = {}
        for document in documents:
            key = _key_of(TELL, document)
            if self._attempts.is_hopeless(key):
                untold[document.id or 0] = Trouble(TELL, read_interruptions(TELL, self._attempts.count(key)), LACKS_LINKS)
                continue
            with self._attempts.on(key):
                found, failed = find_incoming_links(self._links.find_incoming_links, [document])
            incoming |= found
            untold |= failed
        return incoming, untold

    def _take(
        self,
        writers: Sequence[IndexWriter],
        task: IndexTask,
        document: Document,
        incoming: IncomingLinks,
        untold: Trouble | None,
        uncommitted: Uncommitted,
    ) -> None:
        made, trouble = self._assemble(document, incoming)
        trouble = trouble or untold
        if made is not None and self._lane is not None and size_of(made) >= LARGE_CHARACTERS:
            self._put_apart(writers, task, uncommitted)
            return
        if made is not None:
            with self._attempts.on(_key_of(BUILD, document)):
                trouble = put_isolated(writers, made) or trouble
        if trouble is not None and trouble.lacks is None:
            self.set_aside(writers, task, document, trouble, uncommitted)
        else:
            uncommitted.note(task, document, trouble)

    def _assemble(self, document: Document, incoming: IncomingLinks) -> tuple[IndexDocument | None, Trouble | None]:
        """Returns a document in the form that the index takes, and what failed; a step that repeatedly ended the process is not tried."""
        reading, building = _key_of(READ_TEXT, document), _key_of(BUILD, document)
        if self._attempts.is_hopeless(building):
            return None, Trouble(BUILD, read_interruptions(BUILD, self._attempts.count(building)))
        trouble: Trouble | None
        if self._attempts.is_hopeless(reading):
            stored, trouble = NO_TEXT, Trouble(READ_TEXT, read_interruptions(READ_TEXT, self._attempts.count(reading)), LACKS_TEXT)
        else:
            with self._attempts.on(reading):
                stored, trouble = read_text(self._blobs, document)
        with self._attempts.on(building):
            made, failed = assemble(document, stored, incoming, self._patterns.book.terms_of)
        return made, failed or trouble

    def is_suspected(self, document_id: int) -> bool:
        """Returns whether the indexer ended while it worked on a document alone."""
        return any(self._attempts.count(key_of_document(step, document_id)) for step in WATCHED)

    def is_due(self, document_id: int) -> bool:
        """Returns whether a document may be worked on now; one that ends this process, rather than the separate one, waits for others."""
        return all(self._attempts.is_due(key_of_document(step, document_id)) for step in (READ_TEXT, TELL))

    def _belongs_apart(self, task: IndexTask) -> bool:
        return self._lane is not None and (self.is_suspected(task.document_id) or task.feed_id in self.suspected_feeds)

    def copy(self, writer: IndexWriter, document: Document, incoming: tuple[dict[int, IncomingLinks], dict[int, Trouble]]) -> bool:
        """Writes a document to another folder; returns False if something failed, or if it belongs to the separate process."""
        if document.damage or document.id in incoming[1]:
            return False
        try:
            fault_point(COPY, document.url)
            stored, trouble = read_text(self._blobs, document)
            made, failed = assemble(document, stored, incoming[0].get(document.id or 0, NO_INCOMING_LINKS), self._patterns.book.terms_of)
            if made is None or trouble is not None or failed is not None or (self._lane is not None and size_of(made) >= LARGE_CHARACTERS):
                return False
            writer.put_prepared([writer.prepare(made)])
        except BaseException as error:
            if not belongs_to_item(error):
                raise
            return False
        return True

    def remove(self, writers: Sequence[IndexWriter], task: IndexTask, uncommitted: Uncommitted) -> None:
        """Removes from the index a document that must not be found."""
        for writer in writers:
            writer.remove_many([task.document_id])
        uncommitted.note(task, None, None)

    def set_aside(
        self, writers: Sequence[IndexWriter], task: IndexTask, document: Document, trouble: Trouble, uncommitted: Uncommitted
    ) -> None:
        """Removes a document from the index after a failed step: its earlier entry may be visible to users who have lost access."""
        for writer in writers:
            writer.remove_many([task.document_id])
        uncommitted.note(task, document, trouble)

    # --- in the separate process ---

    def _put_apart(self, writers: Sequence[IndexWriter], task: IndexTask, uncommitted: Uncommitted) -> None:
        assert self._lane is not None
        self._lane.put(task)
        # Until the build is ready, the earlier entry would show the document to users who have lost access.
        if task.revokes_access:
            if not uncommitted:
                uncommitted.since = time.monotonic()
            for writer in writers:
                writer.remove_many([task.document_id])
            uncommitted.has_removed = True

    def assemble_apart(self, work: Mapping[int, tuple[IndexTask, Document]]) -> Iterator[tuple[int, IndexDocument | None, Trouble | None]]:
        """Yields documents for the separate process, up to its limit of size."""
        incoming, untold = self.find_incoming_links([document for _, document in work.values()])
        characters = 0
        for document_id, (_, document) in work.items():
            made, trouble = self._assemble(document, incoming.get(document_id, NO_INCOMING_LINKS))
            characters += size_of(made) if made is not None else 0
            yield document_id, made, trouble or untold.get(document_id)
            if characters >= CHARACTERS_AT_ONCE:
                return


def _key_of(step: str, document: Document) -> str:
    return key_of_document(step, document.id or 0)


def record_troubles(
    unit: UnitOfWork, recorder: FailureRecorder, tasks: Mapping[int, IndexTask], troubles: Mapping[int, tuple[Document, Trouble]]
) -> None:
    """Records what failed for documents whose tasks are removed, and clears earlier failures of those that were written whole."""
    recorder.clear(unit, [key for key in tasks if key not in troubles], STEPS)
    feeds = {key: task.feed_id for key, task in tasks.items()}
    for is_found in (False, True):
        failed = [
            Failed(document, trouble.step, trouble.recorded_reason)
            for document, trouble in troubles.values()
            if (trouble.lacks is not None) is is_found
        ]
        if failed:
            recorder.record(unit, failed, feeds=feeds, is_found=is_found)
