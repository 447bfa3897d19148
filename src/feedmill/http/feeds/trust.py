"""Admits peers to the feed port by the address of their socket. Nothing that a peer sends makes it trusted.

An untrusted peer gets, before any of its body is read:

- on the feed and group paths ``Error - Unauthorized Request`` with status 200. Old clients judge by the text, and the connector
  manager takes any other status as a temporary failure;
- under ``/api/`` 403 with a JSON error, elsewhere 403 with the same text;
- on the dataload path the reply ``Not Allowed`` with status 200. There a peer needs a profile that allows its address;
- ``/healthz`` and ``/readyz`` like every peer.
"""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.common.answers import STRANGERS, UNAUTHORIZED, Body, send_early
from feedmill.http.common.problems import Problem, send_problem
from feedmill.http.common.requirements import Requirement, Sender, find_requirement
from feedmill.http.feeds.gateconfig import CurrentConfig
from feedmill.wire.dataload.render import Status, render_refusal

TRUSTED: Final = Requirement(sender=Sender.TRUSTED_ADDRESS)
TRUSTED_UNDER_ANY_HOST: Final = Requirement(sender=Sender.TRUSTED_ADDRESS, allows_any_host=True)
PUSH: Final = Requirement(sender=Sender.PUSH_TOKEN)
"""Routes that limit a token for some data sources to these (``pushtoken.find_right``)."""
PUSH_UNLIMITED: Final = Requirement(sender=Sender.UNLIMITED_PUSH_TOKEN)
PUSH_OF_DATALOADS: Final = Requirement(sender=Sender.PROFILE_ADDRESS, untrusted_status=200)
PUSH_OF_FEEDS: Final = Requirement(sender=Sender.PUSH_TOKEN, allows_any_host=True, untrusted_status=200)
"""Routes of feed clients, see above."""

SENDERS: Final = frozenset({Sender.ANYONE, Sender.TRUSTED_ADDRESS, Sender.PUSH_TOKEN, Sender.UNLIMITED_PUSH_TOKEN, Sender.PROFILE_ADDRESS})
"""The senders for which the feed port checks, here and in ``pushtoken``."""


XML: Final = b"text/xml; charset=utf-8"


class TrustedPeersMiddleware:
    """ASGI middleware that passes requests of trusted peers."""

    def __init__(self, app: ASGIApp, *, config: CurrentConfig) -> None:
        self._app = app
        self._config = config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._is_admitted(scope):
            await self._app(scope, receive, send)
        else:
            await _refuse(scope, Body(receive), send)

    def _is_admitted(self, scope: Scope) -> bool:
        sender, config = find_requirement(scope).sender, self._config()
        address = scope["client"][0] if scope.get("client") else None
        if sender is Sender.PROFILE_ADDRESS:
            return config.may_load(address)
        return sender is Sender.ANYONE or config.trusted.covers(address)


async def _refuse(scope: Scope, body: Body, send: Send) -> None:
    if scope["path"].startswith("/api/"):
        await send_problem(body, send, Problem.FORBIDDEN, "this address is not trusted; add it to the setting gate.trusted", STRANGERS)
    elif find_requirement(scope).sender is Sender.PROFILE_ADDRESS:
        reply = render_refusal(Status.NOT_ALLOWED).decode("utf-8")
        await send_early(body, send, find_requirement(scope).untrusted_status, reply, STRANGERS, content_type=XML)
    else:
        await send_early(body, send, find_requirement(scope).untrusted_status, UNAUTHORIZED, STRANGERS)
