"""The store's repository of queues: what waits in them, when they last made progress, and their last failure."""

from typing import Protocol

from feedmill.model.queue import QueueName, WaitingQueue
from feedmill.ports.indextasks import Stage


class Queues(Protocol):
    """The progress of the queues. Times come from the store's clock, so that all processes compare with the same clock.

    Example::

        with store.writing() as unit:
            unit.processing.queues.note_progress(QueueName.REBUILD, reached=1_000)
    """

    def begin(self, name: QueueName) -> None:
        """Notes that work on a queue with one item at a time (a rebuild, a sweep) begins now."""

    def note_progress(self, name: QueueName, *, reached: int = 0) -> None:
        """Notes that a queue made progress, and clears its failure.

        ``reached`` is the position of work that may restart from the beginning. A position that was reached before is no progress.
        """

    def note_failure(self, name: QueueName, reason: str, document: str | None = None) -> None:
        """Stores why a queue makes no progress, until it does."""

    def list(self) -> list[WaitingQueue]:
        """Lists every queue with its waiting items."""

    def list_stages(self, feed_id: int) -> set[Stage]:
        """Lists the stages in which documents of a feed wait."""
