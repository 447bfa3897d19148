"""The puller begins the runs of pull sources: those that are requested, and those that are due by the schedule.

At any time one process runs a source: it holds the lease of the source, which it renews. A process that is stopped requests its runs
again, and the next one continues them. If the process is killed in the middle, its successor on the same data folder continues at once, a
process of another machine once the lease has expired.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

import structlog

from feedmill.model.errors import Broken, Busy, Conflict, FeedmillError
from feedmill.model.pulling import PullRun, PullState, RunMode, RunRequest, RunState
from feedmill.ports import InFlight, PullSource, UnitOfWork
from feedmill.services.isolation.batches import describe
from feedmill.services.isolation.noinflight import NoInFlight
from feedmill.services.pulling.itemwatch import ItemWatch
from feedmill.services.pulling.pageplan import PullDependencies
from feedmill.services.pulling.pullrun import LEASE, PULL_STEP, PullRunner, Stopped, add_failure, release_lease
from feedmill.services.pulling.setups import PullSetup, find_due

POLL_SECONDS = 0.5
IDLE_SECONDS = 5.0
RETRY_SECONDS = 2.0
AT_ONCE = 16
"""How many sources are run at the same time. Most of them wait for another server or a command, and some of these may hang."""
MAX_RESTARTS = 3
STOP_SECONDS = 5.0
"""How long the puller waits for its runs when it is stopped. Each stops after its page."""
CLOSE_SECONDS = 1.0
"""How long it waits until a source is closed whose run has not stopped."""

log = structlog.get_logger(__name__)


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


class Puller:
    """Runs pull sources; ``work`` runs until it is stopped. ``start`` runs a function beside the loop, in a thread by default.

    ``in_flight`` opens the notes about the items of a source.
    """

    def __init__(
        self,
        setups: Mapping[str, PullSetup],
        tools: PullDependencies,
        *,
        start: Callable[[Callable[[], None]], None] = _in_thread,
        in_flight: Callable[[str], InFlight] = lambda _name: NoInFlight(),
    ) -> None:
        self._setups = setups
        self._tools = tools
        self._start = start
        self._watches = {name: ItemWatch(name, tools.store, in_flight(name), tools.clock) for name in setups}
        self._running: dict[str, int] = {}
        self._open: dict[str, PullSource] = {}
        self._has_ended = threading.Condition()
        self._is_stopped: Callable[[], bool] = lambda: False

    def work(self, is_stopped: Callable[[], bool]) -> None:
        """Works until stopped. A fault of the store is retried. Errors: Broken."""
        self._is_stopped = is_stopped
        while not is_stopped():
            try:
                self.turn()
            except Broken:
                raise
            except FeedmillError as error:
                log.warning("puller_waits", reason=str(error), seconds=RETRY_SECONDS)
                self._tools.notifier.wait(RETRY_SECONDS)
                continue
            self._tools.notifier.wait(POLL_SECONDS if self._setups else IDLE_SECONDS)
        self._end_all()

    def _end_all(self) -> None:
        """Waits until the runs have stopped, and requests those again that still wait for their source.

        These sources are closed, so that no command of them goes on without the server.
        """
        with self._has_ended:
            self._has_ended.wait_for(lambda: not self._running, STOP_SECONDS)
            left, sources = list(self._running.values()), list(self._open.values())
            self._open.clear()
        for run_id in left:
            self._request_again(run_id)
        closing = [threading.Thread(target=source.close, daemon=True) for source in sources]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join(CLOSE_SECONDS)

    def turn(self) -> bool:
        """Begins what is requested or due. Returns whether there was anything."""
        now = self._tools.clock()
        with self._tools.store.reading() as unit:
            states = {state.source: state for state in unit.feeds.pulling.states.list()}
            waiting = unit.feeds.pulling.runs.list_open()
        if any(name not in states for name in self._setups):
            states |= self._note_new(now)
        taken_back = self._take_back(waiting, states, now)
        is_busy = bool(taken_back)
        requested = {run.source: run for run in reversed([*taken_back, *waiting]) if run.state is RunState.REQUESTED}
        for run in requested.values():
            if run.source not in self._setups:
                self._refuse(run, now)
        for setup in self._list_waiting(requested, states, now):
            if len(self._running) >= AT_ONCE:
                break
            is_busy = self._begin_run(setup, requested.get(setup.name), now) or is_busy
        return is_busy

    def _list_waiting(self, requested: Mapping[str, PullRun], states: Mapping[str, PullState], now: datetime) -> list[PullSetup]:
        """Lists the sources that are requested or due, the one that has waited longest first."""
        since: dict[str, datetime] = {}
        for name, setup in self._setups.items():
            due = requested[name].requested_at if name in requested else find_due(setup, states[name])
            if name not in self._running and due is not None and (name in requested or due <= now):
                since[name] = due
        return [self._setups[name] for name in sorted(since, key=since.__getitem__)]

    def _note_new(self, now: datetime) -> dict[str, PullState]:
        with self._tools.store.writing() as unit:
            return {name: unit.feeds.pulling.states.get(name, now) for name in self._setups}

    def _refuse(self, run: PullRun, now: datetime) -> None:
        reason = f"the settings have no source {run.source}"
        with self._tools.store.writing() as unit:
            unit.feeds.pulling.runs.save(replace(run, state=RunState.FAILED, finished_at=now, reason=reason))

    def _take_back(self, waiting: list[PullRun], states: Mapping[str, PullState], now: datetime) -> list[PullRun]:
        """Requests again the runs whose process has ended, and returns them."""
        taken_back = []
        left = [run for run in waiting if run.state is RunState.RUNNING and self._is_left(run, states.get(run.source), now)]
        for found in left:
            with self._tools.store.writing() as unit:
                state, run = unit.feeds.pulling.states.get(found.source, now), unit.feeds.pulling.runs.get(found.id)
                if run.state is not RunState.RUNNING or not self._is_left(run, state, now):
                    continue
                restarts = run.restarts + (0 if self._has_ended_in_item(run, state) else 1)
                again, released = replace(run, state=RunState.REQUESTED, restarts=restarts), release_lease(state)
                if again.restarts > MAX_RESTARTS:
                    reason = f"the process ended {again.restarts} times during this run"
                    again, released = replace(run, state=RunState.FAILED, finished_at=now, reason=reason), add_failure(released, run, now)
                unit.feeds.pulling.states.save(released)
                unit.feeds.pulling.runs.save(again)
            taken_back.append(again)
            log.warning("pull_run_interrupted", source=run.source, run=run.id)
        return taken_back

    def _is_left(self, run: PullRun, state: PullState | None, now: datetime) -> bool:
        return state is not None and run.source not in self._running and not self._is_leased_elsewhere(state, now)

    def _has_ended_in_item(self, run: PullRun, state: PullState) -> bool:
        """Returns whether the process ended in an item of this run, which is counted for the item."""
        watch = self._watches.get(run.source)
        return watch is not None and state.lease_owner == self._tools.owner and watch.take_end_in_item()

    def _is_leased_elsewhere(self, state: PullState, now: datetime) -> bool:
        """Returns whether another process may run the source."""
        return state.lease_owner not in ("", self._tools.owner) and state.lease_expires_at is not None and state.lease_expires_at > now

    def _begin_run(self, setup: PullSetup, requested: PullRun | None, now: datetime) -> bool:
        run = self._claim(setup, requested, now)
        if run is None:
            return False
        with self._has_ended:
            self._running[setup.name] = run.id
        self._start(lambda: self._run_pull(setup, run))
        return True

    def _claim(self, setup: PullSetup, requested: PullRun | None, now: datetime) -> PullRun | None:
        """Takes the lease of a source and begins a run, in one transaction. Returns None if another process was faster."""
        with self._tools.store.writing() as unit:
            state = unit.feeds.pulling.states.get(setup.name, now)
            if self._is_leased_elsewhere(state, now):
                return None
            if requested is not None:
                requested = unit.feeds.pulling.runs.get(requested.id)
                if requested.state is not RunState.REQUESTED:
                    return None
            else:
                due = find_due(setup, state)
                if due is None or due > now:
                    return None
            queued = requested or unit.feeds.pulling.runs.add(setup.name, RunRequest(is_full=_is_full_due(setup, state, now)), now)
            run, state = _prepare(unit, queued, state, now, is_incremental=setup.is_incremental)
            unit.feeds.pulling.runs.save(run)
            lease = replace(state, lease_owner=self._tools.owner, lease_expires_at=now + LEASE)
            unit.feeds.pulling.states.save(lease if run.request.is_dry else replace(lease, tried_at=now))
            return run

    def _run_pull(self, setup: PullSetup, run: PullRun) -> None:
        """Works on a run. A run that the store interrupts is requested again by ``turn``."""
        try:
            self._work(setup, run)
        except Exception as error:
            if not isinstance(error, FeedmillError):
                log.exception("pull_source_fails", source=setup.name)
            self._fail(run, str(error) if isinstance(error, FeedmillError) else describe(PULL_STEP, error))
        finally:
            with self._has_ended:
                self._running.pop(setup.name, None)
                self._has_ended.notify_all()

    def _work(self, setup: PullSetup, run: PullRun) -> None:
        source = setup.open()
        with self._has_ended:
            self._open[setup.name] = source
        try:
            PullRunner(
                run, source, self._tools, self._watches[setup.name], guard=setup.guard, parallel=setup.parallel, is_stopped=self._is_stopped
            ).work()
        except Stopped:
            log.info("pull_run_stops", source=setup.name, run=run.id)
            self._request_again(run.id)
        except Conflict as error:
            log.warning("pull_run_lost", source=setup.name, run=run.id, reason=str(error))
        except Busy as error:
            log.warning("pull_run_waits", source=setup.name, run=run.id, reason=str(error))
            self._request_again(run.id)
        finally:
            with self._has_ended:
                is_open = self._open.pop(setup.name, None) is not None
            if is_open:
                source.close()

    def _request_again(self, run_id: int) -> None:
        """Requests a run again that is to continue later, which does not count as an end of its process."""
        now = self._tools.clock()
        with self._tools.store.writing() as unit:
            run = unit.feeds.pulling.runs.get(run_id)
            state = unit.feeds.pulling.states.get(run.source, now)
            if run.state is RunState.RUNNING and state.lease_owner == self._tools.owner:
                unit.feeds.pulling.runs.save(replace(run, state=RunState.REQUESTED))
                unit.feeds.pulling.states.save(release_lease(state))

    def _fail(self, begun: PullRun, reason: str) -> None:
        now = self._tools.clock()
        with self._tools.store.writing() as unit:
            run = unit.feeds.pulling.runs.get(begun.id)
            state = unit.feeds.pulling.states.get(run.source, now)
            if run.state is not RunState.RUNNING or state.lease_owner != self._tools.owner:
                return
            counts = replace(run.counts, errors=run.counts.errors + 1)
            unit.feeds.pulling.runs.save(replace(run, state=RunState.FAILED, finished_at=now, reason=reason, counts=counts))
            unit.feeds.pulling.states.save(add_failure(release_lease(state), run, now))


def _is_full_due(setup: PullSetup, state: PullState, now: datetime) -> bool:
    due = setup.full_schedule.find_next(state.full_at, state.seen_at)
    return due is not None and due <= now


def _prepare(unit: UnitOfWork, run: PullRun, state: PullState, now: datetime, *, is_incremental: bool) -> tuple[PullRun, PullState]:
    """Returns a run as it begins, and the state of its source. A reading that was interrupted continues if it can."""
    mode = RunMode.FULL if run.request.is_full or state.full_at is None or not is_incremental else RunMode.INCREMENTAL
    begun = replace(run, mode=run.mode or mode, state=RunState.RUNNING, started_at=run.started_at or now)
    earlier = run if run.checkpoint else _find_interrupted(unit, begun)
    if earlier is not None and earlier.listing and not run.request.is_dry:
        continued = {"listing": earlier.listing, "checkpoint": earlier.checkpoint, "since": earlier.since, "known": earlier.known}
        first = run.first_listing or earlier.listing
        return replace(begun, first_listing=first, unnamed=earlier.unnamed, **continued), state  # type: ignore[arg-type]
    listing = state.listing + 1
    begun = replace(
        begun,
        listing=listing,
        first_listing=run.first_listing or listing,
        checkpoint="",
        since=state.since if begun.mode is RunMode.INCREMENTAL else "",
        known=unit.feeds.pulling.items.count(run.source) if run.started_at is None else run.known,
    )
    return begun, state if run.request.is_dry else replace(state, listing=listing)


def _find_interrupted(unit: UnitOfWork, run: PullRun) -> PullRun | None:
    """Returns the last run of the same mode if it failed and its reading can be continued."""
    runs = unit.feeds.pulling.runs.list_newest(run.source, 20)
    same = (each for each in runs if each.id < run.id and each.mode is run.mode and not each.request.is_dry)
    last = next(same, None)
    return last if last is not None and last.state is RunState.FAILED and last.checkpoint else None
