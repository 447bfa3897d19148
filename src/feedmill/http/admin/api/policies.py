"""Policy ACLs on the admin port, in addition to the resources of their settings.

GET  /api/v1/policy-acls            those in force, and whether searches obey them; with url= those for a URL, the one that counts first
GET  /api/v1/policy-acls/export     all as lines of text
POST /api/v1/policy-acls/import     sets those of a text; replace=1 removes all others that were set by API
"""

from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from feedmill.http.admin.api.settings import MAX_IMPORT_BYTES, read_file
from feedmill.http.admin.protection import VIEW_OR_ADMINISTER
from feedmill.http.common.bodies import read_body
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.ports import Store
from feedmill.services.sweeps.policyaclsweep import is_obeyed
from feedmill.settings.editing import SettingsEditor
from feedmill.settings.policyfiles import import_policies
from feedmill.wire.applianceconfig.policies import render_policies
from feedmill.wire.decisions import render_policy


def describe_policies(store: Store, url: str | None = None) -> dict[str, Any]:
    """Returns the policies in force, or those whose patterns match a URL, the one that counts first."""
    with store.reading() as unit:
        policies = unit.access.policies.current()
        obeyed = is_obeyed(unit)
    found = policies.policies if url is None else tuple(policies.iter_matching(url))
    return {"policies": [render_policy(policy) for policy in found], "obeyed": obeyed}


def policy_routes(store: Store, editor: SettingsEditor) -> list[DeclaredRoute]:
    async def show_policies(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(describe_policies, store, request.query_params.get("url")))

    async def export(_request: Request) -> Response:
        return PlainTextResponse(await run_in_threadpool(export_policies, store))

    async def take(request: Request) -> Response:
        data = read_file(request, await read_body(request, MAX_IMPORT_BYTES))
        replaces = request.query_params.get("replace", "") in ("1", "true")
        return JSONResponse(asdict(await run_in_threadpool(import_policies, editor, data, replaces=replaces)))

    return [
        DeclaredRoute("/api/v1/policy-acls", show_policies, methods=["GET"], requires=VIEW_OR_ADMINISTER),
        DeclaredRoute("/api/v1/policy-acls/export", export, methods=["GET"], requires=VIEW_OR_ADMINISTER),
        DeclaredRoute("/api/v1/policy-acls/import", take, methods=["POST"], requires=VIEW_OR_ADMINISTER),
    ]


def export_policies(store: Store) -> str:
    """Returns the policies in force as lines of text."""
    with store.reading() as unit:
        return render_policies(unit.access.policies.current().policies)
