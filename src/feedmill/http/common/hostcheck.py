"""Refuses requests to host names that the port does not know: see ``core/urls/hostnames``.

This check comes first on every port, so no other code reads a refused request. Rules:

- The name is that of the header ``Host``, and also that of the request target if it is a whole URL (``GET http://name/ HTTP/1.1``).
  No other header counts, because any client may send ``X-Forwarded-Host``.
- A request without a name, or with several ``Host`` headers, is refused like one with an unknown name.
- A browser gets a page. Programs get a line of text, also those in Java, whose HTTP client asks for pages before anything else. Under
  ``/api/`` all get a problem as JSON.
- Routes of old feed clients are open under any name (``Requirement.allows_any_host``), because those clients use the name of the earlier
  appliance. Browsers add ``Origin`` to each post of a page, so a request with that header has no such exception.

Source: RFC 9112, sections 3.2 and 7.4.
"""

from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.core.urls.hostnames import HostNames
from feedmill.http.common.answers import STRANGERS, Body, send_early
from feedmill.http.common.problems import Problem, send_problem
from feedmill.model.messages import message

TARGET_EXTENSION: Final = "feedmill.target"
"""The ASGI extension that holds the host of a request target which is a whole URL, under ``authority``."""

_LONGEST_QUOTE: Final = 100

FindNames = Callable[[], HostNames]
"""Returns the names of the port at present."""

MakePage = Callable[[str, str], str]
"""Makes the page of a refusal: of its text and of the header ``Accept-Language``."""

_PAGE_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)


class HostCheck:
    """ASGI middleware that responds with 421 to unknown names.

    Shape: ``setting`` is the setting to which an operator adds a missing name. ``open_paths`` are open under any name without ``Origin``.
    Without ``make_page`` browsers get the text too.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: FindNames,
        setting: str,
        open_paths: frozenset[str] = frozenset(),
        make_page: MakePage | None = None,
    ) -> None:
        self._app = app
        self._names = names
        self._setting = setting
        self._open_paths = open_paths
        self._make_page = make_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(scope) or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        await self._refuse(scope, Body(receive), send)

    async def _refuse(self, scope: Scope, body: Body, send: Send) -> None:
        text, status = _describe(scope, self._setting), Problem.MISDIRECTED.status
        if scope["path"].startswith("/api/"):
            await send_problem(body, send, Problem.MISDIRECTED, text, STRANGERS)
        elif self._make_page is not None and _is_browser(scope):
            page = self._make_page(text, _read_header(scope, b"accept-language"))
            await send_early(body, send, status, page, STRANGERS, content_type=b"text/html; charset=utf-8", headers=_PAGE_HEADERS)
        else:
            await send_early(body, send, status, text, STRANGERS, content_type=b"text/plain; charset=utf-8")

    def _is_open(self, scope: Scope) -> bool:
        return scope["path"] in self._open_paths and not _list_header(scope, b"origin")

    def _is_known(self, scope: Scope) -> bool:
        names, hosts = self._names(), _list_header(scope, b"host")
        requested = [*hosts, *_list_targets(scope)]
        if not requested:
            return names.takes_any
        return len(hosts) <= 1 and all(names.covers(_decode(host)) for host in requested)


def _list_header(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _list_targets(scope: Scope) -> list[bytes]:
    target = (scope.get("extensions") or {}).get(TARGET_EXTENSION)
    return [target["authority"]] if target is not None else []


def _decode(host: bytes) -> str:
    try:
        return host.decode("utf-8")
    except UnicodeDecodeError:
        return host.decode("latin-1")


def _read_header(scope: Scope, name: bytes) -> str:
    return b",".join(_list_header(scope, name)).decode("latin-1")


def _is_browser(scope: Scope) -> bool:
    """Whether a person sees the response. Old versions of Java ask for ``text/html, image/gif, image/jpeg`` of every address."""
    accepted = {one.partition(";")[0].strip().lower() for one in _read_header(scope, b"accept").split(",")}
    return "text/html" in accepted and "image/gif" not in accepted


def _describe(scope: Scope, setting: str) -> str:
    hosts = _list_header(scope, b"host")
    requested = [*_list_targets(scope), *hosts]
    if len(hosts) > 1 or not requested:
        sent = "with several Host headers" if requested else "without the header Host"
        return f"this port does not answer a request {sent}; use its address, or add the name to the setting {setting}"
    quoted = requested[0][:_LONGEST_QUOTE].decode("ascii", "backslashreplace")
    return message(
        "this port does not answer under the name '%(name)s'; use its address, or add the name to the setting %(setting)s",
        name="".join(character if character.isprintable() else "?" for character in quoted),
        setting=setting,
    )
