"""What the settings say about fetching.

Every rule has a URL pattern. Of the rules of one kind, the first whose pattern matches a URL holds for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from feedmill.adapters.http.lookup import Lookup, look_up
from feedmill.model.authorization import Trust
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.ports.clock import Clock

DEFAULT_USER_AGENT: Final = "gsa-crawler"
MAX_REDIRECTS: Final = 10


class AccessScheme(Enum):
    """A scheme of HTTP authentication, by its name in ``WWW-Authenticate``."""

    NEGOTIATE = "negotiate"
    NTLM = "ntlm"
    DIGEST = "digest"
    BASIC = "basic"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormLogin:
    """A login by a form, as an administrator would do it in a browser.

    - ``login_url`` is the page with the form, or one that leads to it (single sign-on).
    - ``login_pattern`` matches the pages that ask to sign in; a redirect to one of them means that the session is over.
    - ``action`` is where the form is sent, "" where the page says. The password is sent only to the host of the page with the form.
    - ``user_field`` and ``password_field`` are names of fields, "" the first of their kind. ``fields`` are further values; all other fields
      are sent as the page fills them, such as a token against forged requests.
    - ``session_seconds``: how long a session is used at most.
    """

    login_url: str
    login_pattern: str = ""
    action: str = ""
    user_field: str = ""
    password_field: str = ""
    fields: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    session_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """OAuth client credentials, for which an authorization server grants bearer tokens. Source: RFC 6749, 4.4."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """The credentials of the crawler for the servers of a pattern.

    - ``schemes`` are those that may be used with ``user`` and ``password``, the strongest first; the first that a server offers is used.
    - ``keytab`` is a file with the keys of ``user`` in place of a password, for Kerberos.
    - ``trust`` has the client certificate, and the certificates that the server's must come from.
    - ``token`` is a fixed bearer token.
    """

    pattern: str
    user: str = ""
    password: str = field(default="", repr=False)
    domain: str = ""
    keytab: str = ""
    schemes: tuple[AccessScheme, ...] = tuple(AccessScheme)
    trust: Trust | None = None
    token: str = field(default="", repr=False)
    grant: TokenGrant | None = None
    form: FormLogin | None = None
    make_public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderRule:
    """Headers of requests to a pattern. All rules that match count."""

    pattern: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRule:
    """The proxy for a pattern; ``host`` "" means none. The proxy must keep requests out of private networks, see the manual."""

    pattern: str
    host: str = ""
    port: int = 3128
    user: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRule:
    """A folder of this machine whose files are the documents below a URL prefix such as ``file://files.example.com/public/``."""

    prefix: str
    folder: str
    is_public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SmbShareRule:
    """An SMB share whose files are the documents below a URL prefix such as ``smb://files.example.com/public/``.

    - ``reads_share_acl``: the ACL of the share itself counts besides that of each file; the server must show it to the account.
    - ``everyone`` is the group that stands for all who sign in, ``namespace`` that of all principals.
    """

    prefix: str
    host: str
    port: int = 445
    share: str
    user: str
    password: str = field(repr=False)
    is_public: bool = False
    reads_share_acl: bool = True
    everyone: str = "Everyone"
    namespace: str = DEFAULT_NAMESPACE


def _follow_all(_url: str) -> bool:
    return True


def _read_clock() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """How URLs are fetched.

    ``follows`` says whether a URL is among those to crawl: a redirect elsewhere is not followed. ``cookies`` are the patterns of URLs whose
    servers may set cookies.
    """

    user_agent: str = DEFAULT_USER_AGENT
    allow_private: tuple[str, ...] = ()
    follows: Callable[[str], bool] = _follow_all
    headers: tuple[HeaderRule, ...] = ()
    proxies: tuple[ProxyRule, ...] = ()
    access: tuple[AccessRule, ...] = ()
    cookies: tuple[str, ...] = ()
    shares: tuple[ShareRule, ...] = ()
    smb_shares: tuple[SmbShareRule, ...] = ()
    trust: Trust = field(default_factory=Trust)
    max_redirects: int = MAX_REDIRECTS
    lookup: Lookup = look_up
    clock: Clock = _read_clock
