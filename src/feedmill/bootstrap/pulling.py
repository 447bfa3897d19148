"""Builds the pull sources of the settings, the puller that runs them, and the requests to it."""

import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.http.client import ClientOptions
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.feeds import build_admission
from feedmill.core.pulling.schedule import parse_schedule
from feedmill.ports import PullSource, RowSource
from feedmill.services.pulling.puller import Puller, PullSetup
from feedmill.services.pulling.pullrun import PullDependencies
from feedmill.services.pulling.requesting import NamedSetup, PullRequests
from feedmill.services.pulling.seedlists import FetchedBody, SeedlistAddress, SeedlistSource
from feedmill.settings import Settings
from feedmill.settings.pulling import DatabaseSourceSettings, PullSourceSettings, SeedlistSourceSettings
from feedmill.settings.secrets import read_secret

if TYPE_CHECKING:
    from feedmill.adapters.databases.source import DatabaseSource

MAX_REDIRECTS = 5


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
    sources = {source.name: source for source in settings.sources if isinstance(source, DatabaseSourceSettings)}

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
            is_incremental=not isinstance(source, DatabaseSourceSettings) or bool(source.incremental_query),
            schedule=parse_schedule(source.schedule),
            full_schedule=parse_schedule(source.full_schedule),
            guard=source.guard,
        )
        setups[source.name] = NamedSetup(kind=source.kind, schedule=source.schedule, setup=setup)
    return setups


def _open_database(source: PullSourceSettings, max_bytes: int) -> "DatabaseSource":
    # it loads SQLAlchemy, which commands that only send requests to a server do not need
    from feedmill.adapters.databases.source import DatabaseAddress, DatabaseQueries, DatabaseSource

    assert isinstance(source, DatabaseSourceSettings)
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


def _open_seedlist(source: PullSourceSettings, max_bytes: int) -> PullSource:
    assert isinstance(source, SeedlistSourceSettings)
    address = SeedlistAddress(url=source.url, user=source.user, password=read_secret(source.password, source.password_file))
    # the operator has chosen the host of the seedlist, and no other
    client = BlockingHttpClient(ClientOptions(allows_private=lambda target: target.host == address.host, max_redirects=MAX_REDIRECTS))

    def fetch(url: str, headers: Mapping[str, str], max_bytes: int, seconds: float) -> FetchedBody:
        fetched = client.fetch("GET", url, headers=headers, max_bytes=max_bytes, seconds=seconds)
        media_type = fetched.response.find_header("content-type").partition(";")[0].strip().lower()
        return FetchedBody(url=fetched.url, status=fetched.response.status, media_type=media_type, body=fetched.response.body)

    return SeedlistSource(source.name, address, fetch, max_content_bytes=max_bytes)


OPENERS: Mapping[str, Callable[[PullSourceSettings, int], PullSource]] = {"database": _open_database, "seedlist": _open_seedlist}
"""What opens a pull source, by its kind."""
