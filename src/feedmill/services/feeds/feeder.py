"""The feeder claims feeds in their order and works on several sources in turn.

Feeds of one data source are applied in the order in which they were acknowledged. Feeds of different sources progress together, one slice
of each at a time. All groups feeds are applied in one order, whatever their sources, because a replacement arrives as two feeds with
different names. A separate lane in a separate process takes the small feeds, so that none of them waits behind a large one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from feedmill.model.errors import Broken, FeedmillError
from feedmill.model.feed import Feed, FeedTarget
from feedmill.model.queue import QueueName
from feedmill.model.topic import Topic
from feedmill.ports import Lease, Notifier
from feedmill.services.failurenote import FailureNote, describe_fault
from feedmill.services.feeds.feedrun import FeedDependencies, FeedRun
from feedmill.services.feeds.groupsrun import GroupsRun
from feedmill.services.feeds.recordwatch import FeedDeferred

LEASE = timedelta(seconds=60)
RENEW = timedelta(seconds=20)
POLL_SECONDS = 0.5
RETRY = timedelta(seconds=2)
OTHERS_FIRST = timedelta(seconds=0.2)
RETRY_AFTER_FAULT = timedelta(seconds=60)

Run = FeedRun | GroupsRun

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeederLane:
    """Which feeds a feeder takes. Units: bytes; ``at_once`` is the number of feeds in progress at the same time."""

    owner: str
    min_bytes: int = 0
    max_bytes: int | None = None
    at_once: int = 16


def _ignore(_feed: Feed) -> None:
    return


class Feeder:
    """Applies feeds; ``work`` runs until it is stopped. ``on_applied`` is called with each feed that the feeder has finished."""

    def __init__(
        self, lane: FeederLane, tools: FeedDependencies, notifier: Notifier, *, on_applied: Callable[[Feed], None] = _ignore
    ) -> None:
        self._lane = lane
        self._on_applied = on_applied
        self._tools = tools
        self._notifier = notifier
        self._runs: dict[int, Run] = {}
        self._retry_at: dict[int, datetime] = {}
        # In the past, so the first turn claims.
        self._claimed_at = tools.clock() - LEASE
        self._trouble = FailureNote(tools.store, QueueName.FEEDS if lane.max_bytes is None else QueueName.FEEDS_QUICK)
        with tools.store.writing() as unit:
            # The leases of an earlier process of this lane, which would otherwise have to expire first.
            unit.feeds.queue.release(lane.owner)

    def work(self, is_stopped: Callable[[], bool], other_steps: Sequence[Callable[[], bool]] = ()) -> None:
        """Works until stopped. A feed that fails for external reasons (no disk, store busy) is retried.

        ``other_steps``: steps of other work for this process; each returns whether it has more to do. Errors: Broken.
        """
        while not is_stopped():
            try:
                is_busy = self.turn()
                for step in other_steps:
                    is_busy = step() or is_busy
            except Broken:
                raise
            except FeedmillError as error:
                log.warning("feeder_waits", reason=str(error), seconds=RETRY.total_seconds())
                # Each feed resumes from its checkpoint. What a run has in memory may be ahead of a transaction that failed.
                self._runs.clear()
                self._trouble.note(str(error))
                self._notifier.wait(RETRY.total_seconds())
                continue
            if not is_busy:
                self._notifier.wait(POLL_SECONDS)

    def turn(self) -> bool:
        """Claims new feeds and runs one step of each claimed feed. Returns whether there was anything to do."""
        self._claim()
        runs = list(self._runs.values())
        for run in runs:
            self._step(run)
        if runs:
            self._notifier.notify(Topic.EXTRACTION)
            self._notifier.notify(Topic.INDEXING)
        return bool(runs)

    def _step(self, run: Run) -> None:
        """Runs one step of a feed. A feed that fails waits for a while, so that it does not take the turns of other sources."""
        feed = run.feed
        try:
            run.step()
        except Broken:
            raise
        except FeedDeferred:
            self._rest(feed.id, OTHERS_FIRST)
        except FeedmillError as error:
            self._rest(feed.id, RETRY)
            self._note_failure(feed.id, str(error))
            log.warning("feed_waits", feed=feed.id, datasource=feed.datasource, reason=str(error), seconds=RETRY.total_seconds())
        except Exception as error:
            self._rest(feed.id, RETRY_AFTER_FAULT)
            self._note_failure(feed.id, describe_fault(error))
            log.exception("feed_fails", feed=feed.id, datasource=feed.datasource, seconds=RETRY_AFTER_FAULT.total_seconds())
        else:
            if run.feed.phase.is_past_feeder:
                del self._runs[feed.id]
                self._retry_at.pop(feed.id, None)
                self._on_applied(run.feed)
                log.info("feed_applied", feed=feed.id, datasource=feed.datasource, state=run.feed.state.value, errors=run.feed.errors)

    def _rest(self, feed_id: int, time: timedelta) -> None:
        """Releases a run; the feed resumes from its checkpoint later."""
        del self._runs[feed_id]
        self._retry_at[feed_id] = self._tools.clock() + time

    def _note_failure(self, feed_id: int, reason: str) -> None:
        """Stores the reason why a feed waits, for the status pages; the log has it in any case."""
        try:
            with self._tools.store.writing() as unit:
                unit.feeds.queue.note_failure(feed_id, reason)
        except FeedmillError as error:
            log.warning("failure_not_noted", feed=feed_id, reason=str(error))

    def _is_new(self, feed: Feed, now: datetime) -> bool:
        return feed.id not in self._runs and self._retry_at.get(feed.id, now) <= now

    def _claim(self) -> None:
        """Claims more feeds while there is capacity, and renews the leases in time. Reads before it claims, because a claim is a write."""
        now = self._tools.clock()
        # failed feeds are the oldest; whether they wait or are due for a retry, they must not hide the others
        limit = self._lane.at_once + len(self._retry_at)
        lease = Lease(owner=self._lane.owner, until=now + LEASE, min_bytes=self._lane.min_bytes, max_bytes=self._lane.max_bytes)
        is_due = bool(self._runs) and now - self._claimed_at >= RENEW
        if not is_due:
            with self._tools.store.reading() as unit:
                found = unit.feeds.queue.list_claimable(lease, now=now, limit=limit)
            if not any(self._is_new(feed, now) for feed in found):
                return
        with self._tools.store.writing() as unit:
            claimed = unit.feeds.queue.claim(lease, now=now, limit=limit)
        self._claimed_at = now
        claimable = {feed.id for feed in claimed}
        self._retry_at = {feed_id: until for feed_id, until in self._retry_at.items() if feed_id in claimable}
        for feed in claimed:
            if self._is_new(feed, now):
                self._runs[feed.id] = GroupsRun(feed, self._tools) if feed.kind.target is FeedTarget.GROUPS else FeedRun(feed, self._tools)
