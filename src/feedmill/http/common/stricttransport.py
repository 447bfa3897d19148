"""Tells browsers to come back over TLS alone (HSTS).

The header goes with answers to requests that came over TLS: of this port, or of a proxy in front, which is so where the header ``Host``
names ``signin.public_url`` and that begins with ``https``. A browser ignores it over plain HTTP, so it is not sent there. It speaks of the
host with all its ports and stays in the browser, which is why its time is a month and it does not speak of subdomains.
Source: RFC 6797, sections 6.1 and 7.2.
"""

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_AGE_SECONDS: Final = 30 * 86_400
_HEADER: Final = (b"strict-transport-security", f"max-age={MAX_AGE_SECONDS}".encode("ascii"))


def is_https(url: str) -> bool:
    """Whether a URL is one of TLS."""
    return urlsplit(url).scheme == "https"


class StrictTransport:
    """ASGI middleware that adds the header. ``public_url`` is how browsers reach this server, "" where the request tells."""

    def __init__(self, app: ASGIApp, *, public_url: str = "") -> None:
        self._app = app
        self._public_host = urlsplit(public_url).netloc.lower().removesuffix(":443") if is_https(public_url) else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on and adds to its answer."""
        if scope["type"] != "http" or not self._is_secure(scope):
            await self._app(scope, receive, send)
            return

        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), _HEADER]}
            await send(message)

        await self._app(scope, receive, send_with_header)

    def _is_secure(self, scope: Scope) -> bool:
        host = Headers(scope=scope).get("host", "").strip().lower().removesuffix(":443")
        return scope.get("scheme") == "https" or (bool(self._public_host) and host == self._public_host)
