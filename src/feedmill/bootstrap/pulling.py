"""Builds the pull sources of the settings, the puller that runs them, and the requests to it."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from feedmill.adapters.commands import ProcessCommands
from feedmill.adapters.crawling.formclient import FormClient
from feedmill.adapters.crawling.options import FormLogin
from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.http.client import ClientOptions
from feedmill.adapters.http.errors import ExchangeFailure, FailureKind
from feedmill.adapters.listings import FolderListings
from feedmill.adapters.spool import FolderSpool
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.feeds import build_admission
from feedmill.core.pulling.schedule import parse_schedule
from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import AuthorizationRule
from feedmill.model.errors import BadRequest, NotFound
from feedmill.ports import InFlight, PullSource, RowSource
from feedmill.services.authorization.adaptorauthorizer import AdaptorAuthorizer, AuthorizerCommand
from feedmill.services.pulling.adaptors import AdaptorPlace, AdaptorSource, AdaptorTools
from feedmill.services.pulling.pageplan import PullDependencies
from feedmill.services.pulling.puller import Puller, PullSetup
from feedmill.services.pulling.requesting import NamedSetup, PullRequests
from feedmill.services.pulling.seedlists import FetchedBody, Oversized, SeedlistAddress, SeedlistSource
from feedmill.settings import Settings
from feedmill.settings.pulling import AdaptorSourceSettings, DatabaseSourceSettings, PullSourceSettings, SeedlistSourceSettings
from feedmill.settings.secrets import read_secret
from feedmill.wire.commandstream.adapt import DocumentIds

if TYPE_CHECKING:
    from feedmill.adapters.databases.source import DatabaseSource

MAX_REDIRECTS = 5
NOTES = "pull"
"""How the files begin in which the puller notes what it works on."""
ADAPTORS = "adaptors"
"""The folder in a data folder with the listings of command line adaptors."""


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
    setups = {name: source.setup for name, source in _build_setups(context).items() if only in ("", name)}
    notes = partial(_open_notes, context)
    return Puller(setups, tools, in_flight=notes) if start is None else Puller(setups, tools, start=start, in_flight=notes)


def _open_notes(context: AppContext, name: str) -> InFlight:
    """Opens the notes about what the puller works on in a source."""
    return context.in_flight(f"{NOTES}-{name}")


def build_pull_requests(context: AppContext) -> PullRequests:
    """Builds the requests of administrators to the puller."""
    return PullRequests(context.store, _build_setups(context), context.notifier, utc_now)


def find_rows(settings: Settings) -> Callable[[str], RowSource | None]:
    """Returns what opens a source for single rows by its name; None for a source whose documents are no rows."""
    limit = settings.limits.max_document_bytes
    sources = {source.name: source for source in settings.sources if isinstance(source, DatabaseSourceSettings)}

    def find(name: str) -> RowSource | None:
        return _open_database(sources[name], limit) if name in sources else None

    return find


def build_adaptor(settings: Settings, name: str, folder: Path) -> AdaptorSource:
    """Builds the command line adaptor of a source, with its temporary files in a folder. Errors: NotFound, BadRequest."""
    tools = SourceTools(max_bytes=settings.limits.max_document_bytes, data=folder, open_spool=FolderSpool(folder / "spool").open)
    return _open_adaptor(_get_adaptor(settings, name), tools)


def build_adaptor_authorizer(context: AppContext, rule: AuthorizationRule) -> AdaptorAuthorizer:
    """Builds the authorizer of the adaptor whose source is named like the rule. Errors: NotFound, BadRequest."""
    source = _get_adaptor(context.settings, rule.label)
    config = source.read_config()
    command = AuthorizerCommand(arguments=config.authorizer, folder=source.folder, delimiter=config.delimiter)
    ids = DocumentIds(base="" if config.ids_are_urls else source.url_base)
    return AdaptorAuthorizer(rule, command, ids, ProcessCommands(context.data / ADAPTORS / source.name / "files"))


def _get_adaptor(settings: Settings, name: str) -> AdaptorSourceSettings:
    source = next((each for each in settings.sources if each.name == name), None)
    if not isinstance(source, AdaptorSourceSettings):
        raise NotFound(f"the settings have no source {name} of kind adaptor; is the settings file named, with --config or FEEDMILL_CONFIG?")
    return source


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTools:
    """What opens a pull source. ``data`` is the data folder; ``max_bytes`` limits a document."""

    max_bytes: int
    data: Path
    open_spool: Callable[[], BinaryIO]


def _list_tools(context: AppContext) -> SourceTools:
    return SourceTools(max_bytes=context.settings.limits.max_document_bytes, data=context.data, open_spool=context.spool)


def _build_setups(context: AppContext) -> Mapping[str, NamedSetup]:
    tools = _list_tools(context)
    return {source.name: _build_setup(source, tools) for source in context.settings.sources}


def _build_setup(source: PullSourceSettings, tools: SourceTools) -> NamedSetup:
    setup = PullSetup(
        name=source.name,
        open=partial(OPENERS[source.kind], source, tools),
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


def _open_adaptor(source: PullSourceSettings, tools: SourceTools) -> AdaptorSource:
    assert isinstance(source, AdaptorSourceSettings)
    folder = tools.data / ADAPTORS / source.name
    return AdaptorSource(
        source.read_config(),
        AdaptorPlace(folder=source.folder, base_url=source.url_base),
        AdaptorTools(
            commands=ProcessCommands(folder / "files"),
            listings=FolderListings(folder / "listings"),
            open_spool=tools.open_spool,
            clock=utc_now,
            max_content_bytes=tools.max_bytes,
        ),
    )


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


def _open_seedlist(source: PullSourceSettings, tools: SourceTools) -> PullSource:
    assert isinstance(source, SeedlistSourceSettings)
    address = SeedlistAddress(
        url=source.url, user=source.user, password=read_secret(source.password, source.password_file), uses_basic=not source.login_url
    )
    # the operator has chosen the host of the seedlist, and no other
    options = ClientOptions(allows_private=lambda target: target.host == address.host, max_redirects=MAX_REDIRECTS)
    client, session = BlockingHttpClient(options), _open_session(source, address, options)

    def fetch(url: str, headers: Mapping[str, str], max_bytes: int, seconds: float) -> FetchedBody:
        try:
            if session is not None and parse_target(url).host == address.host:
                fetched = session.fetch(url, headers=headers, max_bytes=max_bytes, seconds=seconds)
            else:
                fetched = client.fetch("GET", url, headers=headers, max_bytes=max_bytes, seconds=seconds)
        except ExchangeFailure as exc:
            if exc.kind is FailureKind.TOO_LARGE:
                raise Oversized(str(exc)) from exc
            raise
        media_type = fetched.response.find_header("content-type").partition(";")[0].strip().lower()
        return FetchedBody(url=fetched.url, status=fetched.response.status, media_type=media_type, body=fetched.response.body)

    close = session.close if session is not None else lambda: None
    return SeedlistSource(source.name, address, fetch, max_content_bytes=tools.max_bytes, close=close)


def _open_session(source: SeedlistSourceSettings, address: SeedlistAddress, options: ClientOptions) -> FormClient | None:
    """Opens a session at the server of a seedlist; None if the source has no login form."""
    if not source.login_url:
        return None
    form = FormLogin(
        login_url=source.login_url,
        login_pattern=source.login_pattern,
        action=source.form_action,
        user_field=source.user_field,
        password_field=source.password_field,
        session_seconds=source.session_seconds,
    )
    return FormClient(address.user, address.password, form, options)


OPENERS: Mapping[str, Callable[[PullSourceSettings, SourceTools], PullSource]] = {
    "adaptor": _open_adaptor,
    "database": lambda source, tools: _open_database(source, tools.max_bytes),
    "seedlist": _open_seedlist,
}
"""What opens a pull source, by its kind."""
