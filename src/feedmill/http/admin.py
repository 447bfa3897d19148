"""Port 8000: what administrators ask of a running server.

Two locks, both of which must open: the peer is on this machine, and the request carries the bearer token that the server wrote to
``admin.token`` in its data folder, readable by its owner alone. ``/healthz`` and ``/readyz`` need the first lock only.
"""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.core.networks import LOOPBACK
from feedmill.http.health import Problems, health_routes
from feedmill.http.origin import OriginCheck
from feedmill.http.problems import FORBIDDEN, INTERNAL, Problem, answer_problem, describe_problem
from feedmill.http.settingsroutes import settings_routes
from feedmill.metrics import CONTENT_TYPE
from feedmill.model.errors import FeedmillError
from feedmill.settings.editing import SettingsEditor

_OPEN_PATHS = frozenset({"/healthz", "/readyz"})
_UNAUTHORIZED = Problem(401, "unauthorized")
_NAMES = {404: "not_found", 405: "method_not_allowed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Administration:
    """What the port can do; each may block. Errors of all: FeedmillError.

    ``remove_source`` takes the name and whether name and feeds go too, and comes back when the documents are gone. Without ``settings``
    none can be edited.
    """

    tell_status: Callable[[], Mapping[str, Any]]
    reindex: Callable[[], Mapping[str, Any]]
    remove_source: Callable[[str, bool], None]
    render_metrics: Callable[[], bytes]
    find_problems: Problems
    settings: SettingsEditor | None = None


def admin_app(administration: Administration, token: str) -> Starlette:
    """Builds the application of the admin port."""

    async def tell_status(_request: Request) -> Response:
        return JSONResponse(dict(await run_in_threadpool(administration.tell_status)))

    async def reindex(_request: Request) -> Response:
        return JSONResponse(dict(await run_in_threadpool(administration.reindex)), status_code=202)

    async def remove_source(request: Request) -> Response:
        destroy = request.query_params.get("destroy", "") in ("1", "true")
        await run_in_threadpool(administration.remove_source, request.path_params["name"], destroy)
        return Response(status_code=204)

    routes = [
        *health_routes(administration.find_problems),
        metrics_route(administration.render_metrics),
        Route("/api/v1/status", tell_status),
        Route("/api/v1/reindex", reindex, methods=["POST"]),
        Route("/api/v1/datasources/{name}", remove_source, methods=["DELETE"]),
        *(settings_routes(administration.settings) if administration.settings is not None else ()),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(OriginCheck), Middleware(_Locks, token=token)],
        exception_handlers={FeedmillError: answer_problem, HTTPException: _answer_http_error},
    )


def metrics_route(render_metrics: Callable[[], bytes]) -> Route:
    """Gives the route ``/metrics``; who may ask is decided around it."""

    async def tell_metrics(_request: Request) -> Response:
        return Response(await run_in_threadpool(render_metrics), headers={"content-type": CONTENT_TYPE})

    return Route("/metrics", tell_metrics)


class _Locks:
    """ASGI middleware: this machine alone, and the token but for the open paths."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            refusal = self._refuse(Request(scope))
            app = refusal or app
        await app(scope, receive, send)

    def _refuse(self, request: Request) -> JSONResponse | None:
        if request.client is None or not LOOPBACK.covers(request.client.host):
            return _answer(FORBIDDEN, "the admin port answers this machine alone")
        if request.url.path in _OPEN_PATHS or self._knows_token(request):
            return None
        refusal = _answer(_UNAUTHORIZED, "send the token of admin.token: 'Authorization: Bearer TOKEN'")
        refusal.headers["www-authenticate"] = 'Bearer realm="feedmill"'
        return refusal

    def _knows_token(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and bool(self._token) and hmac.compare_digest(given.strip().encode(), self._token)


async def _answer_http_error(_request: Request, exc: Exception) -> Response:
    if not isinstance(exc, HTTPException):
        return _answer(INTERNAL, "internal error")
    return _answer(Problem(exc.status_code, _NAMES.get(exc.status_code, "bad_request")), str(exc.detail).lower())


def _answer(problem: Problem, message: str) -> JSONResponse:
    return JSONResponse(describe_problem(problem, message), problem.status)
