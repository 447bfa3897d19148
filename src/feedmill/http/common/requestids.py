"""Gives each request an id, which its response has in ``X-Request-Id``.

Logs, error bodies and audit entries name the id (``telemetry/requestids``), so an administrator finds what a user reports. It is random,
because numbers in a row would show how many requests others send. A proxy that the settings trust may have given the request an id
already, which then stays, so that its own log is found too: once, with ``MOST_CHARACTERS`` letters, digits and signs that need no
escaping anywhere. Any other header is ignored.
"""

import re
import secrets
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from feedmill.core.urls.networks import Networks
from feedmill.telemetry.requestids import set_request_id

HEADER: Final = b"x-request-id"
MOST_CHARACTERS: Final = 128
_RANDOM_BYTES: Final = 16
_WELL_FORMED: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._=:/+-]{0,%d}" % (MOST_CHARACTERS - 1))


class RequestIds:
    """ASGI middleware, the outermost one of a port. ``trusted`` are the peers whose ids are taken."""

    def __init__(self, app: ASGIApp, *, trusted: Networks) -> None:
        self._app = app
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on with its id, and adds the header to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._find_given(scope) or secrets.token_hex(_RANDOM_BYTES)
        set_request_id(request_id)
        header = (HEADER, request_id.encode("ascii"))

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), header]}
            await send(message)

        await self._app(scope, receive, send_named)

    def _find_given(self, scope: Scope) -> str:
        """Returns the id that a trusted peer gave the request, "" for none."""
        given = [value for name, value in scope["headers"] if name == HEADER]
        if len(given) != 1 or _WELL_FORMED.fullmatch(given[0]) is None:
            return ""
        peer = scope.get("client")
        return given[0].decode("ascii") if peer and self._trusted.covers(peer[0]) else ""
