"""The pull sources on the admin port.

GET  /api/v1/sources               those of the settings, with their state and the newest run
POST /api/v1/sources/NAME/runs     requests a run; full=1, dry_run=1, force=1
GET  /api/v1/sources/NAME/runs     the runs, newest first
GET  /api/v1/runs/ID               one run
POST /api/v1/sources/NAME/pause    stops the schedule
POST /api/v1/sources/NAME/resume   continues it
"""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from feedmill.http.admin.api.pullsources import render_pull_source, render_run
from feedmill.http.admin.protection import VIEW_OR_MANAGE
from feedmill.http.common.paging import cut_page
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.common.strictparameters import read_id
from feedmill.model.pulling import RunRequest
from feedmill.services.pulling.pullrun import MAX_RUNS
from feedmill.services.pulling.requesting import RUNS_LISTED, PullRequests

Json = dict[str, Any]


def pulling_routes(requests: PullRequests) -> list[DeclaredRoute]:
    async def list_sources(request: Request) -> Response:
        # in the order of the settings, which changes only when they do
        page = cut_page(request, list(enumerate(await run_in_threadpool(requests.list_sources))), lambda pair: pair[0])
        return JSONResponse([render_pull_source(source) for _, source in page.items], headers=page.headers)

    async def list_runs(request: Request) -> Response:
        runs = await run_in_threadpool(requests.list_runs, request.path_params["name"], MAX_RUNS)
        page = cut_page(request, runs, lambda run: -run.id, default=RUNS_LISTED)
        return JSONResponse([render_run(run) for run in page.items], headers=page.headers)

    async def request_run(request: Request) -> Response:
        given = {name: request.query_params.get(name, "") in ("1", "true") for name in ("full", "dry_run", "force")}
        wanted = RunRequest(is_full=given["full"], is_dry=given["dry_run"], is_forced=given["force"])
        run = await run_in_threadpool(requests.request_run, request.path_params["name"], wanted)
        return JSONResponse(render_run(run), status_code=202)

    async def show_run(request: Request) -> Response:
        run_id = read_id(request.path_params["id"], "run")
        return JSONResponse(render_run(await run_in_threadpool(requests.get_run, run_id)))

    async def pause(request: Request) -> Response:
        await run_in_threadpool(requests.pause, request.path_params["name"], is_paused=True)
        return Response(status_code=204)

    async def resume(request: Request) -> Response:
        await run_in_threadpool(requests.pause, request.path_params["name"], is_paused=False)
        return Response(status_code=204)

    return [
        DeclaredRoute("/api/v1/sources", list_sources, methods=["GET"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/sources/{name}/runs", list_runs, methods=["GET"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/sources/{name}/runs", request_run, methods=["POST"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/runs/{id}", show_run, methods=["GET"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/sources/{name}/pause", pause, methods=["POST"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/sources/{name}/resume", resume, methods=["POST"], requires=VIEW_OR_MANAGE),
    ]
