"""Documents that the indexer prepares in a separate process, so that all others are indexed meanwhile.

These are large documents, documents that ended the indexer during preparation, and all documents of a feed that has such a document. A
finished build becomes part of the index in one step (``IndexWriter.adopt``). A document that also ends the separate process, or takes too
long in it, is set aside. If it is unknown which document was at fault, the batch is halved.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice

from feedmill.model.document import Document
from feedmill.model.entrybuild import BuildFailure, BuildOutcome
from feedmill.model.search import IndexDocument
from feedmill.ports import EntryBuilder, IndexTask
from feedmill.services.indexing.preparing import BUILD

LARGE_CHARACTERS = 250_000
"""From this size on a document is large: about what the indexer prepares and commits in a quarter of a second."""

DOCUMENTS_AT_ONCE = 400
CHARACTERS_AT_ONCE = 10_000_000


def size_of(document: IndexDocument) -> int:
    """Returns how many characters of a document must be analysed."""
    return len(document.body) + len(document.title) + sum(len(name) + len(value) for name, value in document.metadata)


@dataclass(frozen=True, slots=True)
class EndedBuild:
    """A build that has ended: the part of it to take over, and the documents to set aside."""

    outcome: BuildOutcome
    work: dict[int, tuple[IndexTask, Document]]
    failed: list[tuple[IndexTask, Document, BuildFailure]] = field(default_factory=list)


class IsolatedBuildQueue:
    """The documents that wait for the separate process, and the documents in it."""

    def __init__(self, builder: EntryBuilder) -> None:
        self._builder = builder
        self._waiting: dict[int, IndexTask] = {}
        self._work: dict[int, tuple[IndexTask, Document]] = {}
        self._at_once = DOCUMENTS_AT_ONCE

    def __len__(self) -> int:
        return len(self._waiting) + len(self._work)

    def holds(self, task: IndexTask) -> bool:
        """Returns whether this version of a document is in the queue."""
        held = self._waiting.get(task.document_id) or (self._work[task.document_id][0] if task.document_id in self._work else None)
        return held is not None and held.version == task.version

    def put(self, task: IndexTask) -> None:
        """Puts a document into the queue; it replaces an earlier version that waits."""
        self._waiting[task.document_id] = task

    @property
    def is_free(self) -> bool:
        """Whether documents wait and the process is idle."""
        return bool(self._waiting) and not self._work

    @property
    def is_building(self) -> bool:
        """Returns whether the process has documents."""
        return bool(self._work)

    def list_next(self, is_due: Callable[[int], bool]) -> list[IndexTask]:
        """Lists the next documents to build that are due, oldest first."""
        return list(islice((task for task in self._waiting.values() if is_due(task.document_id)), self._at_once))

    def drop(self, document_ids: Iterable[int]) -> None:
        """Removes documents from the queue."""
        for document_id in document_ids:
            self._waiting.pop(document_id, None)

    def start(self, work: dict[int, tuple[IndexTask, Document]], documents: list[IndexDocument]) -> None:
        """Starts a build of documents from the queue."""
        self._builder.start(documents)
        self.drop(work)
        self._work = work

    def find_ended(self) -> EndedBuild | None:
        """Returns once how a build ended. If its process ended before its time, all but the document at fault wait again."""
        outcome = self._builder.find_outcome() if self._work else None
        if outcome is None:
            return None
        work, self._work = self._work, {}
        if outcome.payload is not None:
            self._at_once = min(2 * self._at_once, DOCUMENTS_AT_ONCE)
            return EndedBuild(outcome, work)
        # The document that the process named, or the only one. Otherwise the next build takes half as many.
        at_fault = outcome.ended_on if outcome.ended_on in work else next(iter(work)) if len(work) == 1 else None
        if at_fault is None:
            self._at_once = max(1, len(work) // 2)
        failed = [(*work.pop(at_fault), BuildFailure(BUILD, f"step {BUILD} failed: {outcome.reason}"))] if at_fault is not None else []
        self.requeue(work)
        return EndedBuild(outcome, {}, failed)

    def requeue(self, work: dict[int, tuple[IndexTask, Document]]) -> None:
        """Returns documents to the queue, before those that wait already."""
        self._waiting = {key: task for key, (task, _) in work.items() if key not in self._waiting} | self._waiting

    def cancel(self, document_ids: Iterable[int] | None = None) -> None:
        """Cancels the build if it holds one of the documents (any document, by default): its input has changed."""
        if self._work and (document_ids is None or not self._work.keys().isdisjoint(document_ids)):
            self._builder.cancel()
            work, self._work = self._work, {}
            self.requeue(work)

    def close(self) -> None:
        """Ends the process."""
        self._builder.cancel()
