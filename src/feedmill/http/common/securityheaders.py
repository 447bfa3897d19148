"""The headers that tell a browser what a page of ours may do: nothing but show itself and send its own forms.

The search page may load this server's own script and ask this server; other pages carry none. Titles, snippets and URLs come from
documents that anybody may have written, so this stands behind the escaping. Other sites' pages may not load answers as scripts or images:
whether that succeeds would tell them what their visitor may see, where a proxy signs him in by itself.

XML holds texts that anybody may have written, and a browser makes a page of elements in XHTML's namespace: whatever is sent as XML gets
``sandbox``, so that nothing of it runs, sends a form or counts as this server's.
"""

import re
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_WITH_SCRIPT = CONTENT_SECURITY_POLICY + "; script-src 'self'; connect-src 'self'"
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW_HEADERS = tuple((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in _HEADERS.items())

_POLICY = b"content-security-policy"
_XML = re.compile(rb"\s*[a-z0-9.+-]+/(?:[a-z0-9.+-]+\+)?xml(?:-[a-z-]+)?\s*(?:;|$)", re.IGNORECASE)  # RFC 7303, 4

Header = tuple[bytes, bytes]


class GuardHeaders:
    """ASGI middleware that adds the headers to every response that does not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on and adds to its answer."""

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
