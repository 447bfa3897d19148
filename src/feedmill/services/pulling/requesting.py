"""What an administrator does with pull sources: requests runs, pauses and resumes them, and looks at their history."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from feedmill.model.errors import Conflict, NotFound
from feedmill.model.pulling import PullRun, PullState, RunRequest, RunState
from feedmill.model.topic import Topic
from feedmill.ports import Clock, Notifier, Store
from feedmill.services.pulling.setups import PullSetup, find_due

RUNS_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOverview:
    """A pull source with its state, its newest run and when the next one is due; each None if there is none."""

    name: str
    kind: str
    schedule: str
    state: PullState | None
    last_run: PullRun | None
    next_run_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSetup:
    """A pull source of the settings: its kind, and its schedule as it was written."""

    kind: str
    schedule: str
    setup: PullSetup


class PullRequests:
    """The requests to the puller. Errors of all: NotFound for a source that the settings do not name."""

    def __init__(self, store: Store, sources: Mapping[str, NamedSetup], notifier: Notifier, clock: Clock) -> None:
        self._store = store
        self._sources = sources
        self._notifier = notifier
        self._clock = clock

    def request_run(self, name: str, request: RunRequest) -> PullRun:
        """Requests a run, which begins at once, or after the one in progress. Errors: Conflict if one is requested already."""
        self._check_source(name)
        with self._store.writing() as unit:
            open_runs = [run for run in unit.feeds.pulling.runs.list_open() if run.source == name]
            waiting = next((run for run in open_runs if run.state is RunState.REQUESTED), None)
            if waiting is not None:
                raise Conflict(f"run {waiting.id} of {name} is requested already; wait for its end")
            unit.feeds.pulling.states.get(name, self._clock())
            run = unit.feeds.pulling.runs.add(name, request, self._clock())
        self._notifier.notify(Topic.PULLING)
        return run

    def get_run(self, run_id: int) -> PullRun:
        """Returns a run. Errors: NotFound."""
        with self._store.reading() as unit:
            return unit.feeds.pulling.runs.get(run_id)

    def list_runs(self, name: str, limit: int = RUNS_LISTED) -> list[PullRun]:
        """Lists the runs of a source, newest first, also of one that is no longer in the settings. Errors: NotFound if there is none."""
        with self._store.reading() as unit:
            runs = unit.feeds.pulling.runs.list_newest(name, limit)
        if not runs:
            self._check_source(name)
        return runs

    def pause(self, name: str, *, is_paused: bool) -> None:
        """Pauses a source, which then runs only on request, or resumes its schedule."""
        self._check_source(name)
        with self._store.writing() as unit:
            unit.feeds.pulling.states.save(replace(unit.feeds.pulling.states.get(name, self._clock()), is_paused=is_paused))
        self._notifier.notify(Topic.PULLING)

    def list_sources(self) -> list[PullOverview]:
        """Lists the pull sources of the settings."""
        with self._store.reading() as unit:
            states = {state.source: state for state in unit.feeds.pulling.states.list()}
            last = {name: unit.feeds.pulling.runs.list_newest(name, 1) for name in self._sources}
        return [
            PullOverview(
                name=name,
                kind=source.kind,
                schedule=source.schedule,
                state=states.get(name),
                last_run=next(iter(last[name]), None),
                next_run_at=find_due(source.setup, states[name]) if name in states else None,
            )
            for name, source in self._sources.items()
        ]

    def _check_source(self, name: str) -> None:
        if name not in self._sources:
            raise NotFound(
                f"the settings have no source '{name}' in [[sources]]; is the settings file named, with --config or FEEDMILL_CONFIG?"
            )
