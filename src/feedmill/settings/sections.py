"""All settings (``Settings``), and the models of most sections; larger ones have modules of their own, such as ``crawling``.

Operators rely on the names and defaults, which docs/reference/settings.md lists.

Every model is frozen, refuses unknown keys, and accepts no value of another type than its own (a port in quotes is a fault). ``checks``
has the checks that need more than one key, or the disk.
"""

import os
import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, SerializeAsAny

from feedmill.core.urls.hostnames import normalize_entry
from feedmill.core.urls.patterns import is_remark
from feedmill.model.errors import BadRequest
from feedmill.runtime.connectionboard import MAX_PROCESSES
from feedmill.settings.authorization import AuthorizationSettings, LateBindingSettings, MechanismSettings
from feedmill.settings.crawling import Crawl
from feedmill.settings.dataload import DataloadSettings
from feedmill.settings.policyacls import PolicyAclSettings
from feedmill.settings.pulling import PullSourceSettings
from feedmill.settings.section import NetworkList, PatternList, Section, SourceName
from feedmill.settings.semantic import SemanticSettings
from feedmill.settings.servingsections import BiasSettings, CollectionSettings, FrontEndSettings, QuerySettings, SynonymSettings
from feedmill.settings.signin import Archive, Audit, History, SignIn

_IMAGE_SOURCE = re.compile(r"https?://(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/]*/?\S*\Z")
_STORE_URL = re.compile(r"postgresql(\+psycopg)?://.")


def _check_bind(text: str) -> str:
    if text == "localhost":
        return text
    try:
        ip_address(text)
    except ValueError as exc:
        raise ValueError(f"'{text}' is no address of this machine; give one such as 127.0.0.1, ::1 or 0.0.0.0") from exc
    return text


def _check_host(text: str) -> str:
    try:
        normalize_entry(text)
    except BadRequest as exc:
        raise ValueError(str(exc)) from exc
    return text


def _check_header(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("a header holds printable ASCII only")
    return text


def _check_origin(text: str) -> str:
    if text != "*" and _ORIGIN.fullmatch(text) is None:
        raise ValueError(f"'{text}' is no origin; give scheme and host alone, such as https://tools.example.com, or *")
    return text


def _check_image_source(text: str) -> str:
    if not _IMAGE_SOURCE.fullmatch(text):
        raise ValueError(f"'{text}' is no origin of images; give scheme and host alone, such as https://images.example.com")
    return text


def _check_store(text: str) -> str:
    if text not in ("", "sqlite:") and not _STORE_URL.match(text):
        raise ValueError("must be empty or begin with postgresql://, or be sqlite:")
    return "" if text == "sqlite:" else text


def _check_start(text: str) -> str:
    if not is_remark(text) and not _ABSOLUTE.match(text):
        raise ValueError(f"'{text}' is no URL; give one with its protocol, such as https://www.example.com/")
    return text


def _check_index(text: str) -> str:
    if text not in ("", "tantivy:"):
        raise ValueError("must be empty or tantivy:")
    return text


def _check_blobs(text: str) -> str:
    if text not in ("", "file:"):
        raise ValueError("must be empty or file:")
    return text


Port = Annotated[int, Field(ge=0, le=65535)]
Bind = Annotated[str, AfterValidator(_check_bind)]
Hosts = tuple[Annotated[str, AfterValidator(_check_host)], ...]
Origins = tuple[Annotated[str, AfterValidator(_check_origin)], ...]


class Gate(Section):
    """The feed port. Units: bytes; with port 0 the system chooses a free one."""

    port: Port = 19900
    tls_port: Port = 19902
    bind: Bind = "127.0.0.1"
    hosts: Hosts = ()
    trusted: NetworkList = ("127.0.0.0/8", "::1")
    require_token: bool = False
    require_fqdn: bool = False
    certificate: str = ""
    key: str = ""
    max_feed_bytes: Annotated[int, Field(ge=1)] = 1_073_741_824
    max_inflation: Annotated[int, Field(ge=1)] = 100
    server_header: Annotated[str, AfterValidator(_check_header)] = "feedergate_1.0"
    allow_origins: Origins = ()


class Search(Section):
    """The search port; with a certificate it speaks TLS.

    Units: processes, 0 = one for each processor; days for which clicks are stored, 0 stores none; seconds that a search may take; searches
    of one client at once.
    """

    port: Port = 8080
    bind: Bind = "127.0.0.1"
    hosts: Hosts = ()
    certificate: str = ""
    key: str = ""
    processes: Annotated[int, Field(ge=0, le=MAX_PROCESSES)] = 0
    allow_origins: Origins = ()
    image_sources: tuple[Annotated[str, AfterValidator(_check_image_source)], ...] = ()
    click_days: Annotated[int, Field(ge=0, le=3_650)] = 90
    deadline_seconds: Annotated[float, Field(ge=0.1, le=300)] = 5.0
    searches_per_client: Annotated[int, Field(ge=1, le=1_000)] = 8

    def count_processes(self) -> int:
        """Returns how many processes serve the port."""
        return self.processes or min(len(os.sched_getaffinity(0)), MAX_PROCESSES)


class Admin(Section):
    """The admin port. It answers only clients on this machine, whatever its bind."""

    port: Port = 8000
    bind: Bind = "127.0.0.1"
    hosts: Hosts = ()
    certificate: str = ""
    key: str = ""


class Dtd(Section):
    """The port that serves the feed DTD to validators."""

    port: Port = 7800
    bind: Bind = "127.0.0.1"
    hosts: Hosts = ()


class DataSourceSettings(Section):
    """The settings of one data source."""

    name: SourceName
    secure: bool = False


class Urls(Section):
    """The URLs that may be documents."""

    follow: PatternList = ("/",)
    do_not_follow: PatternList = ()
    start: tuple[Annotated[str, AfterValidator(_check_start)], ...] = ()


class Limits(Section):
    """How much is stored, when a queue counts as stuck, and how many clients may be connected.

    Units: documents, 0 = any number; bytes; seconds without movement; connections of one process, and of one address.
    """

    max_documents: Annotated[int, Field(ge=0)] = 0
    max_document_bytes: Annotated[int, Field(ge=1)] = 31_457_280
    stuck_seconds: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    max_connections: Annotated[int, Field(ge=32, le=1_000_000)] = 4_000
    max_connections_per_address: Annotated[int, Field(ge=16, le=1_000_000)] = 500


class StoreSettings(Section):
    """The address of the store; "" is SQLite in the data folder."""

    url: Annotated[str, AfterValidator(_check_store), Field(repr=False)] = ""


class IndexSettings(Section):
    """The address of the index; "" is Tantivy in the data folder."""

    url: Annotated[str, AfterValidator(_check_index), Field(repr=False)] = ""


class BlobSettings(Section):
    """The address of the contents and texts of documents; "" is the data folder."""

    url: Annotated[str, AfterValidator(_check_blobs), Field(repr=False)] = ""


class ExtractionSettings(Section):
    """Limits of extraction. Units: processes (0 = by the number of processors), seconds a document, bytes of memory a process."""

    workers: Annotated[int, Field(ge=0, le=256)] = 0
    seconds: Annotated[float, Field(gt=0, le=3600)] = 30.0
    memory_bytes: Annotated[int, Field(ge=268_435_456)] = 1_500_000_000


Weight = Annotated[float, Field(ge=0, le=10)]


class RankingSettings(Section):
    """Weights in the order of results, as shares of a word's own score; 0 switches a part off. Units: days, results."""

    title: Weight = 0.3
    headings: Weight = 0.15
    anchors: Weight = 0.3
    navigation: Weight = 0.1
    compounds: Weight = 0.4
    exact: Weight = 0.2
    proximity: Weight = 0.2
    url: Weight = 0.1
    metadata: Weight = 0.1
    accents: Weight = 0.2
    characters: Weight = 0.5
    function_words: Annotated[float, Field(ge=0.01, le=1)] = 0.2
    static_rank: Annotated[float, Field(ge=0, le=1)] = 0.3
    links: Annotated[float, Field(ge=0, le=1)] = 0.1
    freshness: Weight = 0.0
    freshness_days: Annotated[float, Field(gt=0, le=36_500)] = 90.0
    depth: Annotated[int, Field(ge=1, le=1_000)] = 100


class Logs(Section):
    """The format of the log on standard error; ``auto`` is ``pretty`` on a terminal, else ``json``."""

    format: Literal["auto", "json", "pretty"] = "auto"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(Section):
    """All settings, complete with their defaults."""

    gate: Gate = Gate()
    search: Search = Search()
    admin: Admin = Admin()
    dtd: Dtd = Dtd()
    datasources: tuple[DataSourceSettings, ...] = ()
    urls: Urls = Urls()
    crawl: Crawl = Crawl()
    limits: Limits = Limits()
    store: StoreSettings = StoreSettings()
    index: IndexSettings = IndexSettings()
    blobs: BlobSettings = BlobSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    ranking: RankingSettings = RankingSettings()
    semantic: SemanticSettings = SemanticSettings()
    logs: Logs = Logs()
    signin: SignIn = SignIn()
    audit: Audit = Audit()
    history: History = History()
    archive: Archive = Archive()
    authorization: tuple[AuthorizationSettings, ...] = ()
    policy_acls: tuple[PolicyAclSettings, ...] = ()
    mechanisms: MechanismSettings = MechanismSettings()
    late_binding: LateBindingSettings = LateBindingSettings()
    query: QuerySettings = QuerySettings()
    collections: tuple[CollectionSettings, ...] = ()
    frontends: tuple[FrontEndSettings, ...] = ()
    synonyms: tuple[SynonymSettings, ...] = ()
    biases: tuple[BiasSettings, ...] = ()
    sources: tuple[SerializeAsAny[PullSourceSettings], ...] = ()
    dataload: DataloadSettings = DataloadSettings()


def list_keys(model: type[BaseModel] = Settings, path: Sequence[str] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Returns every key that an environment variable can set, with its type; keys of lists of tables are not among them."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for name, field in model.model_fields.items():
        here = (*path, name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            found += list_keys(field.annotation, here)
        elif not _holds_tables(field.annotation):
            found.append((here, field.annotation))
    return found


def _holds_tables(annotation: Any) -> bool:
    if isinstance(annotation, type):
        return issubclass(annotation, BaseModel)
    return any(_holds_tables(argument) for argument in getattr(annotation, "__args__", ()))
