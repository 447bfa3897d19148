"""The applications of the feed port and of the DTD port.

A request passes the origin check, the trust check, the token check and its route, in this order. uvicorn must run with
``server_header=False`` (the name of the server is a setting), ``proxy_headers=False`` (a peer is trusted by its socket alone) and
``http=GateProtocol``.
"""

from collections.abc import Callable, Iterable
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from feedmill.http.common.health import Problems, health_routes
from feedmill.http.common.origin import OriginCheck
from feedmill.http.common.problems import answer_problem
from feedmill.http.common.requirements import ANYONE, DeclaredRoute, Requirement, Sender, Unmatched, build_app
from feedmill.http.common.unknownpaths import answer_http_error
from feedmill.http.feeds.dataload import DataloadEndpoint
from feedmill.http.feeds.documents import DocumentsEndpoint
from feedmill.http.feeds.gateconfig import CurrentConfig
from feedmill.http.feeds.pushing import GROUPS, CountFeed, PushEndpoint
from feedmill.http.feeds.pushpage import PushPage
from feedmill.http.feeds.pushtoken import PushTokenCheck, PushTokens
from feedmill.http.feeds.resources import FeedResources, FindStuck, finds_none
from feedmill.http.feeds.trust import (
    PUSH,
    PUSH_OF_DATALOADS,
    PUSH_OF_FEEDS,
    PUSH_UNLIMITED,
    SENDERS,
    TRUSTED,
    TRUSTED_UNDER_ANY_HOST,
    TrustedPeersMiddleware,
)
from feedmill.model.errors import FeedmillError
from feedmill.services.auditing import Auditing
from feedmill.services.feeds.intake import Intake
from feedmill.telemetry.requestids import RequestThreads


class ServerName:
    """ASGI middleware. Reads the name at each request."""

    def __init__(self, app: ASGIApp, *, name: Callable[[], str]) -> None:
        self._app = app
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        header = (b"server", self._name().encode("latin-1", "replace"))

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), header]}
            await send(message)

        await self._app(scope, receive, named)


# A request that misses a resource, such as /api/v1/feeds/ (redirected) or /api/v1/feeds/7/x (404), needs the token of that resource.
_UNMATCHED: Final = Unmatched(
    otherwise=PUSH,
    prefixes={"/api/": PUSH_UNLIMITED} | {f"/api/v1/{name}/": PUSH for name in ("feeds", "documents", "datasources", "openapi.json")},
)
_UPLOAD_THREADS: Final = 16
_STORE_THREADS: Final = 4


def gate_app(
    *,
    config: CurrentConfig,
    intake: Intake,
    dtd: str,
    count_feed: CountFeed,
    find_problems: Problems,
    routes: Iterable[DeclaredRoute] = (),
    auditing: Auditing | None = None,
    tokens: PushTokens | None = None,
    find_stuck: FindStuck = finds_none,
) -> Starlette:
    """Returns the application of ports 19900 and 19902.

    Shape: ``dtd`` is the feed DTD's text. ``routes`` are added, for trusted peers. ``auditing`` records removals.
    ``tokens`` checks tokens of scope ``push``; without it no token is valid. ``find_stuck`` finds the queue that delays a feed.
    """
    store_threads = RequestThreads(_STORE_THREADS, thread_name_prefix="gate-store")
    resources = FeedResources(intake, store_threads, auditing, find_stuck)
    # Slow uploads have threads of their own, so that they delay no receipt and no check of a token.
    uploads = RequestThreads(_UPLOAD_THREADS, thread_name_prefix="gate-upload")
    push = PushEndpoint(config=config, intake=intake, workers=uploads, count_feed=count_feed)
    push_groups = PushEndpoint(config=config, intake=intake, workers=uploads, count_feed=count_feed, rules=GROUPS)
    dataloads = DataloadEndpoint(config=config, intake=intake, workers=uploads, count_feed=count_feed)
    documents = DocumentsEndpoint(config=config, intake=intake, workers=uploads, count_feed=count_feed)
    own = [
        DeclaredRoute("/xmlfeed", push, methods=["POST"], requires=PUSH_OF_FEEDS),
        # Not by a redirect to the first form, because many clients follow none for a POST.
        DeclaredRoute("/xmlfeed/", push, methods=["POST"], requires=PUSH_OF_FEEDS),
        DeclaredRoute("/xmlgroups", push_groups, methods=["POST"], requires=PUSH_OF_FEEDS),
        DeclaredRoute("/xmlgroups/", push_groups, methods=["POST"], requires=PUSH_OF_FEEDS),
        DeclaredRoute("/recvdata.xml", dataloads, methods=["POST"], requires=PUSH_OF_DATALOADS),
        DeclaredRoute("/{script:path}/recvdata.xml", dataloads, methods=["POST"], requires=PUSH_OF_DATALOADS),
        DeclaredRoute("/api/v1/documents", documents, methods=DocumentsEndpoint.METHODS, requires=PUSH),
        DeclaredRoute("/getbacklogcount", resources.count_backlog, requires=TRUSTED_UNDER_ANY_HOST),
        DeclaredRoute("/push", PushPage(config).show, requires=PUSH),
        DeclaredRoute("/", _go_to_push_page, requires=TRUSTED),
        *_dtd_routes(dtd, TRUSTED_UNDER_ANY_HOST),
        *resources.routes(),
        *health_routes(find_problems),
    ]
    return build_app(
        [*own, *routes],
        senders=SENDERS,
        unmatched=_UNMATCHED,
        middleware=[
            Middleware(ServerName, name=lambda: config().server_header),
            Middleware(_CurrentOriginCheck, config=config),
            Middleware(TrustedPeersMiddleware, config=config),
            Middleware(PushTokenCheck, config=config, workers=store_threads, tokens=tokens),
        ],
        exception_handlers={FeedmillError: answer_problem, HTTPException: _answer_http_error},
    )


def dtd_app(dtd: str, find_problems: Problems) -> Starlette:
    """Returns the application of port 7800: the feed DTD for validators, and nothing else."""
    routes = [*_dtd_routes(dtd, Requirement(sender=Sender.ANYONE, allows_any_host=True)), *health_routes(find_problems)]
    return build_app(
        routes,
        senders=frozenset({Sender.ANYONE}),
        unmatched=Unmatched(otherwise=ANYONE),
        middleware=[Middleware(OriginCheck)],
        exception_handlers={HTTPException: _answer_http_error},
    )


def _dtd_routes(dtd: str, requires: Requirement) -> list[DeclaredRoute]:
    async def send_dtd(_request: Request) -> Response:
        return PlainTextResponse(dtd)

    return [DeclaredRoute(path, send_dtd, requires=requires) for path in ("/gsafeed.dtd", "/getdtd")]


class _CurrentOriginCheck:
    """The origin check, with the settings as they are at each request."""

    def __init__(self, app: ASGIApp, *, config: CurrentConfig) -> None:
        self._app = app
        self._config = config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await OriginCheck(self._app, self._config().allow_origins)(scope, receive, send)


async def _answer_http_error(request: Request, exc: Exception) -> Response:
    """Responds to an unknown path or method: JSON for programs that accept it, the appliance's bare text for feed clients."""
    if request.url.path.startswith("/api/") or not isinstance(exc, HTTPException):
        return await answer_http_error(request, exc)
    return PlainTextResponse(exc.detail, exc.status_code, exc.headers)


async def _go_to_push_page(_request: Request) -> Response:
    return RedirectResponse("/push")
