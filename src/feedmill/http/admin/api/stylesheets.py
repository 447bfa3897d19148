"""Stylesheets of front ends on the admin port.

GET /api/v1/settings/frontends/{name}/stylesheet    the stylesheet, as it is
PUT /api/v1/settings/frontends/{name}/stylesheet    sets it; the body is XSLT 1.0 without imports
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from feedmill.http.admin.api.settings import read_condition
from feedmill.http.admin.protection import VIEW_OR_MANAGE
from feedmill.http.common.bodies import read_body
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.search.stylesheetstore import StylesheetStore
from feedmill.ports.stylesheets import MAX_STYLESHEET_BYTES


def stylesheet_routes(store: StylesheetStore) -> list[DeclaredRoute]:
    async def get(request: Request) -> Response:
        return Response(await run_in_threadpool(store.get, request.path_params["name"]), media_type="text/xml")

    async def put(request: Request) -> Response:
        data = await read_body(request, MAX_STYLESHEET_BYTES)
        entry = await run_in_threadpool(store.put, request.path_params["name"], data, read_condition(request))
        return JSONResponse({"name": entry.name, "stylesheet": entry.value["stylesheet"]}, headers={"ETag": f'"{entry.tag}"'})

    path = "/api/v1/settings/frontends/{name}/stylesheet"
    return [
        DeclaredRoute(path, get, methods=["GET"], requires=VIEW_OR_MANAGE),
        DeclaredRoute(path, put, methods=["PUT"], requires=VIEW_OR_MANAGE),
    ]
