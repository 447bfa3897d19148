"""Sends the requests of the crawler: chooses proxy and connection, and refuses private addresses that the settings do not open.

Behind a proxy the address that is dialled in the end cannot be seen. The proxy must keep requests out of private networks; a name that has
a private address here is refused too.
"""

import base64
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Protocol

from feedmill.adapters.crawling.options import FetchOptions, ProxyRule
from feedmill.adapters.crawling.rules import UrlRules
from feedmill.adapters.http.dialing import Proxy
from feedmill.adapters.http.errors import TimedOut
from feedmill.adapters.http.pool import ConnectionPool, Route
from feedmill.core.urls.patterns import PatternSet
from feedmill.core.urls.targets import Target
from feedmill.model.authorization import Trust
from feedmill.ports.http import HttpRequest, HttpResponse, ServerAddress

CUT_TYPES: Final = ("text/", "application/xhtml", "application/xml", "application/json", "application/rss", "application/atom")
"""The media types of texts: of a longer one the beginning is a document."""

Headers = dict[str, str]


class Authentication(Protocol):
    """Authenticates one request, over one connection."""

    async def begin(self) -> Headers:
        """Returns the headers for the first attempt."""

    async def answer(self, response: HttpResponse) -> Headers | None:
        """Returns the headers for another attempt over the same connection, None if the response is final."""


class _NoAuthentication:
    async def begin(self) -> Headers:
        return {}

    async def answer(self, _response: HttpResponse) -> Headers | None:
        return None


NO_AUTHENTICATION: Final = _NoAuthentication()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A request to send.

    ``opened_for`` is another URL: the private addresses that the settings permit for it are permitted too; "" for none. ``is_chosen``:
    the settings name this very server, so its address may be private. ``holder`` separates connections that are authenticated.
    ``pause_seconds`` is how long to wait before the request is sent once more, because the server has closed a connection that was used
    before. ``reserve`` waits for the memory of a body.
    Units: ``deadline`` in seconds of the monotonic clock.
    """

    target: Target
    method: str = "GET"
    headers: Headers = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    max_bytes: int
    deadline: float
    opened_for: str = ""
    is_chosen: bool = False
    holder: Hashable = None
    trust: Trust | None = None
    pause_seconds: float = 0.0
    reserve: Callable[[int], Awaitable[None]] | None = field(default=None, repr=False)


class Transport:
    """Sends requests over pooled connections."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._pool = ConnectionPool(lookup=options.lookup)
        self._proxies = UrlRules(options.proxies)
        self._opened = PatternSet(options.allow_private)

    async def send(self, sending: Sending, authentication: Authentication = NO_AUTHENTICATION) -> HttpResponse:
        """Returns the response; its body may have codings. Errors: UpstreamFailure."""
        async with self._pool.borrow(self._find_route(sending)) as connection:
            headers: Headers | None = await authentication.begin()
            while headers is not None:
                response = await connection.send(_make_request(sending, headers), _left(sending))
                headers = await authentication.answer(response)
        return response

    def close(self) -> None:
        """Closes all connections that are not in use."""
        self._pool.close()

    def _find_route(self, sending: Sending) -> Route:
        target, url = sending.target, sending.target.url
        opened = sending.is_chosen or any(self._opened.match_url(each).passes for each in (url, sending.opened_for) if each)
        trust = sending.trust or self._options.trust
        server = ServerAddress(is_tls=target.is_tls, host=target.host, port=target.port, trust=trust, allows_private=opened)
        return Route(server=server, proxy=_make_proxy(self._proxies.find(url)), holder=sending.holder)


def _make_proxy(rule: ProxyRule | None) -> Proxy | None:
    if rule is None or not rule.host:
        return None
    pair = f"{rule.user}:{rule.password}".encode()
    return Proxy(host=rule.host, port=rule.port, authorization=b"Basic " + base64.b64encode(pair) if rule.user else b"", is_guarding=True)


def _make_request(sending: Sending, headers: Headers) -> HttpRequest:
    # Letter case does not count in names, and the last value of a name is sent.
    every = {name.lower(): (name, value) for name, value in ({"Host": sending.target.authority} | sending.headers | headers).items()}
    listed = tuple((name, _encode(value)) for name, value in every.values())
    return HttpRequest(
        method=sending.method,
        path=sending.target.path,
        headers=listed,
        body=sending.body,
        max_bytes=sending.max_bytes,
        cut_types=CUT_TYPES,
        pause_seconds=sending.pause_seconds,
        reserve=sending.reserve,
    )


def _encode(value: str) -> bytes:
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")


def _left(sending: Sending) -> float:
    left = sending.deadline - time.monotonic()
    if left <= 0:
        raise TimedOut("it does not answer in time")
    return left
