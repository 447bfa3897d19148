"""The headers that limit what a browser lets a page of ours do: show itself and send its own forms.

The search page may load this server's own script and send requests to this server. Other pages have no script. Titles, snippets and
URLs come from documents of unknown authors, so these headers are a second barrier behind the escaping. Pages of other sites may not
load responses as scripts or images: the success of such a load would show them what their visitor may see, where a proxy signs
users in without a form.

XML holds texts of unknown authors, and a browser renders elements in XHTML's namespace as a page. Every XML response has
``sandbox``, so that nothing in it runs, sends a form or acts in the name of this server.
"""

import re
from collections.abc import Sequence
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_WITH_SCRIPT = CONTENT_SECURITY_POLICY + "; script-src 'self'; connect-src 'self'"
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW_HEADERS = tuple((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in SECURITY_HEADERS.items())

_POLICY = b"content-security-policy"
_XML = re.compile(rb"\s*[a-z0-9.+-]+/(?:[a-z0-9.+-]+\+)?xml(?:-[a-z-]+)?\s*(?:;|$)", re.IGNORECASE)  # RFC 7303, 4

Header = tuple[bytes, bytes]


class GuardHeaders:
    """ASGI middleware that adds the headers to every response that does not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                own = {name.lower() for name, _ in headers}
                headers += [pair for pair in _RAW_HEADERS if pair[0] not in own]
                message = {**message, "headers": _sandbox(headers) if _is_xml(headers) else headers}
            await send(message)

        await self._app(scope, receive, send_guarded if scope["type"] == "http" else send)


def _is_xml(headers: Sequence[Header]) -> bool:
    return any(name.lower() == b"content-type" and _XML.match(value) for name, value in headers)


def _sandbox(headers: Sequence[Header]) -> list[Header]:
    return [(name, value + b"; sandbox" if name.lower() == _POLICY else value) for name, value in headers]
