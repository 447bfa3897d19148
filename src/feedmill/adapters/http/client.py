"""The client for whole URLs: follows redirects if it is allowed to, and unpacks compressed bodies.

- One deadline covers all redirects.
- The address of every redirect is checked like that of the first URL: each hop is a connection of its own.
- Only GET and HEAD are redirected, never from https to http. Another server gets none of the headers that name the user.
- A body counts as many bytes as it has unpacked, so a small response cannot grow beyond the limit.
Source: RFC 9110, 15.4 (redirects) and 8.4 (content codings).
"""

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin

from feedmill.adapters.http.codings import decode
from feedmill.adapters.http.connection import AsyncConnection
from feedmill.adapters.http.dialing import find_environment_proxy
from feedmill.adapters.http.errors import ExchangeFailure, FailureKind, TimedOut
from feedmill.adapters.http.lookup import Lookup, look_up
from feedmill.core.urls.targets import Target, parse_target
from feedmill.model.authorization import Trust
from feedmill.model.errors import BadRequest, UpstreamFailure
from feedmill.ports.http import HttpRequest, HttpResponse, ServerAddress

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SHARED: Final = frozenset({"accept", "accept-encoding", "accept-language", "user-agent"})
"""The headers that another server gets after a redirect."""


def _allow_none(_target: Target) -> bool:
    return False


def allow_all(_target: Target) -> bool:
    """Allows private addresses for all servers, for servers that the operator has chosen."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """How a client behaves."""

    trust: Trust = field(default_factory=Trust)
    #: Whether a server may be in a private network.
    allows_private: Callable[[Target], bool] = _allow_none
    #: Whether the proxies of the environment are used. Behind a proxy no address can be checked, so only with ``allows_private``.
    uses_environment_proxy: bool = False
    #: How many redirects are followed. With 0 a redirect is a response like any other.
    max_redirects: int = 0
    #: Replaces the context that ``trust`` describes.
    context: ssl.SSLContext | None = None
    lookup: Lookup = look_up


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedResponse:
    """A response, and the URL that it is of, after all redirects."""

    url: str
    response: HttpResponse


class AsyncHttpClient:
    """Fetches URLs, each over a connection of its own."""

    def __init__(self, options: ClientOptions | None = None) -> None:
        self._options = options or ClientOptions()

    async def fetch(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"", max_bytes: int, seconds: float
    ) -> FetchedResponse:
        """Returns the response for a URL. Errors: BadRequest for a URL that is none; UpstreamFailure."""
        deadline = time.monotonic() + seconds
        target, sent = parse_target(url), dict(headers or {})
        for _ in range(self._options.max_redirects + 1):
            response = await self._send(target, method, sent, body, max_bytes, deadline)
            follows = self._options.max_redirects > 0 and method in ("GET", "HEAD")
            following = find_redirect(target, response) if follows else None
            if following is None:
                return FetchedResponse(url=target.url, response=unpack(response, max_bytes))
            # Another server, or the same one without TLS, must not learn cookies, tokens or passwords.
            if following.authority != target.authority or following.is_tls != target.is_tls:
                sent = {name: value for name, value in sent.items() if name.lower() in _SHARED}
            target = following
        raise UpstreamFailure(f"it redirects more than {self._options.max_redirects} times")

    async def _send(
        self, target: Target, method: str, headers: Mapping[str, str], body: bytes, max_bytes: int, deadline: float
    ) -> HttpResponse:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimedOut("it does not answer in time")
        options = self._options
        server = ServerAddress(
            is_tls=target.is_tls, host=target.host, port=target.port, trust=options.trust, allows_private=options.allows_private(target)
        )
        proxy = find_environment_proxy(server) if options.uses_environment_proxy and server.allows_private else None
        connection = AsyncConnection(server, proxy=proxy, lookup=options.lookup, context=options.context)
        every = {"Host": target.authority, "Connection": "close", **headers}
        listed = tuple((name, value.encode("utf-8", "surrogatepass")) for name, value in every.items())
        try:
            return await connection.send(HttpRequest(method=method, path=target.path, headers=listed, body=body, max_bytes=max_bytes), left)
        finally:
            connection.close()


def find_redirect(target: Target, response: HttpResponse) -> Target | None:
    """Returns where a response of ``target`` redirects, None if it is no redirect. Errors: UpstreamFailure, also from https to http."""
    location = response.find_header("location")
    if response.status not in _REDIRECTS or not location:
        return None
    try:
        following = parse_target(urljoin(target.url, location))
    except (BadRequest, ValueError) as exc:
        raise UpstreamFailure("it redirects to what is no address") from exc
    if target.is_tls and not following.is_tls:
        raise UpstreamFailure("it redirects from https to http")
    return following


def unpack(response: HttpResponse, max_bytes: int) -> HttpResponse:
    """Returns a response with its body unpacked. Errors: UpstreamFailure."""
    decoded = decode(response.body, response.find_header("content-encoding"), max_bytes)
    if decoded.is_cut:
        raise ExchangeFailure(f"its answer has more than {max_bytes} bytes", FailureKind.TOO_LARGE)
    return replace(response, body=decoded.body)
