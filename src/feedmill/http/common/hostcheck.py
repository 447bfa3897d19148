"""Refuses requests to host names that the port does not know: see ``core/urls/hostnames``.

This check comes first on every port, so no other code reads a refused request. Rules:

- The name is that of the header ``Host``, and also that of the request target if it is a whole URL (``GET http://name/ HTTP/1.1``).
  No other header counts, because any client may send ``X-Forwarded-Host``.
- A request without a name, or with several ``Host`` headers, is refused like one with an unknown name.
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

TARGET_EXTENSION: Final = "feedmill.target"
"""The ASGI extension that holds the host of a request target which is a whole URL, under ``authority``."""

_LONGEST_QUOTE: Final = 100

FindNames = Callable[[], HostNames]
"""Returns the names of the port at present."""


class HostCheck:
    """ASGI middleware that responds with 421 to unknown names.

    Shape: ``setting`` is the setting to which an operator adds a missing name. ``open_paths`` are open under any name without ``Origin``.
    """

    def __init__(self, app: ASGIApp, *, names: FindNames, setting: str, open_paths: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._names = names
        self._setting = setting
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(scope) or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        text = f"this port does not answer {_describe(scope)}; use its address, or add the name to the setting {self._setting}"
        if scope["path"].startswith("/api/"):
            await send_problem(Body(receive), send, Problem.MISDIRECTED, text, STRANGERS)
        else:
            await send_early(Body(receive), send, Problem.MISDIRECTED.status, text, STRANGERS, content_type=b"text/plain; charset=utf-8")

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


def _describe(scope: Scope) -> str:
    hosts = _list_header(scope, b"host")
    if len(hosts) > 1:
        return "a request with several Host headers"
    requested = [*_list_targets(scope), *hosts]
    if not requested:
        return "a request without the header Host"
    quoted = requested[0][:_LONGEST_QUOTE].decode("ascii", "backslashreplace")
    return f"under the name '{''.join(character if character.isprintable() else '?' for character in quoted)}'"
