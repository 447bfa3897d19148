"""Builds the pull sources of the settings, the puller that runs them, and the requests to it."""

import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from feedmill.adapters.databases.source import DatabaseAddress, DatabaseQueries, DatabaseSource
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.feeds import build_admission
from feedmill.core.pulling.schedule import parse_schedule
from feedmill.ports import PullSource, RowSource
from feedmill.services.pulling.puller import Puller, PullSetup
from feedmill.services.pulling.pullrun import PullDependencies
from feedmill.services.pulling.requesting import NamedSetup, PullRequests
from feedmill.settings import Settings
from feedmill.settings.pulling import DatabaseSourceSettings
from feedmill.settings.secrets import read_secret


def build_puller(context: AppContext, *, only: str = "", start: Callable[[Callable[[], None]], None] | None = None) -> Puller:
    """Builds the puller of one source or of all; ``start`` runs a function beside its loop, in a thread by default."""
    admission = build_admission(context.settings)
    tools = PullDependencies(
        store=context.store,
        blobs=context.blobs,
        clock=utc_now,
        admission=lambda: admission,
        notifier=context.notifier,
        owner=f"{socket.gethostname()}:{context.data.absolute()}",
    )
    setups = {name: source.setup for name, source in _build_setups(context.settings).items() if only in ("", name)}
    return Puller(setups, tools) if start is None else Puller(setups, tools, start=start)


def build_pull_requests(context: AppContext) -> PullRequests:
    """Builds the requests of administrators to the puller."""
    return PullRequests(context.store, _build_setups(context.settings), context.notifier, utc_now)


def find_rows(settings: Settings) -> Callable[[str], RowSource | None]:
    """Returns what opens a source for single rows by its name; None for a source whose documents are no rows."""
    limit = settings.limits.max_document_bytes
    sources = {source.name: source for source in settings.sources if source.kind == "database"}

    def find(name: str) -> RowSource | None:
        return _open_database(sources[name], limit) if name in sources else None

    return find


def _build_setups(settings: Settings) -> Mapping[str, NamedSetup]:
    limit = settings.limits.max_document_bytes
    setups = {}
    for source in settings.sources:
        setup = PullSetup(
            name=source.name,
            open=partial(OPENERS[source.kind], source, limit),
            is_incremental=bool(source.incremental_query),
            schedule=parse_schedule(source.schedule),
            full_schedule=parse_schedule(source.full_schedule),
            guard=source.guard,
        )
        setups[source.name] = NamedSetup(kind=source.kind, schedule=source.schedule, setup=setup)
    return setups


def _open_database(source: DatabaseSourceSettings, max_bytes: int) -> DatabaseSource:
    password = read_secret(source.password, source.password_file)
    queries = DatabaseQueries(
        crawl_query=source.crawl_query,
        keys=source.keys,
        incremental_query=source.incremental_query,
        acl_query=source.acl_query,
        serve_query=source.serve_query,
        url_column=source.url_column,
        base_url=source.base_url,
        blob_column=source.blob_column,
        mime_column=source.mime_column,
        stylesheet=Path(source.stylesheet).read_bytes() if source.stylesheet else b"",
    )
    address = DatabaseAddress(dsn=read_secret(source.dsn), user=source.user, password=password)
    return DatabaseSource(source.name, address, queries, ProcessTransformer().transform, max_characters=max_bytes)


OPENERS: Mapping[str, Callable[[DatabaseSourceSettings, int], PullSource]] = {"database": _open_database}
"""What opens a pull source, by its kind."""
