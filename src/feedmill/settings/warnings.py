"""Yields warnings about settings that are valid and allow more, or do less, than an operator may have intended.

Each check is one function that yields (path of the key, text). The text states the effect of the setting and what to do about it. A
warning stops nothing: the server starts, and ``feedmill config check`` exits 0. docs/reference/settings.md lists all of them.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from feedmill.adapters.crawling import kerberos
from feedmill.adapters.crawling.rendering.programs import find_browser
from feedmill.adapters.sandbox.probe import probe_namespaces
from feedmill.core.urls.hostnames import ANY
from feedmill.core.urls.networks import LOOPBACK, Networks
from feedmill.model.errors import BadRequest, UpstreamFailure
from feedmill.settings.keypaths import Fault, KeyPath
from feedmill.settings.pulling import AdaptorSourceSettings, DatabaseSourceSettings
from feedmill.settings.sections import Settings

_SECRETS: Final = frozenset({"password", "client_secret", "secret", "token"})
_SECRET_FILES: Final = frozenset({"password_file", "client_secret_file", "secret_file", "token_file", "key", "key_file", "keytab"})
_SEMANTIC_KEY: Final = ("semantic", "key")
"""A secret, while the ``key`` of other tables names a file."""
_READABLE_BY_OTHERS: Final = 0o004
_WIDEST: Final = {4: 8, 6: 32}
"""The shortest prefix of a network of proxies that causes no warning, by IP version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSources:
    """Settings with their sources.

    Shape: ``values`` as the file and the environment hold them; ``file`` is "" for none.
    """

    settings: Settings
    values: Mapping[str, Any] = field(default_factory=dict)
    from_environment: Collection[KeyPath] = ()
    file: str = ""


def list_warnings(given: SettingsSources) -> Iterator[Fault]:
    """Yields every warning about settings that have no fault."""
    for check in CHECKS:
        yield from check(given)


def is_public(bind: str) -> bool:
    """Returns whether other machines can reach a port with this bind."""
    return bind != "localhost" and not LOOPBACK.covers(bind)


def _warn_of_open_gate(given: SettingsSources) -> Iterator[Fault]:
    gate = given.settings.gate
    if is_public(gate.bind) and Networks.parse(gate.trusted).covers_everybody:
        text = "every address may push, read and delete all documents, and the port is open to other machines"
        yield ("gate", "trusted"), f"{text}; name the addresses of your feed clients, or set gate.bind to 127.0.0.1"


def _warn_of_missing_tokens(given: SettingsSources) -> Iterator[Fault]:
    if given.settings.gate.require_token or not given.settings.gate.trusted:
        return
    who = "local accounts are administrators of content: every account of this machine and of every trusted address"
    do = "set gate.require_token = true and make tokens with 'feedmill tokens add NAME --scope push'"
    yield ("gate", "require_token"), f"{who} may push, read and delete the documents of all data sources; to prevent it {do}"


def _warn_of_tokens_in_clear(given: SettingsSources) -> Iterator[Fault]:
    gate = given.settings.gate
    if gate.require_token and is_public(gate.bind) and not gate.certificate:
        text = "tokens come to this port without TLS, and the network between can read them"
        yield ("gate", "bind"), f"{text}; give gate.certificate and gate.key and have clients push to gate.tls_port, or bind to 127.0.0.1"


def _warn_of_any_pushing_origin(given: SettingsSources) -> Iterator[Fault]:
    if "*" in given.settings.gate.allow_origins:
        text = "any web page that a user of a trusted machine visits may push and delete documents"
        yield ("gate", "allow_origins"), f"{text}; name the sites whose forms push, such as https://tools.example.com"


def _warn_of_any_reading_origin(given: SettingsSources) -> Iterator[Fault]:
    if "*" in given.settings.search.allow_origins:
        text = (
            "any web page can read through the browser of a visitor what anonymous users of this port see, also from outside of the network"
        )
        yield ("search", "allow_origins"), f"{text}; name the sites that search here, such as https://www.example.com"


def _warn_of_any_host(given: SettingsSources) -> Iterator[Fault]:
    for section in ("gate", "dtd", "search", "admin"):
        if ANY in (entry.strip() for entry in getattr(given.settings, section).hosts):
            text = "a web page of any site can have its name resolve to this machine and read the answers of this port through a browser"
            yield (section, "hosts"), f"{text}; list the names that users and programs call this port by"


def _warn_of_wide_proxies(given: SettingsSources) -> Iterator[Fault]:
    signin = given.settings.signin
    for section, listed in (("proxy", signin.proxy.trusted), ("client_address", signin.client_address.trusted)):
        wide = [network for network in Networks.parse(listed).networks if network.prefixlen < _WIDEST[network.version]]
        for network in wide:
            effect = "may name itself any user" if section == "proxy" else "may write any address into the counts and the log"
            text = f"every machine of {network} {effect}; name the addresses of your proxies"
            yield ("signin", section, "trusted"), text


def _warn_of_local_proxies(given: SettingsSources) -> Iterator[Fault]:
    proxy = given.settings.signin.proxy
    trusted = Networks.parse(proxy.trusted)
    if not proxy.secret_header and (trusted.covers("127.0.0.1") or trusted.covers("::1")):
        text = "every account of this machine can name itself any user in these headers"
        yield ("signin", "proxy", "trusted"), f"{text}; set signin.proxy.secret_header and secret, and have the proxy send it"


def _warn_of_passwords_in_clear(given: SettingsSources) -> Iterator[Fault]:
    search, signin = given.settings.search, given.settings.signin
    if is_public(search.bind) and not search.certificate and urlsplit(signin.public_url).scheme != "https":
        text = "users send their passwords to this port without TLS, and the network between can read them"
        do = "give search.certificate and search.key, or put a TLS proxy in front and set signin.public_url to its https address"
        yield ("search", "bind"), f"{text}; {do}"


def _warn_of_directories_in_clear(given: SettingsSources) -> Iterator[Fault]:
    for place, provider in enumerate(given.settings.signin.ldap):
        plain = [url for url in provider.urls if url.startswith("ldap://") and not _is_here(url)]
        if plain and not provider.start_tls:
            text = f"passwords go to {plain[0]} without TLS; set start_tls = true, or give an ldaps:// address"
            yield ("signin", "ldap", place, "start_tls"), text


def _warn_of_forwarded_passwords(given: SettingsSources) -> Iterator[Fault]:
    for place, entry in enumerate(given.settings.authorization):
        plain = [url for url in (entry.endpoint, *entry.patterns) if url.startswith("http://") and not _is_here(url)]
        if plain and entry.forward_password:
            text = f"passwords go to {plain[0]} without TLS; give an https:// address, or set forward_password = false"
            yield ("authorization", place, "forward_password"), text


def _warn_of_secrets_in_clear(given: SettingsSources) -> Iterator[Fault]:
    for path in _find_secrets(given):
        yield path, 'the secret stands in the settings in clear; write "env:NAME" and give the server the variable NAME, or name a file'
    if _holds_password(given.settings.store.url) and ("store", "url") not in given.from_environment:
        yield ("store", "url"), "the password stands in the settings in clear; give the address by the variable FEEDMILL_STORE_URL"


def _warn_of_readable_settings(given: SettingsSources) -> Iterator[Fault]:
    secrets = list(_find_secrets(given))
    if _holds_password(given.settings.store.url) and ("store", "url") not in given.from_environment:
        secrets.append(("store", "url"))
    if given.file and secrets and _is_readable_by_others(given.file):
        yield secrets[0], f"every account of this machine can read the secret in '{given.file}'; take that right away: chmod o-rwx"


def _warn_of_readable_secrets(given: SettingsSources) -> Iterator[Fault]:
    for path, value in _walk(given.values, ()):
        if path[-1] in _SECRET_FILES and os.path.isabs(value) and _is_readable_by_others(value):
            yield path, f"every account of this machine can read the secret in '{value}'; take that right away: chmod o-rwx"


_PERMIT_NAMESPACES: Final = (
    "permit user namespaces: set kernel.unprivileged_userns_clone to 1 and user.max_user_namespaces above 0, and let AppArmor or the"
    " container permit them"
)


def _warn_of_missing_browser(given: SettingsSources) -> Iterator[Fault]:
    render = given.settings.crawl.render
    if render.patterns:
        try:
            find_browser(render.browser)
        except UpstreamFailure as exc:
            yield ("crawl", "render", "browser" if render.browser else "patterns"), f"pages of these patterns get state 25: {exc}"
        if missing := probe_namespaces():
            text = f"pages of these patterns get state 25: this machine permits no sandbox for a browser ({missing}); {_PERMIT_NAMESPACES}"
            yield ("crawl", "render", "patterns"), text


def _warn_of_missing_kerberos(given: SettingsSources) -> Iterator[Fault]:
    for place, rule in enumerate(given.settings.crawl.access):
        if rule.method == "negotiate" and not kerberos.IS_INSTALLED:
            text = "URLs of servers that take only Kerberos get state 22"
            yield ("crawl", "access", place, "method"), f"{text}: {kerberos.NOT_INSTALLED}"


def _warn_of_ignored_adaptor_keys(given: SettingsSources) -> Iterator[Fault]:
    for place, source in enumerate(given.settings.sources):
        if not isinstance(source, AdaptorSourceSettings):
            continue
        try:
            config = source.read_config()
        except BadRequest:
            # the file was changed since it was checked; the run of the source says so
            continue
        for key, reason in config.ignored:
            yield ("sources", place, source.table), f"{key} has no effect, as in the adaptor library: {reason}"


CHECKS: Final[tuple[Callable[[SettingsSources], Iterator[Fault]], ...]] = (
    _warn_of_open_gate,
    _warn_of_any_host,
    _warn_of_missing_tokens,
    _warn_of_tokens_in_clear,
    _warn_of_any_pushing_origin,
    _warn_of_any_reading_origin,
    _warn_of_wide_proxies,
    _warn_of_local_proxies,
    _warn_of_passwords_in_clear,
    _warn_of_directories_in_clear,
    _warn_of_forwarded_passwords,
    _warn_of_secrets_in_clear,
    _warn_of_readable_settings,
    _warn_of_readable_secrets,
    _warn_of_missing_browser,
    _warn_of_missing_kerberos,
    _warn_of_ignored_adaptor_keys,
)


def _find_secrets(given: SettingsSources) -> Iterator[KeyPath]:
    """Finds the secrets that the file itself contains."""
    for path, value in _walk(given.values, ()):
        if (path[-1] in _SECRETS or path == _SEMANTIC_KEY) and not value.startswith("env:") and path not in given.from_environment:
            yield path
    for place, source in enumerate(given.settings.sources):
        if isinstance(source, DatabaseSourceSettings) and _holds_password(source.dsn):
            yield "sources", place, "dsn"


def _walk(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Yields every text that is not empty, with its path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _walk(inner, (*path, place))
    elif isinstance(value, str) and value:
        yield path, value


def _holds_password(url: str) -> bool:
    try:
        return bool(urlsplit(url).password)
    except ValueError:
        return False


def _is_here(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == "localhost" or LOOPBACK.covers(host)


def _is_readable_by_others(file: str) -> bool:
    try:
        return bool(os.stat(file).st_mode & _READABLE_BY_OTHERS)
    except OSError:
        return False
