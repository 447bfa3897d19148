"""Builds what administrators do with pull sources. It loads nothing that opens a source, which commands that only look do not need."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.core.pulling.schedule import parse_schedule
from feedmill.model.errors import BadRequest
from feedmill.ports import PullSource
from feedmill.services.pulling.requesting import NamedSetup, PullRequests
from feedmill.services.pulling.setups import PullSetup
from feedmill.settings.pulling import AdaptorSourceSettings, DatabaseSourceSettings, PullSourceSettings


def build_pull_requests(context: AppContext) -> PullRequests:
    """Builds the requests of administrators to the puller."""
    return PullRequests(context.store, build_setups(context), context.notifier, utc_now)


def build_setups(context: AppContext) -> Mapping[str, NamedSetup]:
    """Builds the pull sources of the settings by name."""
    return {source.name: _build_setup(source, partial(_open, source, context)) for source in context.settings.sources}


def _open(source: PullSourceSettings, context: AppContext) -> PullSource:
    from feedmill.bootstrap.pullsources import OPENERS, SourceTools

    limit = context.settings.limits.max_document_bytes
    return OPENERS[source.kind](source, SourceTools(max_bytes=limit, data=context.data, open_spool=context.spool))


def _build_setup(source: PullSourceSettings, open_source: Callable[[], PullSource]) -> NamedSetup:
    setup = PullSetup(
        name=source.name,
        open=open_source,
        is_incremental=not isinstance(source, DatabaseSourceSettings) or bool(source.incremental_query),
        schedule=parse_schedule(source.schedule),
        full_schedule=parse_schedule(source.full_schedule),
        guard=source.guard,
    )
    if isinstance(source, AdaptorSourceSettings):
        setup = _plan_adaptor(source, setup)
    return NamedSetup(kind=source.kind, schedule=source.schedule, setup=setup)


def _plan_adaptor(source: AdaptorSourceSettings, setup: PullSetup) -> PullSetup:
    """Returns the setup with the schedules of the adaptor, where the source has none."""
    try:
        config = source.read_config()
    except BadRequest:
        # each run fails with the reason
        return replace(setup, is_incremental=False)
    full = parse_schedule(source.full_schedule or config.full_schedule)
    polls = bool(config.incremental) and config.poll_seconds > 0 and not source.schedule
    schedule = parse_schedule(f"every {config.poll_seconds}s") if polls else setup.schedule
    return replace(setup, is_incremental=bool(config.incremental), schedule=schedule, full_schedule=full, parallel=config.limits.retrievers)
