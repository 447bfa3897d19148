"""Makes browsers use TLS alone (HSTS).

The header is sent with responses over TLS: TLS of this port, or of a proxy in front. A proxy in front is assumed if the header ``Host``
names ``signin.public_url`` and that begins with ``https``. Such a request counts as one of https from here on, so that addresses in
responses (OpenSearch, Atom, redirects) are those that browsers use. A browser ignores the header over plain HTTP, so it is not sent
there. It covers all ports of the host and stays in the browser. Therefore its time is a month, and it does not include subdomains.
Source: RFC 6797, sections 6.1 and 7.2.
"""

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_AGE_SECONDS: Final = 30 * 86_400
_HEADER: Final = (b"strict-transport-security", f"max-age={MAX_AGE_SECONDS}".encode("ascii"))


def is_https(url: str) -> bool:
    """Returns whether a URL uses TLS."""
    return urlsplit(url).scheme == "https"


class StrictTransport:
    """ASGI middleware that adds the header. ``public_url`` is the address for browsers, "" to use the request's scheme alone."""

    def __init__(self, app: ASGIApp, *, public_url: str = "") -> None:
        self._app = app
        self._public_host = urlsplit(public_url).netloc.lower().removesuffix(":443") if is_https(public_url) else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._is_secure(scope):
            await self._app(scope, receive, send)
            return

        scope["scheme"] = "https"

        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), _HEADER]}
            await send(message)

        await self._app(scope, receive, send_with_header)

    def _is_secure(self, scope: Scope) -> bool:
        host = Headers(scope=scope).get("host", "").strip().lower().removesuffix(":443")
        return scope.get("scheme") == "https" or (bool(self._public_host) and host == self._public_host)
