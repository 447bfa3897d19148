"""Refuses requests that a page of another site makes a browser send.

A browser names the site of the sending page in ``Origin``. A request that may change something (any method but GET and HEAD) gets 403,
before any of its body is read, if it comes from another site or from one that hides its name (``null``). Programs that are
no browsers send no ``Origin`` and pass. Sites are compared by host and port, not by scheme: behind a proxy that ends TLS the
browser names another scheme than the one that arrives.
Source: RFC 6454, section 7.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.common.problems import Problem, make_answer
from feedmill.http.common.requirements import SAFE_METHODS, Requirement, find_requirement

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class AllowedOrigins:
    """The origins that a setting names, as browsers write them (``https://tools.example.com``); ``*`` stands for all of them."""

    def __init__(self, allowed: Iterable[str]) -> None:
        written = (origin.strip().rstrip("/").lower() for origin in allowed)
        self._named = frozenset(_without_default_port(origin, origin) for origin in written)
        self.takes_any = "*" in self._named

    def names(self, origin: str) -> bool:
        """Returns whether the setting names an origin. ``null`` is the origin of any sandboxed page, so it cannot be named."""
        sender = origin.strip().lower()
        return sender not in ("null", "*") and sender in self._named


class OriginCheck:
    """ASGI middleware that responds with 403 to requests from pages of other sites, except ``allowed`` ones.

    Routes that check the forms of other sites themselves declare it (``Requirement.allows_foreign_forms``), and so do those whose reads
    are refused too (``refuses_foreign_reads``).
    """

    def __init__(self, app: ASGIApp, allowed: Iterable[str] = ()) -> None:
        self._app = app
        self._allowed = AllowedOrigins(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _is_checked(scope["method"], find_requirement(scope)):
            headers = Headers(scope=scope)
            origins = headers.getlist("origin")
            if not all(self._is_welcome(origin, headers.get("host", "")) for origin in origins):
                await _refusal(scope["path"])(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_welcome(self, origin: str, host: str) -> bool:
        sender = origin.strip().lower()
        if self._allowed.takes_any or self._allowed.names(sender):
            return True
        return is_own_origin(sender, host)


def is_own_origin(origin: str, host: str) -> bool:
    """Returns whether an origin is that of the server to which a request goes; ``host`` is its header ``Host``."""
    sender = origin.strip().lower()
    site = _split_origin(sender)
    return site is not None and site == _without_default_port(host.strip().lower(), sender)


def _is_checked(method: str, requirement: Requirement) -> bool:
    return requirement.refuses_foreign_reads if method in SAFE_METHODS else not requirement.allows_foreign_forms


def _refusal(path: str) -> Response:
    text = "requests from another site's page are refused"
    return make_answer(Problem.FORBIDDEN, text) if path.startswith("/api/") else PlainTextResponse(f"{text}\n", status_code=403)


def _split_origin(origin: str) -> str | None:
    """Returns host and port of an origin, None if it names no host."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return _without_default_port(parts.netloc, origin) if parts.scheme in _DEFAULT_PORTS and parts.netloc and not parts.path else None


def _without_default_port(site: str, origin: str) -> str:
    return site.removesuffix(_DEFAULT_PORTS.get(origin.partition(":")[0], ""))
