"""Admits peers to the feed port by the address of their socket. Nothing that a peer sends makes it trusted.

An untrusted peer gets, before any of its body is read:

- on the feed and group paths ``Error - Unauthorized Request`` with status 200. Old clients judge by the text, and the connector
  manager takes any other status as a temporary failure;
- under ``/api/`` 403 with a JSON error, elsewhere 403 with the same text;
- ``/healthz`` and ``/readyz`` like every peer.
"""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.common.answers import STRANGERS, UNAUTHORIZED, Body, send_early
from feedmill.http.common.problems import Problem, send_problem
from feedmill.http.feeds.gateconfig import CurrentConfig

FEED_PATHS: Final = frozenset({"/xmlfeed", "/xmlfeed/", "/xmlgroups", "/xmlgroups/"})
_OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})


class TrustedOnly:
    """ASGI middleware that passes requests of trusted peers."""

    def __init__(self, app: ASGIApp, *, config: CurrentConfig) -> None:
        self._app = app
        self._config = config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        peer = scope.get("client")
        if scope["path"] in _OPEN_PATHS or self._config().trusted.covers(peer[0] if peer else None):
            await self._app(scope, receive, send)
        else:
            await _refuse(scope["path"], Body(receive), send)


async def _refuse(path: str, body: Body, send: Send) -> None:
    if path.startswith("/api/"):
        await send_problem(body, send, Problem.FORBIDDEN, "this address is not trusted; add it to the setting gate.trusted", STRANGERS)
    else:
        await send_early(body, send, 200 if path in FEED_PATHS else 403, UNAUTHORIZED, STRANGERS)
