"""Reads the addresses of servers, with the names and secrets in them."""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from feedmill_client.errors import BadAnswer, BadRequest

_NEXT: Final = re.compile(r'<([^<>]*)>\s*;\s*rel="?next"?(?=[\s;,]|$)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server is. ``prefix`` is the path before all paths of the server. ``shown`` is its URL without user and password."""

    host: str
    port: int
    is_tls: bool
    prefix: str
    shown: str
    authorization: str = field(repr=False)

    @property
    def authority(self) -> str:
        """The value of the header ``Host``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"


def read_address(url: str, *, token: str = "", user: str = "", password: str = "") -> Address:
    """Returns the address of a server by its URL, which may hold a user and a password or token: ``http://user:token@host:port``.

    ``token`` is sent as Bearer and wins over those; ``user`` and ``password`` stand for those in the URL. Errors: BadRequest.
    """
    shown = hide_secrets(url)
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = _to_ascii(parts.hostname or ""), parts.port
    except ValueError as exc:
        raise BadRequest(f"'{shown}' is no address of a server: {exc}") from exc
    if not host or parts.scheme not in ("http", "https"):
        raise BadRequest(f"'{shown}' is no address of a server; give http://HOST:PORT")
    is_tls = parts.scheme == "https"
    return Address(
        host=host,
        port=port or (443 if is_tls else 80),
        is_tls=is_tls,
        prefix=parts.path.rstrip("/"),
        shown=shown,
        authorization=_authorize(parts, token, user, password),
    )


def _to_ascii(host: str) -> str:
    """Returns a name as HTTP and DNS have it. Source: RFC 3490. Errors: UnicodeError."""
    return host if host.isascii() else host.encode("idna").decode("ascii")


def hide_secrets(url: str) -> str:
    """Returns a URL as messages show it, without user and password."""
    scheme, found, rest = url.rpartition("://")
    authority, slash, path = rest.partition("/")
    return scheme + found + authority.rpartition("@")[2] + slash + path


def quote_name(name: str) -> str:
    """Writes a name as one part of a path."""
    return quote(name, safe="", errors="replace")


def make_query(parameters: Mapping[str, str | list[str]] | None) -> str:
    """Returns parameters as they follow a path."""
    return "?" + urlencode(parameters, doseq=True, errors="replace") if parameters else ""


def find_next(link: str, address: Address) -> str:
    """Returns the query of the page that a header ``Link`` leads to, "" if there is none. Errors: BadAnswer for another server.

    A proxy may serve the port below a path that the server does not know, so the query alone counts. Source: RFC 8288, 3.
    """
    found = _NEXT.search(link)
    if found is None:
        return ""
    parts = urlsplit(found[1])
    if parts.netloc and parts.netloc != address.authority:
        raise BadAnswer(f"{address.shown} leads to another server: {hide_secrets(found[1])[:1000]!a}")
    return f"?{parts.query}"


def _authorize(parts: SplitResult, token: str, user: str, password: str) -> str:
    """Returns the Authorization header of requests, or "" for none."""
    if token:
        return f"Bearer {token}"
    if user:
        pair = f"{user}:{password}"
    elif parts.password is None:
        return ""
    else:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
    return "Basic " + b64encode(pair.encode()).decode("ascii")
