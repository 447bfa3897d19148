"""Finds stuck queues: items wait in them, and nothing moves.

The reader of the alarm computes it from what the store records about each queue's last movement. The process that works on the queue does
not take part, since it may hang. A queue is stuck when nothing has moved in it for ``stuck_seconds`` while something has waited all that
time. If one process works on several queues (links wait while the index is written), its work on one counts as movement of the queues that
wait for it.
"""

import threading
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from feedmill.model.feed import Feed, FeedTarget
from feedmill.model.queue import FEED_QUEUES, QueueName, StuckQueue, WaitingQueue, queue_of
from feedmill.ports import Clock, Stage, Store, UnitOfWork
from feedmill.services import keyvalues
from feedmill.services.sweeps.admissionsweep import is_between_rounds

LOOK_SECONDS = 1.0
"""How long the list of stuck queues is cached, since any number of watchdogs may read it."""

_NOTHING_HEARD = "nothing was heard of the process that works on it"
_WAITS_BEHIND = {
    QueueName.LINKS: QueueName.INDEX,
    QueueName.PATTERNS: QueueName.INDEX,
    QueueName.ADMISSION: QueueName.FEEDS,
    QueueName.POLICIES: QueueName.FEEDS_QUICK,
}
_STAGES = {QueueName.EXTRACT: Stage.EXTRACT, QueueName.INDEX: Stage.INDEX}

log = structlog.get_logger(__name__)


def _never() -> datetime | None:
    return None


@dataclass(slots=True, kw_only=True)
class QueueWatch:
    """Watches the queues of one store.

    ``started_at``: when the server started, before which nothing could move; may block. ``unused``: the queues on which no role works, by
    the settings; nothing waits in them.
    """

    store: Store
    clock: Clock
    stuck_seconds: float
    started_at: Callable[[], datetime | None] = _never
    unused: Set[QueueName] = frozenset()
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _found: Sequence[StuckQueue] = ()
    _looked_at: float | None = None

    def describe(self) -> list[dict[str, Any]]:
        """Returns every queue as ``status`` shows it. Errors: Busy, Corrupt."""
        now = self.clock()
        queues = self._read_queues()
        stuck = {each.name: each for each in self._find_stuck(queues, now)}
        return [_report(queue, stuck.get(queue.name), now) for queue in queues]

    def find_stuck(self) -> Sequence[StuckQueue]:
        """Returns the stuck queues; the result is cached for a second. Errors: Busy, Corrupt."""
        with self._lock:
            if self._looked_at is None or time.monotonic() - self._looked_at >= LOOK_SECONDS:
                found = self._find_stuck(self._read_queues(), self.clock())
                self._describe_log(found)
                self._found, self._looked_at = found, time.monotonic()
            return self._found

    def find_problems(self) -> list[str]:
        """Returns the stuck queues for ``/readyz``, without anything confidential. Errors: Busy, Corrupt."""
        now = self.clock()
        return [
            f"queue {each.name.value} has not moved for {round((now - each.since).total_seconds())} seconds" for each in self.find_stuck()
        ]

    def find_for(self, feed: Feed) -> StuckQueue | None:
        """Returns the stuck queue that delays a feed, None if none does. Errors: Busy, Corrupt."""
        if feed.phase.is_past_feeder and feed.searchable_at is not None:
            return None
        stuck = self.find_stuck()
        if not stuck:
            return None
        if not feed.phase.is_past_feeder:
            return next((each for each in stuck if each.name in FEED_QUEUES and _keeps(each, feed)), None)
        with self.store.reading() as unit:
            stages = unit.processing.queues.list_stages(feed.id)
        return next((each for each in stuck if _STAGES.get(each.name) in stages), None)

    def read_oldest(self) -> dict[str, float]:
        """Returns how long the oldest item of each queue has waited. Units: seconds. Errors: Busy, Corrupt."""
        return {queue["name"]: float(queue["oldest_seconds"] or 0) for queue in self.describe()}

    def _read_queues(self) -> list[WaitingQueue]:
        with self.store.reading() as unit:
            queues = unit.processing.queues.list()
            begun = _count_begun(unit)
        waiting = begun | dict.fromkeys(self.unused, 0)
        return [replace(queue, waiting=waiting[queue.name]) if queue.name in waiting else queue for queue in queues]

    def _find_stuck(self, queues: Sequence[WaitingQueue], now: datetime) -> list[StuckQueue]:
        bound = now - timedelta(seconds=self.stuck_seconds)
        started_at = self.started_at()
        # The time before the start does not count, so a server that has just started has no stuck queue.
        if started_at is not None and started_at > bound:
            return []
        moved = {queue.name: queue.moved_at for queue in queues}
        found = []
        for queue in queues:
            behind = moved.get(_WAITS_BEHIND[queue.name]) if queue.name in _WAITS_BEHIND else None
            last = max((moment for moment in (queue.moved_at, behind, started_at) if moment is not None), default=None)
            stuck = _find_stuck_feed(queue, last, bound) if queue.name in FEED_QUEUES else _find_stuck_item(queue, last, bound)
            if stuck is not None:
                found.append(stuck)
        return found

    def _describe_log(self, found: Sequence[StuckQueue]) -> None:
        known = {each.name for each in self._found}
        for each in found:
            if each.name not in known:
                since = each.since.isoformat(timespec="seconds")
                log.error("queue_stuck", queue=each.name.value, since=since, document=each.document, reason=each.reason)


def describe_stuck(stuck: StuckQueue | None) -> dict[str, Any] | None:
    """Returns a stuck queue as JSON, None for none."""
    if stuck is None:
        return None
    since = stuck.since.isoformat(timespec="seconds")
    return {
        "queue": stuck.name.value,
        "queue_code": stuck.name.name.lower(),
        "since": since,
        "document": stuck.document,
        "reason": stuck.reason,
    }


def _count_begun(unit: UnitOfWork) -> dict[QueueName, int]:
    """Returns 1 for a rebuild and each sweep that is under way, else 0.

    A sweep that pauses between its rounds does not count as waiting.
    """
    names = {
        QueueName.REBUILD: keyvalues.INDEX_REBUILD,
        QueueName.ADMISSION: keyvalues.ADMISSION_CURSOR,
        QueueName.POLICIES: keyvalues.POLICIES_CURSOR,
        QueueName.PATTERNS: keyvalues.PATTERNS_CURSOR,
    }
    found = unit.state.key_values.find_many(list(names.values()))
    is_begun = {queue: bool(found.get(name)) for queue, name in names.items()}
    is_begun[QueueName.ADMISSION] &= not is_between_rounds(found.get(keyvalues.ADMISSION_CURSOR))
    return {queue: int(is_one) for queue, is_one in is_begun.items()}


def _find_stuck_item(queue: WaitingQueue, last: datetime | None, bound: datetime) -> StuckQueue | None:
    """Returns a stuck queue if its oldest item has waited since before the bound and the queue has not moved since then."""
    since = max((moment for moment in (last, queue.oldest_at) if moment is not None), default=None)
    if not queue.waiting or since is None or since > bound:
        return None
    return StuckQueue(name=queue.name, since=since, document=queue.document, reason=queue.reason or _NOTHING_HEARD)


def _find_stuck_feed(queue: WaitingQueue, last: datetime | None, bound: datetime) -> StuckQueue | None:
    """Returns a stuck queue of feeds if nothing moved in it, or if a source waits for a feed that fails repeatedly."""
    waiting = [head for head in queue.heads if head.since <= bound]
    is_silent = last is None or last <= bound
    held = waiting if is_silent else [head for head in waiting if head.failure is not None]
    if not held:
        return None
    first = next((head for head in held if head.failure is not None), held[0])
    since = max([first.since, *([last] if is_silent and last is not None else [])])
    return StuckQueue(
        name=queue.name,
        since=since,
        document=f"feed {first.id} of {first.datasource}",
        reason=first.failure or queue.reason or _NOTHING_HEARD,
        datasources=frozenset(head.datasource for head in held),
        is_whole=is_silent,
    )


def _keeps(stuck: StuckQueue, feed: Feed) -> bool:
    """Whether a stuck queue delays a feed.

    It does if it is the feed's own queue and nothing moves in it, or if an earlier feed of the same source is stuck in it.
    """
    if stuck.is_whole and stuck.name is queue_of(feed):
        return True
    return feed.kind.target is FeedTarget.DOCUMENTS and stuck.name is not QueueName.GROUPS and feed.datasource in stuck.datasources


def _report(queue: WaitingQueue, stuck: StuckQueue | None, now: datetime) -> dict[str, Any]:
    oldest_at = queue.oldest_at if queue.waiting else None
    return {
        "name": queue.name.value,
        "name_code": queue.name.name.lower(),
        "waiting": queue.waiting,
        "oldest_seconds": None if oldest_at is None else round(max(0.0, (now - oldest_at).total_seconds()), 1),
        "stuck": stuck is not None,
        "since": None if stuck is None else stuck.since.isoformat(timespec="seconds"),
        "document": stuck.document if stuck is not None else queue.document,
        "reason": stuck.reason if stuck is not None else queue.reason,
    }
