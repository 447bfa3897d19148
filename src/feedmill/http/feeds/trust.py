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
from feedmill.http.common.requirements import Requirement, Sender, find_requirement
from feedmill.http.feeds.gateconfig import CurrentConfig

TRUSTED: Final = Requirement(sender=Sender.TRUSTED_ADDRESS)
TRUSTED_UNDER_ANY_HOST: Final = Requirement(sender=Sender.TRUSTED_ADDRESS, allows_any_host=True)
PUSH: Final = Requirement(sender=Sender.PUSH_TOKEN)
"""Routes that limit a token for some data sources to these (``pushtoken.find_right``)."""
PUSH_UNLIMITED: Final = Requirement(sender=Sender.UNLIMITED_PUSH_TOKEN)
PUSH_OF_FEEDS: Final = Requirement(sender=Sender.PUSH_TOKEN, allows_any_host=True, untrusted_status=200)
"""Routes of feed clients, see above."""

SENDERS: Final = frozenset({Sender.ANYONE, Sender.TRUSTED_ADDRESS, Sender.PUSH_TOKEN, Sender.UNLIMITED_PUSH_TOKEN})
"""The senders for which the feed port checks, here and in ``pushtoken``."""


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
        if find_requirement(scope).sender is Sender.ANYONE or self._config().trusted.covers(peer[0] if peer else None):
            await self._app(scope, receive, send)
        else:
            await _refuse(scope, Body(receive), send)


async def _refuse(scope: Scope, body: Body, send: Send) -> None:
    if scope["path"].startswith("/api/"):
        await send_problem(body, send, Problem.FORBIDDEN, "this address is not trusted; add it to the setting gate.trusted", STRANGERS)
    else:
        await send_early(body, send, find_requirement(scope).untrusted_status, UNAUTHORIZED, STRANGERS)
