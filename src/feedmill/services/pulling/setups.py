"""The pull sources of the settings, and when each is due."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from feedmill.core.pulling.schedule import UNSCHEDULED, Schedule, find_retry
from feedmill.model.pulling import PullState
from feedmill.ports import PullSource


@dataclass(frozen=True, slots=True, kw_only=True)
class PullSetup:
    """A pull source of the settings.

    Shape: ``is_incremental`` if the source can list what has changed since a point in time; ``guard`` is the greatest share of its
    documents that a run may delete; ``parallel`` is how many documents are retrieved at once.
    """

    name: str
    open: Callable[[], PullSource]
    is_incremental: bool = False
    schedule: Schedule = UNSCHEDULED
    full_schedule: Schedule = UNSCHEDULED
    guard: float = 0.2
    parallel: int = 1


def find_due(setup: PullSetup, state: PullState) -> datetime | None:
    """Returns when the next run of a source is due by its schedules, None for never. After a failure it is earlier or later than usual."""
    if state.is_paused or (setup.schedule == setup.full_schedule == UNSCHEDULED):
        return None
    if state.failures and state.failed_at is not None:
        return find_retry(state.failures, state.failed_at)
    due = (setup.schedule.find_next(state.tried_at, state.seen_at), setup.full_schedule.find_next(state.full_at, state.seen_at))
    return min((moment for moment in due if moment is not None), default=None)
