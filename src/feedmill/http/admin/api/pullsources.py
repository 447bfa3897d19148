"""Pull sources and their runs as JSON."""

from typing import Any

from feedmill.model.pulling import PullRun
from feedmill.services.pulling.requesting import PullOverview
from feedmill.wire.jsonvalues import render_time

Json = dict[str, Any]


def render_run(run: PullRun) -> Json:
    """Returns a run as JSON."""
    return {
        "id": run.id,
        "source": run.source,
        "mode": None if run.mode is None else run.mode.value,
        "dry_run": run.request.is_dry,
        "state": run.state.value,
        "state_code": run.state.name.lower(),
        "requested_at": render_time(run.requested_at),
        "started_at": render_time(run.started_at),
        "finished_at": render_time(run.finished_at),
        **render_counts(run),
        "held": run.held,
        "reason": run.reason or None,
        "log": list(run.log),
    }


def render_counts(run: PullRun) -> Json:
    """Returns how many documents a run added, changed, deleted and left as they were, and its errors."""
    counts = run.counts
    return {
        "added": counts.added,
        "changed": counts.changed,
        "deleted": counts.deleted,
        "unchanged": counts.unchanged,
        "errors": counts.errors,
    }


def render_pull_source(source: PullOverview) -> Json:
    """Returns a pull source as JSON."""
    state, run = source.state, source.last_run
    return {
        "name": source.name,
        "kind": source.kind,
        "schedule": source.schedule,
        "paused": state is not None and state.is_paused,
        "failures": 0 if state is None else state.failures,
        "last_full_at": None if state is None else render_time(state.full_at),
        "next_run_at": render_time(source.next_run_at),
        "last_run": None if run is None else render_run(run),
    }
