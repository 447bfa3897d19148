"""Stores why a queue does not move. The process that works on the queue writes the note; status and alarm read it."""

import time
from dataclasses import dataclass

import structlog

from feedmill.model.errors import FeedmillError
from feedmill.model.queue import QueueName
from feedmill.ports import Store

NOTED_EVERY_SECONDS = 5.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class FailureNote:
    """The failures of one queue's worker.

    Progress of the queue removes the note. The same reason is written again only after a while.
    """

    store: Store
    queue: QueueName
    reason: str = ""
    noted_at: float = 0.0

    def note(self, reason: str, document: str | None = None) -> None:
        """Stores why the queue waits. Errors: none; if the store cannot be written, the log has it."""
        now = time.monotonic()
        if reason == self.reason and now - self.noted_at < NOTED_EVERY_SECONDS:
            return
        try:
            with self.store.writing() as unit:
                unit.processing.queues.note_failure(self.queue, reason, document)
        except FeedmillError as error:
            log.warning("failure_not_noted", queue=self.queue.value, reason=str(error))
        else:
            self.reason, self.noted_at = reason, now


def describe_fault(error: BaseException) -> str:
    """Returns an unexpected error as one line of text."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
