"""Fills index writers with documents that have index tasks, one document at a time, within a bounded time.

A document that cannot be prepared is written in a reduced form, or removed from the index; its task is removed like any other, with the
failure in the same transaction. If the old entry of a document may be visible to users who lost access, the document is removed from the
index before it waits for anything.
"""

import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from feedmill.core.documents.anchors import NO_INCOMING_LINKS, IncomingLinks
from feedmill.core.documents.presentation import is_indexed
from feedmill.model.document import Document, DocumentState
from feedmill.model.entrybuild import BuildFailure
from feedmill.model.extraction import Link
from feedmill.model.search import IndexDocument
from feedmill.ports import BlobStore, IndexTask, IndexWriter, UnitOfWork
from feedmill.services.indexing.entries import NO_TEXT
from feedmill.services.indexing.isolatedbuild import CHARACTERS_AT_ONCE, LARGE_CHARACTERS, IsolatedBuildQueue, size_of
from feedmill.services.indexing.linking import Linking
from feedmill.services.indexing.preparing import (
    BUILD,
    COMMIT,
    LACKS_LINKS,
    LACKS_TEXT,
    READ_LINKS,
    READ_ROW,
    READ_TEXT,
    assemble,
    find_incoming_links,
    put_isolated,
    read_text,
)
from feedmill.services.isolation.attempts import Attempts, key_of, key_of_document, read_interruptions
from feedmill.services.isolation.batches import FailedItem, belongs_to_item
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.isolation.recording import FailureRecorder
from feedmill.services.sweeps.patternsweep import PatternSweep

SLICE_SECONDS = 0.25
"""For how long documents are prepared before the indexer looks for quicker ones again."""

COPY = "index.rebuild"
STEPS = "index."
"""The common prefix of the names of indexing steps: an entry that was written whole clears the failures of these steps alone."""

WATCHED = (BUILD, COMMIT, READ_TEXT, READ_LINKS)
"""The steps in which a document is noted because it may end the indexer."""

LINK_TEXTS_BATCH = key_of(READ_LINKS, "batch")
"""The note while the indexer reads incoming links of several documents at once. Its interruptions are cleared only by a commit. An end
of the process before that loses the work done for the others, and without the count the next process would read them in a batch again.
"""


@dataclass(slots=True)
class UncommittedBatch:
    """What was written to the engine for index tasks and is not committed yet. Shape: ``build_failures`` by document ids."""

    tasks: dict[int, IndexTask] = field(default_factory=dict)
    build_failures: dict[int, tuple[Document, BuildFailure]] = field(default_factory=dict)
    since: float = 0.0
    has_removed: bool = False

    def __bool__(self) -> bool:
        return bool(self.tasks) or self.has_removed

    def note(self, task: IndexTask, document: Document | None, build_failure: BuildFailure | None) -> None:
        """Notes that the engine has everything that a task requires."""
        if not self:
            self.since = time.monotonic()
        self.tasks[task.document_id] = task
        self.build_failures.pop(task.document_id, None)
        if build_failure is not None and document is not None:
            self.build_failures[task.document_id] = document, build_failure

    def forget(self, document_id: int) -> None:
        """Drops a task, which stays in the store and is done again."""
        self.tasks.pop(document_id, None)
        self.build_failures.pop(document_id, None)

    def clear(self) -> None:
        """Drops all tasks."""
        self.tasks.clear()
        self.build_failures.clear()
        self.has_removed = False


class EntryWriting:
    """Writes entries. ``isolated_builds`` takes documents that are prepared in a separate process; None if there is no such process."""

    def __init__(
        self, blobs: BlobStore, links: Linking, patterns: PatternSweep, attempts: Attempts, isolated_builds: IsolatedBuildQueue | None
    ) -> None:
        self._blobs = blobs
        self._links = links
        self._patterns = patterns
        self._attempts = attempts
        self._isolated_builds = isolated_builds
        self.suspected_feeds: frozenset[int] = frozenset()

    def write_entries(
        self,
        writers: Sequence[IndexWriter],
        tasks: Sequence[IndexTask],
        documents: Mapping[int, Document],
        failed: Set[int],
        uncommitted: UncommittedBatch,
    ) -> int:
        """Processes tasks in order until the time is over, at least one; returns how many were processed.

        Shape: ``failed`` are documents for which building failed before, which may have ended a process: that is not tried here again.
        """
        begun = time.monotonic()
        wanted = {key: document for key, document in documents.items() if is_indexed(document)}
        isolated = {task.document_id for task in tasks if self._needs_isolated_build(task, failed)}
        prepared_here = [document for key, document in wanted.items() if key not in isolated]
        if not self._attempts.count(LINK_TEXTS_BATCH):
            with self._attempts.on(LINK_TEXTS_BATCH):
                self._links.gather(prepared_here)
        incoming, link_failures = self.find_incoming_links(prepared_here)
        for place, task in enumerate(tasks):
            # Never before the first task, or a slow one would stop all work for ever.
            if place and time.monotonic() - begun > SLICE_SECONDS:
                return place
            document = wanted.get(task.document_id)
            known = documents.get(task.document_id)
            if document is None and known is not None and known.damage and known.state is DocumentState.LIVE:
                self.set_aside(writers, task, known, BuildFailure(READ_ROW, f"step {READ_ROW} failed: {known.damage}"), uncommitted)
            elif document is None:
                self.remove(writers, task, uncommitted)
            elif task.document_id in isolated:
                self._enqueue_isolated_build(writers, task, uncommitted)
            else:
                links, failure = incoming.get(task.document_id, NO_INCOMING_LINKS), link_failures.get(task.document_id)
                self._write_entry(writers, task, document, links, failure, uncommitted)
        return len(tasks)

    def find_incoming_links(self, documents: Sequence[Document]) -> tuple[dict[int, IncomingLinks], dict[int, BuildFailure]]:
        """Returns what incoming links say about documents, and for which that failed; one by one if it ended the process before."""
        if not (self._attempts.has_any and self._is_any_suspected(documents)):
            with self._attempts.on(LINK_TEXTS_BATCH):
                return find_incoming_links(self._links.find_incoming_links, documents)
        incoming: dict[int, IncomingLinks] = {}
        link_failures: dict[int, BuildFailure] = {}
        for document in documents:
            key = _key_of(READ_LINKS, document)
            if self._attempts.is_hopeless(key):
                link_failures[document.id or 0] = BuildFailure(
                    READ_LINKS, read_interruptions(READ_LINKS, self._attempts.count(key)), LACKS_LINKS
                )
                continue
            with self._attempts.on(key):
                found, failed = find_incoming_links(self._links.find_incoming_links, [document])
            incoming |= found
            link_failures |= failed
        return incoming, link_failures

    def _is_any_suspected(self, documents: Sequence[Document]) -> bool:
        """Returns whether the links of these documents ended the process, read together or alone."""
        keys = (LINK_TEXTS_BATCH, *(_key_of(READ_LINKS, document) for document in documents))
        return any(map(self._attempts.count, keys))

    def _write_entry(
        self,
        writers: Sequence[IndexWriter],
        task: IndexTask,
        document: Document,
        incoming: IncomingLinks,
        link_failures: BuildFailure | None,
        uncommitted: UncommittedBatch,
    ) -> None:
        made, build_failure = self._assemble(document, incoming)
        build_failure = build_failure or link_failures
        if made is not None and self._isolated_builds is not None and size_of(made) >= LARGE_CHARACTERS:
            self._enqueue_isolated_build(writers, task, uncommitted)
            return
        if made is not None:
            with self._attempts.on(_key_of(BUILD, document)):
                build_failure = put_isolated(writers, made) or build_failure
        if build_failure is not None and build_failure.omitted is None:
            self.set_aside(writers, task, document, build_failure, uncommitted)
        else:
            uncommitted.note(task, document, build_failure)

    def _assemble(self, document: Document, incoming: IncomingLinks) -> tuple[IndexDocument | None, BuildFailure | None]:
        """Returns a document in the form that the index takes, and what failed; a step that repeatedly ended the process is not tried."""
        reading, building = _key_of(READ_TEXT, document), _key_of(BUILD, document)
        if self._attempts.is_hopeless(building):
            return None, BuildFailure(BUILD, read_interruptions(BUILD, self._attempts.count(building)))
        build_failure: BuildFailure | None
        if self._attempts.is_hopeless(reading):
            stored, build_failure = (
                NO_TEXT,
                BuildFailure(READ_TEXT, read_interruptions(READ_TEXT, self._attempts.count(reading)), LACKS_TEXT),
            )
        else:
            with self._attempts.on(reading):
                stored, build_failure = read_text(self._blobs, document)
            if build_failure is None:
                self._links.note_written(document, map(Link, stored.links, stored.link_texts))
        with self._attempts.on(building):
            made, failed = assemble(document, stored, incoming, self._patterns.book.terms_of)
        return made, failed or build_failure

    def is_suspected(self, document_id: int) -> bool:
        """Returns whether the indexer ended while it worked on a document alone."""
        return self._attempts.has_any and any(self._attempts.count(key_of_document(step, document_id)) for step in WATCHED)

    def is_due(self, document_id: int) -> bool:
        """Returns whether a document may be worked on now; one that ends this process, rather than the separate one, waits for others."""
        return all(self._attempts.is_due(key_of_document(step, document_id)) for step in (READ_TEXT, READ_LINKS))

    def _needs_isolated_build(self, task: IndexTask, failed: Set[int]) -> bool:
        if self._isolated_builds is None:
            return False
        return task.document_id in failed or self.is_suspected(task.document_id) or task.feed_id in self.suspected_feeds

    def copy(self, writer: IndexWriter, document: Document, incoming: tuple[dict[int, IncomingLinks], dict[int, BuildFailure]]) -> bool:
        """Writes a document to another folder; returns False if something failed, or if it belongs to the separate process."""
        if document.damage or document.id in incoming[1]:
            return False
        try:
            fault_point(COPY, document.url)
            stored, build_failure = read_text(self._blobs, document)
            made, failed = assemble(document, stored, incoming[0].get(document.id or 0, NO_INCOMING_LINKS), self._patterns.book.terms_of)
            if (
                made is None
                or build_failure is not None
                or failed is not None
                or (self._isolated_builds is not None and size_of(made) >= LARGE_CHARACTERS)
            ):
                return False
            writer.put_prepared([writer.prepare(made)])
        except BaseException as error:
            if not belongs_to_item(error):
                raise
            return False
        return True

    def remove(self, writers: Sequence[IndexWriter], task: IndexTask, uncommitted: UncommittedBatch) -> None:
        """Removes from the index a document that must not be found."""
        for writer in writers:
            writer.remove_many([task.document_id])
        uncommitted.note(task, None, None)

    def set_aside(
        self,
        writers: Sequence[IndexWriter],
        task: IndexTask,
        document: Document,
        build_failure: BuildFailure,
        uncommitted: UncommittedBatch,
    ) -> None:
        """Removes a document from the index after a failed step: its earlier entry may be visible to users who have lost access."""
        for writer in writers:
            writer.remove_many([task.document_id])
        uncommitted.note(task, document, build_failure)

    # --- in the separate process ---

    def _enqueue_isolated_build(self, writers: Sequence[IndexWriter], task: IndexTask, uncommitted: UncommittedBatch) -> None:
        assert self._isolated_builds is not None
        self._isolated_builds.put(task)
        # Until the build is ready, the earlier entry would show the document to users who have lost access.
        if task.revokes_access:
            if not uncommitted:
                uncommitted.since = time.monotonic()
            for writer in writers:
                writer.remove_many([task.document_id])
            uncommitted.has_removed = True

    def assemble_isolated(
        self, work: Mapping[int, tuple[IndexTask, Document]]
    ) -> Iterator[tuple[int, IndexDocument | None, BuildFailure | None]]:
        """Yields documents for the separate process, up to its limit of size."""
        incoming, link_failures = self.find_incoming_links([document for _, document in work.values()])
        characters = 0
        for document_id, (_, document) in work.items():
            made, build_failure = self._assemble(document, incoming.get(document_id, NO_INCOMING_LINKS))
            characters += size_of(made) if made is not None else 0
            yield document_id, made, build_failure or link_failures.get(document_id)
            if characters >= CHARACTERS_AT_ONCE:
                return


def _key_of(step: str, document: Document) -> str:
    return key_of_document(step, document.id or 0)


def record_build_failures(
    unit: UnitOfWork, recorder: FailureRecorder, tasks: Mapping[int, IndexTask], build_failures: Mapping[int, tuple[Document, BuildFailure]]
) -> None:
    """Records what failed for documents whose tasks are removed, and clears earlier failures of those that were written whole."""
    recorder.clear(unit, [key for key in tasks if key not in build_failures], STEPS)
    feeds = {key: task.feed_id for key, task in tasks.items()}
    for is_found in (False, True):
        failed = [
            FailedItem(document, build_failure.step, build_failure.recorded_reason)
            for document, build_failure in build_failures.values()
            if (build_failure.omitted is not None) is is_found
        ]
        if failed:
            recorder.record(unit, failed, feeds=feeds, is_found=is_found)
