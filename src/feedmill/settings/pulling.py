"""The settings of pull sources: one model for each kind, and their checks.

A further kind is one more model here, one line in ``KINDS``, and one in the table of ``bootstrap.pullsources``.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os.path import isdir, isfile
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from feedmill.core.documents.submission import WEB, check_datasource
from feedmill.core.pulling.schedule import parse_schedule
from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import TokenServer, Trust
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.settings.adaptors import read_adaptor_config
from feedmill.settings.keypaths import Fault
from feedmill.settings.secrets import read_secret
from feedmill.settings.section import RulePattern, Section
from feedmill.settings.signin import Namespace, OptionalHeaderName
from feedmill.wire.adaptorconfig.keys import AdaptorConfig

_PARAMETER = re.compile(r"(?<![:\w\\]):(\w+)(?!:)")
"""A parameter of a query, as SQLAlchemy reads it: ``\\:`` is a colon, ``::`` a cast."""

# RFC 6265, 4.1.1
_COOKIE = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_OWN_COOKIES: Final = frozenset({"gsa_session_id", "feedmill_form", "feedmill_flow"})
_REQUEST_HEADERS: Final = frozenset(
    {"host", "authorization", "connection", "content-length", "transfer-encoding", "user-agent", "accept", "cookie"}
)


def _check_cookie_name(text: str) -> str:
    if not _COOKIE.fullmatch(text):
        raise ValueError(f"'{text}' is no name of a cookie")
    if text.removeprefix("__Host-").lower() in _OWN_COOKIES:
        raise ValueError(f"'{text}' is a cookie of this server, which no other server may get")
    return text


CookieName = Annotated[str, AfterValidator(_check_cookie_name)]


def _check_name(text: str) -> str:
    try:
        checked = check_datasource(text, "name")
    except BadRequest as exc:
        raise ValueError(str(exc)) from exc
    if checked == WEB:
        raise ValueError("the data source web is for web feeds; give another name")
    return checked


def _check_schedule(text: str) -> str:
    try:
        parse_schedule(text)
    except BadRequest as exc:
        raise ValueError(str(exc)) from exc
    return text


ScheduleText = Annotated[str, AfterValidator(_check_schedule)]


class PullSourceSettings(Section):
    """The settings that all kinds of pull sources have."""

    name: Annotated[str, AfterValidator(_check_name)]
    kind: str
    schedule: ScheduleText = ""
    full_schedule: ScheduleText = ""
    guard: Annotated[float, Field(ge=0, le=1)] = 0.2
    user: str = ""
    password: str = Field(default="", repr=False)
    password_file: str = ""

    @model_validator(mode="wrap")
    @classmethod
    def _choose_kind(cls, value: Any, handler: Callable[[Any], Any]) -> Any:
        """Validates a table by the model of its kind."""
        kind = value.get("kind") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind not in KINDS:
            raise ValueError(f"this version has no sources of kind '{kind}'; it has {', '.join(KINDS)}")
        return KINDS[kind].model_validate(value) if cls is PullSourceSettings and isinstance(kind, str) else handler(value)


class DatabaseSourceSettings(PullSourceSettings):
    """A database whose rows are documents."""

    dsn: str = Field(repr=False)
    crawl_query: str
    # a list, as JSON has it: after a validator of the whole table a strict tuple would refuse it
    keys: Annotated[tuple[str, ...], Field(strict=False)] = ()
    incremental_query: str = ""
    acl_query: str = ""
    serve_query: str = ""
    url_column: str = ""
    base_url: str = ""
    blob_column: str = ""
    mime_column: str = ""
    stylesheet: str = ""


class UserTokenSettings(Section):
    """The service that lists the ACL tokens of a user at search time, and the proof of the user that it gets. Units: seconds."""

    url: str
    # a list, as JSON has it: after a validator of the whole table a strict tuple would refuse it
    cookies: Annotated[tuple[CookieName, ...], Field(strict=False)] = ()
    forward_password: bool = False
    user_header: OptionalHeaderName = ""
    namespace: Namespace = DEFAULT_NAMESPACE
    timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 2.0
    cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 300.0
    ca_file: str = ""


class SeedlistSourceSettings(PullSourceSettings):
    """A seedlist whose entries are documents. Units: seconds after which the server signs in to a login form again."""

    url: str
    login_url: str = ""
    login_pattern: Literal[""] | RulePattern = ""
    form_action: str = ""
    user_field: str = ""
    password_field: str = ""
    session_seconds: Annotated[int, Field(ge=1, le=31_536_000)] = 1_800
    user_tokens: UserTokenSettings | None = None


class AdaptorSourceSettings(PullSourceSettings):
    """A command line adaptor, whose commands list documents and retrieve them.

    Shape: ``adaptor`` has the keys of Java properties, with dots or as tables.
    """

    config: str = ""
    adaptor: dict[str, Any] = Field(default_factory=dict)
    base_url: str = ""
    directory: str = ""

    @property
    def folder(self) -> str:
        """The working folder of the commands: by default that of the file of properties."""
        return self.directory or (str(Path(self.config).parent) if self.config else ".")

    @property
    def url_base(self) -> str:
        """The beginning of the URLs of all documents."""
        return self.base_url or f"adaptor://{self.name}/"

    @property
    def table(self) -> str:
        """The key under which the configuration of the adaptor stands."""
        return "config" if self.config and not self.adaptor else "adaptor"

    def read_config(self) -> AdaptorConfig:
        """Returns the adaptor. Errors: BadRequest."""
        return read_adaptor_config(self.config, self.adaptor)


KINDS: Final[dict[str, type[PullSourceSettings]]] = {
    "adaptor": AdaptorSourceSettings,
    "database": DatabaseSourceSettings,
    "seedlist": SeedlistSourceSettings,
}
"""The kinds of pull sources that this version has."""


def list_token_servers(sources: Sequence[PullSourceSettings]) -> list[TokenServer]:
    """Lists the services that list the ACL tokens of users. Sources with the same service share one, so that it gets one request only."""
    found: dict[TokenServer, list[str]] = {}
    for source in sources:
        if isinstance(source, SeedlistSourceSettings) and (given := source.user_tokens) is not None:
            server = TokenServer(
                sources=(),
                url=given.url,
                cookies=given.cookies,
                forwards_password=given.forward_password,
                user_header=given.user_header,
                namespace=given.namespace,
                seconds=given.timeout_seconds,
                cache_seconds=given.cache_seconds,
                trust=Trust(ca=given.ca_file),
            )
            found.setdefault(server, []).append(source.name)
    return [replace(server, sources=tuple(names)) for server, names in found.items()]


def check_sources(sources: tuple[PullSourceSettings, ...]) -> Iterator[Fault]:
    """Yields faults of pull sources that involve more than one key."""
    for place, source in enumerate(sources):
        for key, reason in _check_source(source):
            yield ("sources", place, key), reason


def _check_source(source: PullSourceSettings) -> Iterator[tuple[str, str]]:
    yield from _check_password(source)
    if isinstance(source, DatabaseSourceSettings):
        yield from _check_database(source)
    if isinstance(source, SeedlistSourceSettings):
        yield from _check_seedlist(source)
    if isinstance(source, AdaptorSourceSettings):
        yield from _check_adaptor(source)


def _check_adaptor(source: AdaptorSourceSettings) -> Iterator[tuple[str, str]]:
    faults: list[tuple[str, str]] = []
    read_adaptor_config(source.config, source.adaptor, faults)
    for key, reason in faults:
        yield source.table, f"{key}: {reason}" if key else reason
    if source.user or source.password or source.password_file:
        yield "user", "commands sign in by themselves; leave user and password out"
    if source.base_url and not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+/(?:[^?#\s]*/)?", source.base_url):
        yield "base_url", "it must be the beginning of URLs, and end with /, such as http://adaptor.example.com:5678/doc/"
    if not isdir(source.folder):
        yield "directory", f"there is no folder '{source.folder}'"


def _check_seedlist(source: SeedlistSourceSettings) -> Iterator[tuple[str, str]]:
    try:
        parse_target(source.url)
    except BadRequest as exc:
        yield "url", str(exc)
    if (source.password or source.password_file) and not source.user:
        yield "user", "the password has no user; give user too"
    yield from _check_login(source)
    if source.user_tokens is not None:
        yield from (("user_tokens", f"{key}: {reason}") for key, reason in _check_user_tokens(source.user_tokens))


def _check_login(source: SeedlistSourceSettings) -> Iterator[tuple[str, str]]:
    if not source.login_url:
        given = [key for key in ("login_pattern", "form_action", "user_field", "password_field") if getattr(source, key)]
        yield from ((key, "this is part of a login form; give login_url too") for key in given)
        return
    if not source.user:
        yield "user", "the login form needs a user"
    for key in ("login_url", "form_action"):
        try:
            if address := getattr(source, key):
                parse_target(address)
        except BadRequest as exc:
            yield key, str(exc)


def _check_user_tokens(tokens: UserTokenSettings) -> Iterator[tuple[str, str]]:
    try:
        parse_target(tokens.url)
    except BadRequest as exc:
        yield "url", str(exc)
    if not tokens.cookies and not tokens.forward_password and not tokens.user_header:
        yield "cookies", "say how users are known there: by cookies, forward_password or user_header"
    if tokens.user_header.lower() in _REQUEST_HEADERS:
        yield "user_header", f"'{tokens.user_header}' has another meaning in a request; take a name such as X-Forwarded-User"
    if tokens.ca_file and not isfile(tokens.ca_file):
        yield "ca_file", f"there is no file '{tokens.ca_file}'"


def _check_database(source: DatabaseSourceSettings) -> Iterator[tuple[str, str]]:
    yield from _check_address(source)
    if not source.crawl_query.strip():
        yield "crawl_query", "the query must not be empty"
    if not source.keys and not source.url_column:
        yield "keys", "name the columns that identify a row, or the column of its URL in url_column"
    if source.base_url and not source.url_column:
        yield "base_url", "this is the beginning of the URLs in url_column; give url_column too"
    if source.serve_query and source.url_column:
        yield "serve_query", "documents with a URL of their own are opened there; leave serve_query out"
    if source.mime_column and not source.blob_column:
        yield "mime_column", "this is the type of blob_column; give blob_column too"
    if source.stylesheet and (source.blob_column or source.url_column):
        yield "stylesheet", "rows are not shown as pages where blob_column or url_column is given; leave stylesheet out"
    elif source.stylesheet and not isfile(source.stylesheet):
        yield "stylesheet", f"there is no file '{source.stylesheet}'"
    yield from _check_parameters(source)


def _check_address(source: DatabaseSourceSettings) -> Iterator[tuple[str, str]]:
    # it loads SQLAlchemy, which commands need only where a database is named
    from feedmill.adapters.databases.drivers import check_dsn

    try:
        check_dsn(read_secret(source.dsn))
    except BadRequest as exc:
        yield "dsn", str(exc)


def _check_password(source: PullSourceSettings) -> Iterator[tuple[str, str]]:
    if source.password and source.password_file:
        yield "password_file", "give either password or password_file"
    try:
        read_secret(source.password, source.password_file)
    except BadRequest as exc:
        yield ("password_file" if source.password_file else "password"), str(exc)


def _check_parameters(source: DatabaseSourceSettings) -> Iterator[tuple[str, str]]:
    allowed = {"crawl_query": (), "incremental_query": ("since",), "acl_query": source.keys, "serve_query": source.keys}
    for key, names in allowed.items():
        folded = {name.casefold() for name in names}
        unknown = [name for name in _PARAMETER.findall(getattr(source, key)) if name.casefold() not in folded]
        if unknown:
            known = ", ".join(f":{name}" for name in names) or "none"
            yield key, f"':{unknown[0]}' is no parameter here (there are: {known}); write '\\:' for a colon"
