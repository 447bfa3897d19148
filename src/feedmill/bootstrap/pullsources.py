"""Opens the pull sources of the settings: adaptors, databases and seedlists."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import AuthorizationRule
from feedmill.model.errors import NotFound
from feedmill.ports import PullSource, RowSource
from feedmill.services.authorization.adaptorauthorizer import AdaptorAuthorizer, AuthorizerCommand
from feedmill.services.pulling.adaptors import AdaptorPlace, AdaptorSource, AdaptorTools
from feedmill.services.pulling.seedlists import FetchedBody, Oversized, SeedlistAddress, SeedlistSource
from feedmill.settings import Settings
from feedmill.settings.pulling import AdaptorSourceSettings, DatabaseSourceSettings, PullSourceSettings, SeedlistSourceSettings
from feedmill.settings.secrets import read_secret
from feedmill.wire.commandstream.adapt import DocumentIds

if TYPE_CHECKING:
    from feedmill.adapters.databases.source import DatabaseSource

MAX_REDIRECTS = 5
ADAPTORS = "adaptors"
"""The folder in a data folder with the listings of command line adaptors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTools:
    """What opens a pull source. ``data`` is the data folder; ``max_bytes`` limits a document."""

    max_bytes: int
    data: Path
    open_spool: Callable[[], BinaryIO]


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
