"""Keeps the feed folder within its budget.

Rules: a file from which a feed must still be read stays, and so does one that is younger than the archive, whatever the budget. A repaired
copy is removed once its feed is applied. Files that no feed knows and files that are still being received are removed an hour after their
last change: until then their feed's row may still be written. Of the rest, the oldest are removed first. Each ``yield`` ends one bounded
piece of work.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice

import structlog

from feedmill.ports import Clock, FeedFiles, FileUse, Store

FILES_AT_ONCE = 500
ORPHAN_SECONDS = 3600.0
PART = ".part"

log = structlog.get_logger(__name__)

_Found = tuple[str, int, float]


def tidy_feed_files(store: Store, files: FeedFiles, clock: Clock, budget_bytes: int, archive: timedelta = timedelta(0)) -> Iterator[None]:
    """Goes through the folder once. Units: bytes of received files."""
    archived_since = (clock() - archive).timestamp()
    spare: list[tuple[float, int, str]] = []
    total_bytes = 0
    for batch in _batches(files.list()):
        uses = _find_uses(store, batch)
        for name, size_bytes, changed_at in batch:
            use = uses.get(name)
            is_old = clock().timestamp() - changed_at >= ORPHAN_SECONDS
            if use in (None, FileUse.SPENT):
                if is_old:
                    files.remove(name)
                    log.info("feed_file_removed", file=name, bytes=size_bytes, reason="no feed needs it")
                continue
            total_bytes += size_bytes
            if use is FileUse.RECEIVED and changed_at < archived_since:
                spare.append((changed_at, size_bytes, name))
        yield
    spare.sort()
    for place, (_, size_bytes, name) in enumerate(spare):
        if total_bytes <= budget_bytes:
            return
        files.remove(name)
        total_bytes -= size_bytes
        log.info("feed_file_removed", file=name, bytes=size_bytes, reason="the budget is full")
        if place % FILES_AT_ONCE == FILES_AT_ONCE - 1:
            yield


def _find_uses(store: Store, batch: list[_Found]) -> dict[str, FileUse]:
    with store.reading() as unit:
        return unit.feeds.upkeep.find_files([name for name, _, _ in batch if not name.endswith(PART)])


def _batches(found: Iterable[_Found]) -> Iterator[list[_Found]]:
    iterator = iter(found)
    while batch := list(islice(iterator, FILES_AT_ONCE)):
        yield batch
