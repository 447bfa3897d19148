"""The application of port 8000: JSON resources for the administrators of a running server, and a page that shows its state.

Each route declares the role that its requests need, see ``protection``. The bearer token that the server wrote to ``admin.token`` in its
data folder, readable by its owner alone, has every role.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from feedmill.http.admin.api.access import AccessTools, access_routes
from feedmill.http.admin.api.crawling import crawling_routes
from feedmill.http.admin.api.diagnosis import diagnosis_routes
from feedmill.http.admin.api.pulling import pulling_routes
from feedmill.http.admin.api.settings import settings_routes, stylesheet_routes
from feedmill.http.admin.api.signin import signin_routes
from feedmill.http.admin.console import console_routes
from feedmill.http.admin.protection import DECIDE, SENDERS, VIEW_OR_ADMINISTER, VIEW_OR_MANAGE, AdminLock
from feedmill.http.common.health import Problems, health_routes
from feedmill.http.common.manuallink import FindSearchPlace, manual_route
from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.origin import OriginCheck
from feedmill.http.common.problems import answer_problem
from feedmill.http.common.requirements import ADMINISTER, ANYONE, DeclaredRoute, Requirement, Unmatched, build_app
from feedmill.http.common.resource import ADMIN_PORT
from feedmill.http.common.securityheaders import GuardHeaders
from feedmill.http.common.strictparameters import strict_routes, strict_to
from feedmill.http.common.stricttransport import StrictTransport
from feedmill.http.common.unknownpaths import answer_http_error
from feedmill.http.pages.apidocs import docs_routes
from feedmill.http.search.stylesheetstore import StylesheetStore
from feedmill.http.signin.page import PageTools
from feedmill.model.errors import FeedmillError
from feedmill.services.crawling.requesting import CrawlRequests
from feedmill.services.diagnosis import Diagnosing
from feedmill.services.pulling.requesting import PullRequests
from feedmill.services.signin.signing import SignInServices
from feedmill.settings.editing import SettingsEditor
from feedmill.telemetry.metrics import CONTENT_TYPE

# A request that misses a resource, such as /api/v1/users/ (redirected to the path without the slash) or /api/v1/users/ann (404), needs the
# role of that resource and is audited as it is.
_UNMATCHED = Unmatched(
    otherwise=VIEW_OR_ADMINISTER,
    prefixes={
        "/manual": ANYONE,
        "/static/": ANYONE,
        **dict.fromkeys(("/api/v1/access/", "/api/v1/why"), DECIDE),
        "/api/v1/settings/policy_acls": VIEW_OR_ADMINISTER,
        **dict.fromkeys(("/api/v1/datasources", "/api/v1/sources", "/api/v1/crawl", "/api/v1/settings", "/api/v1/reindex"), VIEW_OR_MANAGE),
        **dict.fromkeys(("/api/v1/users", "/api/v1/tokens", "/api/v1/audit"), ADMINISTER),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Administration:
    """The services behind the port; each may block. Errors of all: FeedmillError.

    ``remove_source`` takes the name and whether name and feeds go too, and returns when the documents are gone. Without ``settings``
    none can be edited; without ``access`` no decision on access can be requested.
    """

    read_status: Callable[[], Mapping[str, Any]]
    reindex: Callable[[], Mapping[str, Any]]
    remove_source: Callable[[str, bool], None]
    render_metrics: Callable[[], bytes]
    find_problems: Problems
    settings: SettingsEditor | None = None
    stylesheets: StylesheetStore | None = None
    access: AccessTools | None = None
    policy_routes: Sequence[DeclaredRoute] = ()
    pulling: PullRequests | None = None
    crawling: CrawlRequests | None = None
    diagnosing: Diagnosing | None = None
    find_search_place: FindSearchPlace = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSignIn:
    """The sign-in of other users than the holder of ``admin.token``, its page, and the log of their requests."""

    tools: PageTools
    signing: SignInServices


def admin_app(administration: Administration, token: str, signin: AdminSignIn | None = None) -> Starlette:
    """Returns the application of the admin port; without ``signin`` only the token grants access."""

    async def read_status(_request: Request) -> Response:
        return JSONResponse(dict(await run_in_threadpool(administration.read_status)))

    async def reindex(_request: Request) -> Response:
        return JSONResponse(dict(await run_in_threadpool(administration.reindex)), status_code=202)

    async def remove_source(request: Request) -> Response:
        destroy = request.query_params.get("destroy", "") in ("1", "true")
        await run_in_threadpool(administration.remove_source, request.path_params["name"], destroy)
        return Response(status_code=204)

    async def describe(_request: Request) -> Response:
        return JSONResponse(build_openapi(ADMIN_PORT))

    def check_stylesheet(path: str) -> None:
        if administration.stylesheets is not None:
            administration.stylesheets.check_path(path)

    routes = [
        *health_routes(administration.find_problems),
        manual_route(administration.find_search_place, ANYONE),
        metrics_route(administration.render_metrics, VIEW_OR_ADMINISTER),
        DeclaredRoute("/api/v1/status", read_status, requires=VIEW_OR_ADMINISTER),
        DeclaredRoute("/api/v1/reindex", reindex, methods=["POST"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/datasources/{name}", remove_source, methods=["DELETE"], requires=VIEW_OR_MANAGE),
        *(stylesheet_routes(administration.stylesheets) if administration.stylesheets is not None else ()),
        *(settings_routes(administration.settings, check_stylesheet) if administration.settings is not None else ()),
        *administration.policy_routes,
        *(pulling_routes(administration.pulling) if administration.pulling is not None else ()),
        *(crawling_routes(administration.crawling) if administration.crawling is not None else ()),
        *(diagnosis_routes(administration.diagnosing) if administration.diagnosing is not None else ()),
        *(access_routes(administration.access) if administration.access is not None else ()),
        *(signin_routes(signin.signing) if signin is not None else ()),
    ]
    lock = Middleware(
        AdminLock,
        token=token,
        authenticator=signin.tools.authenticator if signin is not None else None,
        auditing=signin.signing.auditing if signin is not None else None,
    )
    return build_app(
        [
            *strict_routes(ADMIN_PORT, routes),
            DeclaredRoute("/api/v1/openapi.json", strict_to((), describe), requires=VIEW_OR_ADMINISTER),
            # a page of this version's manual, which holds nothing of this server
            *docs_routes(ADMIN_PORT, ANYONE),
            *(console_routes(signin.tools, administration.read_status, administration.find_problems) if signin is not None else ()),
        ],
        senders=SENDERS,
        unmatched=_UNMATCHED,
        middleware=[Middleware(StrictTransport), Middleware(GuardHeaders), Middleware(OriginCheck), lock],
        exception_handlers={FeedmillError: answer_problem, HTTPException: answer_http_error},
    )


def metrics_route(render_metrics: Callable[[], bytes], requires: Requirement) -> DeclaredRoute:
    """Returns the route ``/metrics`` of a port."""

    async def show_metrics(_request: Request) -> Response:
        return Response(await run_in_threadpool(render_metrics), headers={"content-type": CONTENT_TYPE})

    return DeclaredRoute("/metrics", show_metrics, requires=requires)
