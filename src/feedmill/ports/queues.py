"""What a store knows of the queues: what waits in them, when they last moved, and what failed there last."""

from typing import Protocol

from feedmill.model.queue import QueueName, WaitingQueue
from feedmill.ports.indextasks import Stage


class Queues(Protocol):
    """The progress of the queues. Times are the store's own clock, so that every process compares with the same one."""

    def begin(self, name: QueueName) -> None:
        """Notes that work of a queue that has one item at a time (a rebuild, a sweep) has begun now."""

    def note_progress(self, name: QueueName, *, reached: int = 0) -> None:
        """Notes that a queue moved, and forgets its failure.

        ``reached``: how far work came that may begin again from its start; a position that was reached before is no progress.
        """

    def note_failure(self, name: QueueName, reason: str, document: str | None = None) -> None:
        """Keeps why a queue does not move, until it does."""

    def list(self) -> list[WaitingQueue]:
        """Lists every queue with what waits in it."""

    def list_stages(self, feed_id: int) -> set[Stage]:
        """Lists the stages in which documents of a feed wait."""
