"""Reports failures of documents: to the store, to the log of their feed, and to the log of the process."""

from collections.abc import Callable, Mapping, Sequence

import structlog

from feedmill.model.document import Document
from feedmill.model.failure import Failure
from feedmill.model.feed import LogEntry, LogLevel
from feedmill.ports import Clock, UnitOfWork
from feedmill.services.isolation.batches import FailedItem

log = structlog.get_logger(__name__)


def _ignore(_step: str) -> None:
    return


class FailureRecorder:
    """Records failures of documents. ``program`` is the version of the program; ``on_failed`` receives the step of each new failure."""

    def __init__(self, clock: Clock, program: str, on_failed: Callable[[str], None] = _ignore) -> None:
        self.program = program
        self._clock = clock
        self._on_failed = on_failed

    def record(
        self,
        unit: UnitOfWork,
        failed: Sequence[FailedItem[Document]],
        *,
        feeds: Mapping[int, int | None] | None = None,
        is_found: bool = False,
    ) -> None:
        """Stores failures and reports each new one: in the process's log, and as a warning in the log of the document's feed.

        Shape: stored documents; ``feeds`` has by document the feed that waits, else it is that of the last change, None for none;
        ``is_found``: the index has them in a reduced form. A failure in the same step of the same version is reported once, however often
        it is retried. The feed's count of errors stays: it counts records that were not accepted, and these were.
        """
        known = unit.processing.failures.find_many([document.id for document in _documents(failed) if document.id is not None])
        if is_found:
            # a failure in a later stage does not make a document findable that was not findable before
            failed = [each for each in failed if not _hides(known.get(each.item.id or 0), each)]
        unit.processing.failures.put_many([self._failure_of(each, is_found) for each in failed])
        late: dict[int, list[LogEntry]] = {}
        for each in failed:
            document, old = each.item, known.get(each.item.id or 0)
            if old is not None and (old.version, old.step) == (document.version, each.step):
                continue
            log.warning("document_failed", url=document.url, step=each.step, reason=each.reason, is_found=is_found)
            self._on_failed(each.step)
            feed_id = (feeds or {}).get(document.id or 0, document.feed_id)
            if feed_id is not None:
                late.setdefault(feed_id, []).append(_entry_of(unit, each, feed_id, is_found))
        for feed_id, entries in late.items():
            unit.feeds.log.log_late(feed_id, entries)

    def clear(self, unit: UnitOfWork, document_ids: Sequence[int], steps: str) -> None:
        """Removes the failures of documents in steps whose names have this prefix."""
        known = unit.processing.failures.find_many(document_ids)
        unit.processing.failures.remove_many([key for key, failure in known.items() if failure.step.startswith(steps)])

    def _failure_of(self, failed: FailedItem[Document], is_found: bool) -> Failure:
        document = failed.item
        assert document.id is not None
        return Failure(
            document_id=document.id,
            version=document.version,
            step=failed.step,
            reason=failed.reason,
            at=self._clock(),
            program=self.program,
            is_found=is_found,
        )


def _hides(old: Failure | None, new: FailedItem[Document]) -> bool:
    if old is None or old.is_found or old.version != new.item.version:
        return False
    return old.step.partition(".")[0] != new.step.partition(".")[0]


def _documents(failed: Sequence[FailedItem[Document]]) -> list[Document]:
    return [each.item for each in failed]


def _entry_of(unit: UnitOfWork, failed: FailedItem[Document], feed_id: int, is_found: bool) -> LogEntry:
    """Returns the log entry of a failure, with the line of the document's record if the history still has it."""
    assert failed.item.id is not None
    line = next((event.line for event in reversed(unit.documents.reader.list_events(failed.item.id)) if event.feed_id == feed_id), 0)
    state = "the document is indexed in a reduced form" if is_found else "the document is not searchable"
    return LogEntry(level=LogLevel.WARNING, reason=f"{failed.reason}; {state}", line=line, url=failed.item.url)
