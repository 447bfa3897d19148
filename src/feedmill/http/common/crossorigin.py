"""Lets pages of other sites read responses of the search port: cross-origin resource sharing (CORS).

A browser gives the script of a page a response of another origin only if the response permits it. Rules:

- The setting names origins exactly. Responses to them permit credentials: cookies, and passwords that the browser knows.
- ``*`` permits every origin without credentials, whatever else the setting names. ``null``, the origin of any sandboxed page, has no name.
  A proxy may know users without credentials, by their address. Such a user is anonymous in a request of another origin that ``*`` permits.
- No page of this server (HTML) and no route of signing in is shared: their forms hold codes that only pages of this server may know.
- ``Vary`` names ``Origin`` on every response, also on errors and for requests without an origin, so that no cache mixes them up.

``CrossOriginHeaders`` is the outermost layer of the port but for that of request ids, because refusals of host names and unexpected
failures are responses too. ``Preflights`` stands behind the checks of host name and origin, and before that of the user: a browser sends
no credentials with it. ``AnonymousOrigins`` stands behind the check of the user.
Source: Fetch standard, section 3.2, "CORS protocol".
"""

from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from feedmill.http.common.currentuser import SIGNED_OUT, SignInMethod, find_current_user, set_current_user
from feedmill.http.common.origin import AllowedOrigins, is_own_origin

SIGN_IN_PATHS: Final = ("/signin", "/signout")
_HEADERS: Final = "authorization, content-type"
_HEADERS_OF_PATHS: Final = {"/mcp": f"{_HEADERS}, mcp-protocol-version"}
"""What a request may send that is no simple request; clients of the Model Context Protocol name its version in each."""

_PREFLIGHT: Final = {"Access-Control-Allow-Methods": "GET, POST", "Access-Control-Max-Age": "600"}
_EXPOSED: Final = "Link, Retry-After, WWW-Authenticate, X-Request-Id"


class CrossOriginHeaders:
    """ASGI middleware that says on each response which origin may read it."""

    def __init__(self, app: ASGIApp, *, allowed: Iterable[str]) -> None:
        self._app = app
        self._allowed = AllowedOrigins(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, and adds the headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        permission = _make_permission(scope, self._allowed)

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": list(message.get("headers", ()))}
                headers = MutableHeaders(raw=message["headers"])
                headers.add_vary_header("Origin")
                if not headers.get("content-type", "").lower().startswith("text/html"):
                    headers.update(permission)
            await send(message)

        await self._app(scope, receive, send_shared)


class Preflights:
    """ASGI middleware that answers the question whether a request of an allowed origin may follow."""

    def __init__(self, app: ASGIApp, *, allowed: Iterable[str]) -> None:
        self._app = app
        self._allowed = AllowedOrigins(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a preflight, and passes other requests on."""
        is_preflight = (
            scope["type"] == "http"
            and scope["method"] == "OPTIONS"
            and "access-control-request-method" in Headers(scope=scope)
            and bool(_make_permission(scope, self._allowed))
        )
        if is_preflight:
            headers = {**_PREFLIGHT, "Access-Control-Allow-Headers": _HEADERS_OF_PATHS.get(scope["path"], _HEADERS)}
            await Response(status_code=204, headers=headers)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class AnonymousOrigins:
    """ASGI middleware that forgets the user of a request of another origin where any origin is permitted.

    A user whom ``Authorization`` proves stays, because the script of a page sent that. ``own`` are further origins of this server.
    """

    def __init__(self, app: ASGIApp, *, allowed: Iterable[str], own: Iterable[str] = ()) -> None:
        self._app = app
        self._takes_any = AllowedOrigins(allowed).takes_any
        self._own = AllowedOrigins(own)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, as that of an anonymous user if need be."""
        if scope["type"] == "http" and self._takes_any and self._is_foreign(Headers(scope=scope)):
            method = find_current_user(Request(scope)).method
            if method not in (SignInMethod.TOKEN, SignInMethod.BASIC):
                set_current_user(scope, SIGNED_OUT)
        await self._app(scope, receive, send)

    def _is_foreign(self, headers: Headers) -> bool:
        host = headers.get("host", "")
        return any(not is_own_origin(origin, host) and not self._own.names(origin) for origin in headers.getlist("origin"))


def _make_permission(scope: Scope, allowed: AllowedOrigins) -> dict[str, str]:
    """Returns the headers that permit the origin of a request to read the response; none if it may not."""
    origins = Headers(scope=scope).getlist("origin")
    if len(origins) != 1 or scope["path"].startswith(SIGN_IN_PATHS):
        return {}
    if allowed.takes_any:
        return {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
    if not allowed.names(origins[0]):
        return {}
    return {
        "Access-Control-Allow-Origin": origins[0],
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Expose-Headers": _EXPOSED,
    }
