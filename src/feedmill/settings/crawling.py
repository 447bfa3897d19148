"""The settings of the crawler: host load, schedule, identity, credentials, shares, dates, and their checks.

Keys of ``[[crawl.access]]`` that belong to another method than the table's own are faults, so a secret never waits unused in a file.
"""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from os.path import isdir, isfile
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, Field

from feedmill.core.urls.hostnames import normalize_entry
from feedmill.core.urls.targets import parse_target
from feedmill.model.errors import BadRequest
from feedmill.settings.keypaths import Fault
from feedmill.settings.secrets import read_secret
from feedmill.settings.section import PatternList, RulePattern, SecretPattern, Section

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_USER_AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_HOST_AND_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+)(?::[0-9]{1,5})?")
_SHARE_PREFIX = re.compile(r"file://[^/\s?#]*/(?:[^\s?#]*/)?")
_SMB_PREFIX = re.compile(r"smb://(?P<host>[^/\s:?#@]+)(?::(?P<port>[0-9]{1,5}))?/(?P<share>[^/\s?#\\:*\"<>|]{1,80})/")
_OWN_HEADERS = frozenset(
    "accept-encoding connection content-length cookie host if-modified-since if-none-match proxy-authorization transfer-encoding".split()
)

AccessMethod = Literal["auto", "basic", "digest", "ntlm", "negotiate", "form", "certificate", "bearer"]

_BY_METHOD: dict[str, frozenset[str]] = {
    "auto": frozenset({"user", "password", "password_file", "domain"}),
    "basic": frozenset({"user", "password", "password_file"}),
    "digest": frozenset({"user", "password", "password_file"}),
    "ntlm": frozenset({"user", "password", "password_file", "domain"}),
    "negotiate": frozenset({"user", "password", "password_file", "domain", "keytab"}),
    "form": frozenset(
        {
            "user",
            "password",
            "password_file",
            "login_url",
            "login_pattern",
            "form_action",
            "user_field",
            "password_field",
            "fields",
            "session_seconds",
        }
    ),
    "certificate": frozenset({"certificate", "key"}),
    "bearer": frozenset({"token", "token_file", "token_url", "client_id", "client_secret", "client_secret_file", "token_scope"}),
}
_SHARED_KEYS = frozenset({"pattern", "method", "make_public"})


def _check_user_agent(text: str) -> str:
    if not _USER_AGENT_NAME.fullmatch(text):
        raise ValueError(f"'{text}' is no name of a user agent; it has letters, digits, '.', '_' and '-', such as gsa-crawler")
    if text.lower() == "secmgr":
        raise ValueError("adaptors refuse the user agent SecMgr; give another name")
    return text


def _check_comment(text: str) -> str:
    if not text.isascii() or not text.isprintable() or any(character in "();\\" for character in text):
        raise ValueError("this becomes part of the header User-Agent; give printable ASCII without brackets, ';' and '\\'")
    return text


def _check_header_name(text: str) -> str:
    if not _TOKEN.fullmatch(text):
        raise ValueError(f"'{text}' is no header's name, such as Accept-Language")
    if text.lower() in _OWN_HEADERS:
        raise ValueError(f"the crawler itself sets the header {text}; leave it out")
    return text


def _check_host_pattern(text: str) -> str:
    found = _HOST_AND_PORT.fullmatch(text)
    if text != "*" and found is None:
        raise ValueError(f"'{text}' is no host; give a name such as www.example.com, also with a port, or *")
    return text.lower()


def _check_host(text: str) -> str:
    found = _HOST_AND_PORT.fullmatch(text)
    try:
        if found is None:
            raise BadRequest(f"'{text}' is no host; give a name such as www.example.com, also with a port")
        if not found["host"].startswith("["):
            normalize_entry(found["host"])
    except BadRequest as exc:
        raise ValueError(str(exc)) from exc
    return text.lower()


def _check_share_prefix(text: str) -> str:
    if not _SHARE_PREFIX.fullmatch(text):
        raise ValueError(
            f"'{text}' is no beginning of the URLs of a share; give one such as file://fileserver/documents/, with its last slash"
        )
    return text


def _check_smb_prefix(text: str) -> str:
    found = _SMB_PREFIX.fullmatch(text)
    if found is None or not 0 < int(found["port"] or 445) < 65_536:
        raise ValueError(
            f"'{text}' is no beginning of the URLs of a share; give one such as smb://fileserver/documents/, with its last slash"
        )
    return text


HeaderName = Annotated[str, AfterValidator(_check_header_name)]
Hour = Annotated[int, Field(ge=0, le=24)]


class FormField(Section):
    """A further field of a login form, such as a domain that the user chooses there."""

    name: Annotated[str, Field(min_length=1)]
    value: str = ""


class CrawlAccess(Section):
    """Credentials for the URLs of a pattern; documents read with them are not public unless ``make_public`` is set.

    ``method`` ``auto`` answers what the server asks for: the strongest of Negotiate, NTLM, Digest and Basic. Without a user it sends
    nothing, and the table says only whether documents may be public. Units: seconds after which the crawler signs in to a login form again.
    """

    pattern: SecretPattern
    method: AccessMethod = "auto"
    user: str = ""
    password: str = Field(default="", repr=False)
    password_file: str = ""
    domain: str = ""
    keytab: str = ""
    make_public: bool = False
    login_url: str = ""
    login_pattern: str = ""
    form_action: str = ""
    user_field: str = ""
    password_field: str = ""
    fields: tuple[FormField, ...] = ()
    session_seconds: Annotated[int, Field(ge=1, le=31_536_000)] = 300
    certificate: str = ""
    key: str = ""
    token: str = Field(default="", repr=False)
    token_file: str = ""
    token_url: str = ""
    client_id: str = ""
    client_secret: str = Field(default="", repr=False)
    client_secret_file: str = ""
    token_scope: str = ""


class HostLoadException(Section):
    """Another host load for one host, or all (``*``), in some hours of the day, in the server's own time."""

    host: Annotated[str, AfterValidator(_check_host_pattern)]
    start_hour: Hour = 0
    end_hour: Hour = 24
    load: Annotated[float, Field(ge=0, le=1_000)]
    """0 = nothing is fetched in these hours, as on the appliance."""


class CrawlProxy(Section):
    """The proxy for the URLs of a pattern; an empty ``url`` is none."""

    pattern: RulePattern
    url: str = ""
    user: str = ""
    password: str = Field(default="", repr=False)
    password_file: str = ""


class CrawlHeader(Section):
    """A header that is sent with requests for the URLs of a pattern."""

    pattern: SecretPattern
    name: HeaderName
    value: str = Field(repr=False)


class ShareSettings(Section):
    """A mounted folder whose files are documents. They are closed to all users without an ACL, unless ``make_public`` is set."""

    prefix: Annotated[str, AfterValidator(_check_share_prefix)]
    folder: str
    make_public: bool = False


class SmbShareSettings(Section):
    """An SMB share whose files are documents, with the account that reads it.

    Only users that its own ACL permits and, with ``share_acl``, that of the share, may see a document, unless ``make_public`` is set.
    ``everyone`` is the group that stands for all who sign in.
    """

    prefix: Annotated[str, AfterValidator(_check_smb_prefix)]
    user: Annotated[str, Field(min_length=1)]
    password: str = Field(default="", repr=False)
    password_file: str = ""
    domain: str = ""
    make_public: bool = False
    share_acl: bool = True
    everyone: Annotated[str, Field(min_length=1)] = "Everyone"
    namespace: Annotated[str, Field(min_length=1)] = "Default"

    @property
    def place(self) -> tuple[str, int, str]:
        """Host, port and name of the share."""
        found = _SMB_PREFIX.fullmatch(self.prefix)
        assert found is not None
        return found["host"], int(found["port"] or 445), unquote(found["share"])


class DateRule(Section):
    """Where the date of documents is found. ``name`` is that of the meta tag."""

    pattern: RulePattern
    locate: Literal["url", "meta", "title", "body", "last_modified"]
    name: str = ""


class DuplicateHosts(Section):
    """Hosts with the same content as another one: links to them are followed on the canonical host."""

    host: Annotated[str, AfterValidator(_check_host)]
    duplicates: tuple[Annotated[str, AfterValidator(_check_host)], ...]


class CrawlRender(Section):
    """The pages whose scripts are run in a browser, and the limits of one page.

    Units: seconds of a page; requests and bytes of its files; browsers at once. ``browser`` is a program, "" = the one that is installed.
    """

    patterns: PatternList = ()
    seconds: Annotated[float, Field(ge=2, le=300)] = 20.0
    max_requests: Annotated[int, Field(ge=0, le=10_000)] = 100
    max_bytes: Annotated[int, Field(ge=10_000, le=1_000_000_000)] = 20_000_000
    browser: str = ""
    processes: Annotated[int, Field(ge=1, le=64)] = 1


class Crawl(Section):
    """The crawler and its limits.

    Units: requests at once to a host, below 1 one request and then a pause of 1/``host_load`` seconds, 0 no bound; URLs, 0 = any number;
    links from a start URL or a fed one, 0 = any number; characters; seconds of a whole fetch.
    """

    enabled: bool = True
    host_load: Annotated[float, Field(ge=0, le=1_000)] = 4.0
    host_loads: tuple[HostLoadException, ...] = ()
    allow_private: PatternList = ()
    user_agent: Annotated[str, AfterValidator(_check_user_agent)] = "gsa-crawler"
    appliance_id: Annotated[str, AfterValidator(_check_comment)] = "Feedmill"
    mail: Annotated[str, AfterValidator(_check_comment)] = ""
    follow_links: bool = True
    max_urls: Annotated[int, Field(ge=0)] = 0
    max_depth: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    max_url_characters: Annotated[int, Field(ge=100, le=8_000)] = 2_048
    merge_duplicates: bool = True
    max_redirects: Annotated[int, Field(ge=0, le=50)] = 10
    fetch_seconds: Annotated[float, Field(ge=1, le=3_600)] = 180.0
    frequently: PatternList = ()
    seldom: PatternList = ()
    force: PatternList = ()
    session_parameters: tuple[Annotated[str, Field(min_length=1)], ...] = ("jsessionid", "phpsessid", "aspsessionid", "cfid", "cftoken")
    cookies: PatternList = ()
    ca_file: str = ""
    access: tuple[CrawlAccess, ...] = ()
    proxies: tuple[CrawlProxy, ...] = ()
    headers: tuple[CrawlHeader, ...] = ()
    shares: tuple[ShareSettings, ...] = ()
    smb_shares: tuple[SmbShareSettings, ...] = ()
    dates: tuple[DateRule, ...] = ()
    render: CrawlRender = CrawlRender()
    duplicate_hosts: tuple[DuplicateHosts, ...] = ()

    @property
    def user_agent_header(self) -> str:
        """The header ``User-Agent`` of every request, as the appliance wrote it."""
        return f"{self.user_agent} ({'; '.join(part for part in ('Enterprise', self.appliance_id, self.mail) if part)})"


def check_crawl(crawl: Crawl) -> Iterator[Fault]:
    """Yields faults of the crawler's settings that involve more than one key, or a file."""
    if crawl.ca_file and not isfile(crawl.ca_file):
        yield ("crawl", "ca_file"), f"there is no file '{crawl.ca_file}'"
    for place, rule in enumerate(crawl.access):
        for key, reason in _check_access(rule):
            yield ("crawl", "access", place, key), reason
    for place, proxy in enumerate(crawl.proxies):
        for key, reason in _check_proxy(proxy):
            yield ("crawl", "proxies", place, key), reason
    for place, load in enumerate(crawl.host_loads):
        if load.start_hour == load.end_hour:
            yield ("crawl", "host_loads", place, "end_hour"), "the exception has no hour; it ends where it begins"
    for place, header in enumerate(crawl.headers):
        for reason in _check_header_value(header.value):
            yield ("crawl", "headers", place, "value"), reason
    for place, share in enumerate(crawl.shares):
        if not isdir(share.folder):
            yield ("crawl", "shares", place, "folder"), f"there is no folder '{share.folder}'; an empty folder is none that is not mounted"
    for place, smb_share in enumerate(crawl.smb_shares):
        for key, reason in _check_smb_share(smb_share):
            yield ("crawl", "smb_shares", place, key), reason
    for place, date in enumerate(crawl.dates):
        if (date.locate == "meta") is not bool(date.name.strip()):
            what = "name the meta tag" if date.locate == "meta" else 'this is the meta tag\'s name; leave it out, or set locate to "meta"'
            yield ("crawl", "dates", place, "name"), what
    yield from _check_duplicates(crawl.duplicate_hosts)


def _check_smb_share(share: SmbShareSettings) -> Iterator[tuple[str, str]]:
    if find_spec("smbprotocol") is None:
        yield "prefix", "the library for smb:// is not installed; install it with: pip install 'feedmill[smb]'"
    yield from _check_secret(share, "password", "password_file")


def _check_access(rule: CrawlAccess) -> Iterator[tuple[str, str]]:
    used = _SHARED_KEYS | _BY_METHOD[rule.method]
    defaults = {name: field.default for name, field in CrawlAccess.model_fields.items()}
    for name in sorted(set(defaults) - used):
        if getattr(rule, name) != defaults[name]:
            yield name, f"the method {rule.method} has no use for this key; leave it out or set another method"
    if rule.user:
        yield from _check_secret(rule, "password", "password_file")
    elif rule.method in ("basic", "digest", "ntlm", "negotiate", "form"):
        yield "user", "this method needs a user"
    if rule.keytab:
        yield from _check_keytab(rule)
    if rule.method == "form":
        yield from _check_form(rule)
    if rule.method == "certificate":
        yield from _check_certificate_files(rule)
    if rule.method == "bearer":
        yield from _check_bearer(rule)


def _check_secret(rule: CrawlAccess | CrawlProxy | SmbShareSettings, key: str, file_key: str) -> Iterator[tuple[str, str]]:
    text, file = getattr(rule, key), getattr(rule, file_key)
    if text and file:
        yield file_key, f"give either {key} or {file_key}"
    try:
        read_secret(text, file)
    except BadRequest as exc:
        yield (file_key if file else key), str(exc)


def _check_keytab(rule: CrawlAccess) -> Iterator[tuple[str, str]]:
    if rule.password or rule.password_file:
        yield "keytab", "give either a keytab or a password"
    if not isfile(rule.keytab):
        yield "keytab", f"there is no file '{rule.keytab}'"


def _check_form(rule: CrawlAccess) -> Iterator[tuple[str, str]]:
    if not rule.login_url:
        yield "login_url", "give the address of the page with the login form"
    for key in ("login_url", "form_action"):
        yield from _check_address(key, getattr(rule, key))


def _check_address(key: str, url: str) -> Iterator[tuple[str, str]]:
    try:
        if url:
            parse_target(url)
    except BadRequest as exc:
        yield key, str(exc)


def _check_certificate_files(rule: CrawlAccess) -> Iterator[tuple[str, str]]:
    if not rule.certificate:
        yield "certificate", "this method needs a certificate"
    for key in ("certificate", "key"):
        path = getattr(rule, key)
        if path and not isfile(path):
            yield key, f"there is no file '{path}'"


def _check_bearer(rule: CrawlAccess) -> Iterator[tuple[str, str]]:
    has_token, has_address = bool(rule.token or rule.token_file), bool(rule.token_url)
    if has_token is has_address:
        yield "token", "give either a token, or token_url with client_id and client_secret"
    if has_address and not (rule.client_id and (rule.client_secret or rule.client_secret_file)):
        yield "client_id", "token_url needs client_id and client_secret"
    yield from _check_address("token_url", rule.token_url)
    yield from _check_secret(rule, "token", "token_file")
    yield from _check_secret(rule, "client_secret", "client_secret_file")


def _check_proxy(proxy: CrawlProxy) -> Iterator[tuple[str, str]]:
    yield from _check_address("url", proxy.url)
    yield from _check_secret(proxy, "password", "password_file")
    if (proxy.password or proxy.password_file) and not proxy.user:
        yield "user", "the password has no user; give user too"
    if proxy.user and not proxy.url:
        yield "url", "the user has no proxy; give url too"


def _check_header_value(text: str) -> Iterator[str]:
    try:
        value = read_secret(text)
    except BadRequest as exc:
        yield str(exc)
        return
    if not value.isascii() or not value.isprintable():
        yield "a header holds printable ASCII only"


def _check_duplicates(listed: tuple[DuplicateHosts, ...]) -> Iterator[Fault]:
    canonical = {entry.host for entry in listed}
    seen: set[str] = set()
    for place, entry in enumerate(listed):
        for duplicate in entry.duplicates:
            if duplicate in canonical:
                yield ("crawl", "duplicate_hosts", place, "duplicates"), f"'{duplicate}' is a canonical host; it cannot be a duplicate too"
            elif duplicate in seen:
                yield ("crawl", "duplicate_hosts", place, "duplicates"), f"'{duplicate}' stands in two entries"
            seen.add(duplicate)
