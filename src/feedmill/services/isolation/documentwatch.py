"""Documents that end the process that sweeps over them.

A sweep goes through stored documents on its own initiative, not for a feed. It notes each document before it works on it. A document that
ended the process waits until the process has worked on others for a while, and is skipped after ``MAX_INTERRUPTIONS``. Each sweep
decides what to do with such a document.
"""

from collections.abc import Iterable, Sequence

from feedmill.ports import InFlight
from feedmill.services.isolation.attempts import Attempts, key_of, key_of_document, read_interruptions
from feedmill.services.isolation.noinflight import NoInFlight

_BATCH = "batch"


class DocumentWatch:
    """The documents of one step of a sweep, by id. Without ``attempts`` the document that ended the process is not noted."""

    def __init__(self, step: str, attempts: Attempts | None = None, notes: InFlight | None = None) -> None:
        self._step = step
        self._attempts = attempts
        self._notes = notes or NoInFlight()
        self._recorded: set[int] = set()

    @property
    def has_suspects(self) -> bool:
        """Whether any document ended the process."""
        return self._attempts is not None and bool(self._attempts.list_items(self._step))

    def find_limit(self, limit: int) -> int:
        """Returns how many documents the next transaction may have: fewer where a whole one ended the process."""
        # A quarter of the batch for each end of the process.
        return max(1, limit >> 2 * self._count(key_of(self._step, _BATCH)))

    def count_due(self, document_ids: Iterable[int]) -> int:
        """Counts the documents before the first that has to wait."""
        count = 0
        for document_id in document_ids:
            if not self.is_due(document_id):
                break
            count += 1
        return count

    def is_due(self, document_id: int) -> bool:
        """Returns whether a document may be worked on, or set aside, now."""
        key = self._key_of(document_id)
        return self._attempts is None or self._attempts.is_hopeless(key) or self._attempts.is_due(key)

    def is_suspected(self, document_id: int) -> bool:
        """Returns whether a document ended the process."""
        return self._count(self._key_of(document_id)) > 0

    def is_hopeless(self, document_id: int) -> bool:
        """Returns whether a document is to be skipped."""
        return self._attempts is not None and self._attempts.is_hopeless(self._key_of(document_id))

    def reason_of(self, document_id: int) -> str:
        """Returns why a document is skipped."""
        return read_interruptions(self._step, self._count(self._key_of(document_id)))

    def report_once(self, document_id: int) -> str | None:
        """Returns why a document is skipped, None if this process has reported it before."""
        if document_id in self._recorded:
            return None
        self._recorded.add(document_id)
        return self.reason_of(document_id)

    def begin(self, document_id: int) -> None:
        """Notes that a document is worked on."""
        self._notes.begin(self._key_of(document_id))

    def begin_many(self, document_ids: Sequence[int]) -> None:
        """Notes that documents are worked on together."""
        self._notes.begin(self._key_of(document_ids[0]) if len(document_ids) == 1 else key_of(self._step, _BATCH))

    def end(self) -> None:
        """Notes that nothing is worked on."""
        self._notes.end()

    def clear(self) -> None:
        """Forgets the interruptions of all documents. Shape: outside any transaction. Errors: Busy, DiskFull."""
        if self._attempts is not None:
            self._attempts.clear_steps(self._step)

    def _count(self, key: str) -> int:
        return 0 if self._attempts is None else self._attempts.count(key)

    def _key_of(self, document_id: int) -> str:
        return key_of_document(self._step, document_id)
