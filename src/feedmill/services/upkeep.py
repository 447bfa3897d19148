"""Cleans up a data folder, in small steps between feeds.

Each task is a generator of bounded pieces, which is started again when its time has come. After a piece the upkeep rests for a multiple of
the time that the piece took, so it never takes more than its share of the process in which it runs. A task that fails is retried at its
next time and does not affect other tasks.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from feedmill.model.errors import FeedmillError
from feedmill.model.feed import Feed
from feedmill.ports import BlobGarbage, BlobStore, Clock, FeedFiles, PurgeCursor, Store
from feedmill.services.blobcleaning import BlobCleaning
from feedmill.services.feeds.filecleaning import tidy_feed_files
from feedmill.services.feeds.groupcleaning import clean_groups

FEEDS_AT_ONCE = 200
LOG_ENTRIES_AT_ONCE = 20_000
DOCUMENTS_AT_ONCE = 1_000
GROUP_CHANGES_AT_ONCE = 10_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepLimits:
    """What is stored for how long. Units: bytes of received feeds; ``rest`` in multiples of the work before it.

    Feeds that are younger than ``archive`` stay with their bytes, however many they are.
    """

    feeds_of_a_source: int = 1_000
    archive: timedelta = timedelta(0)
    feed_files_bytes: int = 10 << 30
    history: timedelta = timedelta(days=90)
    rest: float = 4.0


@dataclass(slots=True, kw_only=True)
class _Task:
    name: str
    every: timedelta
    begin: Callable[[], Iterator[None]]
    due_at: datetime


class Upkeep:
    """The upkeep of one data folder. The loop of one process calls ``step``."""

    def __init__(
        self,
        *,
        store: Store,
        files: FeedFiles,
        garbage: BlobGarbage,
        blobs: BlobStore,
        clock: Clock,
        limits: UpkeepLimits | None = None,
    ) -> None:
        self._store = store
        self._files = files
        self._clock = clock
        self._limits = limits or UpkeepLimits()
        cleaning = BlobCleaning(store, blobs, garbage)
        now = clock()
        self._tasks = [
            _Task(name="feeds", every=timedelta(minutes=10), begin=self._forget_feeds, due_at=now),
            _Task(name="feed files", every=timedelta(minutes=10), begin=self._tidy_files, due_at=now),
            _Task(name="groups", every=timedelta(minutes=10), begin=lambda: clean_groups(store), due_at=now),
            _Task(name="history", every=timedelta(days=1), begin=self._forget_history, due_at=now),
            _Task(name="group history", every=timedelta(days=1), begin=self._forget_groups, due_at=now),
            _Task(name="access", every=timedelta(days=1), begin=self._forget_access, due_at=now),
            _Task(name="blobs", every=timedelta(hours=1), begin=cleaning.round, due_at=now),
        ]
        self._current: tuple[_Task, Iterator[None]] | None = None
        self._rests_until = 0.0

    def step(self) -> bool:
        """Runs the next piece of a task that is due. Returns whether it did."""
        begun = time.monotonic()
        if begun < self._rests_until:
            return False
        if self._current is None:
            self._current = self._begin_next()
        if self._current is None:
            return False
        self._work(*self._current)
        ended = time.monotonic()
        self._rests_until = ended + (ended - begun) * self._limits.rest
        return True

    def _begin_next(self) -> tuple[_Task, Iterator[None]] | None:
        now = self._clock()
        task = min(self._tasks, key=lambda task: task.due_at)
        return (task, task.begin()) if task.due_at <= now else None

    def _work(self, task: _Task, work: Iterator[None]) -> None:
        try:
            next(work)
        except StopIteration:
            self._put_off(task)
        except FeedmillError as error:
            self._put_off(task)
            log.warning("upkeep_waits", task=task.name, reason=str(error))
        except Exception:
            self._put_off(task)
            log.exception("upkeep_fails", task=task.name)

    def _put_off(self, task: _Task) -> None:
        task.due_at = self._clock() + task.every
        self._current = None

    # --- tasks ---

    def _forget_feeds(self) -> Iterator[None]:
        """Removes feeds beyond the newest of their source: rows first, so that no row refers to a missing file."""
        with self._store.reading() as unit:
            prunable = unit.feeds.upkeep.list_prunable(self._limits.feeds_of_a_source)
        archived_since = self._clock() - self._limits.archive
        feeds = [feed for feed in prunable if feed.received_at < archived_since]
        for batch in _batches(feeds):
            with self._store.writing() as unit:
                unit.feeds.upkeep.remove([feed.id for feed in batch])
            for feed in batch:
                for name in filter(None, (feed.file, feed.repaired_file)):
                    self._files.remove(name)
            log.info("feeds_forgotten", feeds=len(batch))
            yield

    def _tidy_files(self) -> Iterator[None]:
        return tidy_feed_files(self._store, self._files, self._clock, self._limits.feed_files_bytes, self._limits.archive)

    def _forget_history(self) -> Iterator[None]:
        before = self._clock() - self._limits.history
        reached: int | None = 0
        while reached is not None:
            with self._store.writing() as unit:
                reached = unit.documents.upkeep.forget_old(before, after=reached, limit=DOCUMENTS_AT_ONCE)
            yield

    def _forget_groups(self) -> Iterator[None]:
        before = self._clock() - self._limits.history
        reached: PurgeCursor | None = PurgeCursor()
        while reached is not None:
            with self._store.writing() as unit:
                reached = unit.groups.history.forget(before, reached, GROUP_CHANGES_AT_ONCE)
            yield

    def _forget_access(self) -> Iterator[None]:
        """Removes old versions of ACLs and policies, then classes that nothing uses."""
        before = self._clock() - self._limits.history
        with self._store.writing() as unit:
            unit.access.policies.forget_versions(before)
        yield
        reached: int | None = 0
        while reached is not None:
            with self._store.writing() as unit:
                reached = unit.access.acl_versions.forget_versions(before, after=reached, limit=DOCUMENTS_AT_ONCE)
            yield
        reached = 0
        while reached is not None:
            with self._store.writing() as unit:
                reached = unit.access.classes.remove_unused(after=reached, limit=DOCUMENTS_AT_ONCE)
            yield


def _batches(feeds: Sequence[Feed]) -> Iterator[list[Feed]]:
    """Splits feeds into batches whose rows and logs one transaction removes."""
    batch: list[Feed] = []
    entries = 0
    for feed in feeds:
        if batch and (len(batch) >= FEEDS_AT_ONCE or entries + feed.logged > LOG_ENTRIES_AT_ONCE):
            yield batch
            batch, entries = [], 0
        batch.append(feed)
        entries += feed.logged
    if batch:
        yield batch
