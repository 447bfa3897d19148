"""Batches in which a bad item costs only itself.

``run_halved`` runs work on a batch. When the work raises an error that an item may have caused, the batch is halved until the item is
found: a bad item among n costs at most 2 log2(n) further runs. ``run_each`` does the same for work that takes items one at a time.

Which errors are whose. Infrastructure errors say that the store, the disk, the engine or another server fails: they leave at once, no
item is blamed, and the caller retries everything later. These are Busy (with DiskFull and UpstreamFailure), Broken, Conflict and Corrupt,
and an ``OSError`` whose number names a shortage of the machine. Every other exception belongs to an item, foreign ones too: KeyError,
RecursionError, MemoryError, and the panics of Rust libraries, which are no ``Exception``. Work in which a Corrupt is an item's own (a
blob that cannot be read) catches it itself.
"""

import errno
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from feedmill.model.errors import Broken, Busy, Conflict, Corrupt

MAX_REASON_CHARACTERS = 500

log = structlog.get_logger(__name__)

T = TypeVar("T")
R = TypeVar("R")

_INFRASTRUCTURE = (Busy, Broken, Conflict, Corrupt, ConnectionError)
_SHORTAGES = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR}
)


@dataclass(frozen=True, slots=True)
class FailedItem(Generic[T]):
    """An item that failed: in which step, and why."""

    item: T
    step: str
    reason: str


def belongs_to_item(error: BaseException) -> bool:
    """Returns whether an item may have caused an error; False for infrastructure errors and for what ends a process."""
    if isinstance(error, Exception):
        if isinstance(error, OSError) and error.errno in _SHORTAGES:
            return False
        return not isinstance(error, _INFRASTRUCTURE)
    # Rust libraries raise their panics as a BaseException of a class that cannot be imported.
    return type(error).__name__ == "PanicException"


def describe(step: str, error: BaseException) -> str:
    """Returns the reason that documents, receipts and the log show: the step, the error's class and its text. Shape: one line."""
    text = " ".join(str(error).split())
    return f"step {step} failed: {type(error).__name__}{': ' + text if text else ''}"[:MAX_REASON_CHARACTERS]


def run_halved(items: Sequence[T], work: Callable[[Sequence[T]], object], *, step: str) -> list[FailedItem[T]]:
    """Runs work on a batch, on its halves where it fails, and returns the items that fail alone; all others are done.

    Shape: ``work`` does all of its batch or nothing, as a transaction does. Items keep their order. Errors: those of infrastructure;
    what was done before stays done.
    """
    if not items:
        return []
    try:
        work(items)
    except BaseException as error:
        if not belongs_to_item(error):
            raise
        if len(items) == 1:
            return [FailedItem(items[0], step, describe(step, error))]
    else:
        return []
    middle = len(items) // 2
    return [*run_halved(items[:middle], work, step=step), *run_halved(items[middle:], work, step=step)]


def run_each(items: Iterable[T], work: Callable[[T], R], *, step: str) -> tuple[list[tuple[T, R]], list[FailedItem[T]]]:
    """Runs work on each item. Returns items with their results, and the items that failed. Errors: those of infrastructure."""
    done: list[tuple[T, R]] = []
    failed: list[FailedItem[T]] = []
    for item in items:
        try:
            done.append((item, work(item)))
        except BaseException as error:
            if not belongs_to_item(error):
                raise
            failed.append(FailedItem(item, step, describe(step, error)))
    return done, failed


def attempt(work: Callable[[], R], otherwise: R, *, step: str, url: str = "") -> R:
    """Returns the result of ``work``, ``otherwise`` if an item makes it fail; the log has the reason. Errors: those of infrastructure."""
    try:
        return work()
    except BaseException as error:
        if not belongs_to_item(error):
            raise
        log.warning("step_failed", step=step, url=url, reason=describe(step, error))
        log.debug("step_failed", step=step, exc_info=error)
        return otherwise
