"""Settings of sign-in, and of how long the audit log, the history and received feeds are stored."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from feedmill.core.urls.networks import EVERYBODY, LOOPBACK, Networks
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.settings.section import Section, check_network, wrap_word

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def _check_header_name(text: str) -> str:
    if not _HEADER_NAME.fullmatch(text):
        raise ValueError(f"'{text}' is no header's name, such as X-Forwarded-User")
    return text


def _check_proxy_network(text: str) -> str:
    if text == EVERYBODY:
        raise ValueError("with 'all', any client could sign in as any user; name the addresses of your proxies")
    return check_network(text)


def _refuse_everybody(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Refuses networks that together cover every address, as the word ``all`` does."""
    if Networks.parse(texts).covers_everybody:
        raise ValueError(
            f"{', '.join(texts)} is every address, and any client could sign in as any user; name the addresses of your proxies"
        )
    return texts


def _check_namespace(text: str) -> str:
    if text != text.strip() or not text.isprintable():
        raise ValueError("a namespace has no blanks at its ends and no control characters")
    return text


HeaderName = Annotated[str, AfterValidator(_check_header_name)]
OptionalHeaderName = Annotated[str, AfterValidator(lambda text: _check_header_name(text) if text else text)]
ProxyList = Annotated[
    tuple[Annotated[str, AfterValidator(_check_proxy_network)], ...], BeforeValidator(wrap_word), AfterValidator(_refuse_everybody)
]
Namespace = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_namespace)]


class SignInProxy(Section):
    """The reverse proxies that may name the user of a request, and the headers with which they do."""

    trusted: ProxyList = ()
    user_header: HeaderName = "X-Forwarded-User"
    groups_header: HeaderName = "X-Forwarded-Groups"
    namespace: Namespace = DEFAULT_NAMESPACE
    secret_header: OptionalHeaderName = ""
    secret: Annotated[str, Field(repr=False)] = ""
    secret_file: str = ""


class ClientAddress(Section):
    """The reverse proxies that may name the client's address of a request; it is used only for counting and the log."""

    trusted: ProxyList = ()
    header: HeaderName = "X-Forwarded-For"


def _check_filter(text: str) -> str:
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
    if depth or not text.startswith("(") or not text.endswith(")"):
        raise ValueError(f"'{text}' is no LDAP filter, such as (uid={{name}})")
    return text


def _check_user_filter(text: str) -> str:
    if "{name}" not in text and "{login}" not in text:
        raise ValueError("the filter finds a user by {name} or {login}, which must stand in it")
    return _check_filter(text)


def _check_ldap_url(text: str) -> str:
    if not re.fullmatch(r"ldaps?://[^\s/@?#]+/?", text):
        raise ValueError(f"'{text}' is no address of a directory, such as ldaps://directory.example.com")
    return text


ProviderName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$")]
Password = Annotated[str, Field(repr=False)]
Filter = Annotated[str, AfterValidator(_check_filter)]


class Provider(Section):
    """The settings that all external providers have. Shape: ``administrators`` and so on are names of groups."""

    name: ProviderName
    namespace: Namespace = DEFAULT_NAMESPACE
    domain: str = ""
    administrators: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ()


class LdapProvider(Provider):
    """A directory that checks users' passwords. Units: seconds."""

    urls: Annotated[tuple[Annotated[str, AfterValidator(_check_ldap_url)], ...], Field(min_length=1)]
    start_tls: bool = True
    ca_file: str = ""
    bind_dn: str = ""
    password: Password = ""
    password_file: str = ""
    user_base: Annotated[str, Field(min_length=1)]
    user_filter: Annotated[str, AfterValidator(_check_user_filter)] = "(uid={name})"
    name_attribute: Annotated[str, Field(min_length=1)] = "uid"
    group_base: str = ""
    group_filter: Filter = "(|(member={dn})(uniqueMember={dn})(memberUid={name}))"
    group_attribute: Annotated[str, Field(min_length=1)] = "cn"
    nested_groups: bool = True
    timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 5.0


def _check_https(text: str) -> str:
    parts = urlsplit(text)
    is_here = parts.hostname == "localhost" or LOOPBACK.covers(parts.hostname)
    if not parts.hostname or parts.query or parts.fragment or not (parts.scheme == "https" or (parts.scheme == "http" and is_here)):
        raise ValueError(f"'{text}' is no https address without query")
    return text


def _check_public_url(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or parts.query or parts.fragment):
        raise ValueError(f"'{text}' is no address of a server, such as https://search.example.com")
    return text


class OidcSettings(Provider):
    """A provider of OpenID Connect. Units: seconds."""

    label: str = ""
    issuer: Annotated[str, AfterValidator(_check_https)]
    client_id: Annotated[str, Field(min_length=1)]
    client_secret: Password = ""
    client_secret_file: str = ""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    user_claim: Annotated[str, Field(min_length=1)] = "preferred_username"
    groups_claim: Annotated[str, Field(min_length=1)] = "groups"
    single_logout: bool = True
    ca_file: str = ""
    timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 5.0


class SamlSettings(Provider):
    """An identity provider of SAML 2.0; ``user_attribute`` "" is the subject's NameID."""

    label: str = ""
    metadata_file: Annotated[str, Field(min_length=1)]
    entity_id: str = ""
    user_attribute: str = ""
    groups_attribute: Annotated[str, Field(min_length=1)] = "groups"
    single_logout: bool = True
    certificate: str = ""
    key: str = ""


class SignIn(Section):
    """How users sign in. Units: minutes."""

    basic: bool = True
    session_minutes: Annotated[int, Field(ge=1, le=43_200)] = 720
    idle_minutes: Annotated[int, Field(ge=1, le=43_200)] = 60
    secure_cookies: bool = False
    public_url: Annotated[str, AfterValidator(_check_public_url)] = ""
    max_failures: Annotated[int, Field(ge=1, le=1_000)] = 10
    failure_minutes: Annotated[int, Field(ge=1, le=1_440)] = 5
    proxy: SignInProxy = SignInProxy()
    client_address: ClientAddress = ClientAddress()
    ldap: tuple[LdapProvider, ...] = ()
    oidc: tuple[OidcSettings, ...] = ()
    saml: tuple[SamlSettings, ...] = ()


class Audit(Section):
    """How long the audit log is stored. Units: days, 0 = for ever."""

    days: Annotated[int, Field(ge=0, le=36_500)] = 365


class Archive(Section):
    """How long feeds are stored as they were received. Units: days; 0 for the newest feeds of each source alone."""

    days: Annotated[int, Field(ge=0, le=3_650)] = 0


class History(Section):
    """How long the store retains history: ACLs, groups, events of documents. Units: days."""

    days: Annotated[int, Field(ge=1, le=3_650)] = 90
