"""The serving settings on the admin port.

GET    /api/v1/settings/{section}           the entries of a section
GET    /api/v1/settings/{section}/{name}    one entry
PUT    /api/v1/settings/{section}/{name}    sets it; the body is the entry as JSON
DELETE /api/v1/settings/{section}/{name}    removes what was set by API
POST   /api/v1/settings/{section}/{name}/import     adds the content of an exported file of kind=; replace=1 replaces the entry
GET    /api/v1/settings/frontends/{name}/stylesheet    the stylesheet of a front end, as it is
PUT    /api/v1/settings/frontends/{name}/stylesheet    sets it; the body is XSLT 1.0 without imports

``ETag`` holds an entry's tag. ``If-Match`` makes a change depend on that tag, ``If-None-Match: *`` on a missing entry; otherwise 412.
Source: RFC 9110, 8.8.3, 13.1.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from feedmill.http.admin.protection import VIEW_OR_ADMINISTER, VIEW_OR_MANAGE
from feedmill.http.common.bodies import read_body
from feedmill.http.common.paging import cut_page
from feedmill.http.common.requirements import DeclaredRoute, Requirement
from feedmill.http.search.stylesheetstore import StylesheetStore
from feedmill.model.errors import BadRequest, Corrupt
from feedmill.ports.stylesheets import MAX_STYLESHEET_BYTES
from feedmill.settings.editing import ALWAYS, MAX_STORED_BYTES, Condition, SettingsEditor, SettingsEntry
from feedmill.settings.importing import KINDS, import_text

MAX_IMPORT_BYTES = 3 * MAX_STORED_BYTES
_POLICY_ACLS = "policy_acls"


def settings_routes(editor: SettingsEditor, check_stylesheet: Callable[[str], None]) -> list[DeclaredRoute]:
    """Returns the routes over an editor. ``check_stylesheet`` raises Corrupt for the path of a file that is not a stylesheet."""

    async def list_entries(request: Request) -> Response:
        entries = await run_in_threadpool(editor.list, _section(request))
        page = cut_page(request, list(enumerate(entries)), lambda pair: pair[0])
        return JSONResponse([_fields_of(entry) for _, entry in page.items], headers=page.headers)

    async def get(request: Request) -> Response:
        return _respond_entry(await run_in_threadpool(editor.get, *_place(request)))

    async def put(request: Request) -> Response:
        value = _read_json(await read_body(request, MAX_STORED_BYTES))
        await run_in_threadpool(_check_stylesheet, value, check_stylesheet)
        entry, is_new = await run_in_threadpool(editor.put, *_place(request), value, read_condition(request))
        return _respond_entry(entry, 201 if is_new else 200)

    async def remove(request: Request) -> Response:
        await run_in_threadpool(editor.remove, *_place(request), read_condition(request))
        return Response(status_code=204)

    async def take(request: Request) -> Response:
        section, name = _place(request)
        kind, body = request.query_params.get("kind", "").lower(), await read_body(request, MAX_IMPORT_BYTES)
        if kind in KINDS and KINDS[kind][0] != section:
            raise BadRequest(f"{kind} are taken by {KINDS[kind][0]}, not by {section}")
        replaces = request.query_params.get("replace", "") in ("1", "true")
        done = await run_in_threadpool(import_text, editor, kind, name, read_file(request, body), replaces=replaces)
        return JSONResponse(asdict(done))

    def routes_of(section: str, requires: Requirement) -> list[DeclaredRoute]:
        path = f"/api/v1/settings/{section}"
        return [
            DeclaredRoute(path, list_entries, methods=["GET"], requires=requires),
            DeclaredRoute(f"{path}/{{name}}", get, methods=["GET"], requires=requires),
            DeclaredRoute(f"{path}/{{name}}", put, methods=["PUT"], requires=requires),
            DeclaredRoute(f"{path}/{{name}}", remove, methods=["DELETE"], requires=requires),
            DeclaredRoute(f"{path}/{{name}}/import", take, methods=["POST"], requires=requires),
        ]

    # policy ACLs decide who sees what, so a manager must not change them
    return [*routes_of(_POLICY_ACLS, VIEW_OR_ADMINISTER), *routes_of("{section}", VIEW_OR_MANAGE)]


def stylesheet_routes(store: StylesheetStore) -> list[DeclaredRoute]:
    """Returns the routes for the stylesheets of front ends."""

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


def read_file(request: Request, body: bytes) -> bytes:
    """Returns the bytes of a file that was sent as it is, or as the text of a JSON object. Errors: BadRequest."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        return body
    value = _read_json(body)
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise BadRequest('send the file as it is, or as {"text": ...}')
    return str(value["text"]).encode("utf-8", "surrogateescape")


def _check_stylesheet(value: Any, check: Callable[[str], None]) -> None:
    """Refuses a front end's path to a file that is no stylesheet. A path to no file is refused with all other faults."""
    path = value.get("stylesheet") if isinstance(value, dict) else None
    if not isinstance(path, str) or not path:
        return
    try:
        check(path)
    except Corrupt as exc:
        raise BadRequest(f"stylesheet: {exc}") from exc


def _place(request: Request) -> tuple[str, str]:
    return _section(request), request.path_params["name"]


def _section(request: Request) -> str:
    return str(request.path_params.get("section", _POLICY_ACLS))


def _respond_entry(entry: SettingsEntry, status: int = 200) -> Response:
    return JSONResponse(_fields_of(entry), status, headers={"ETag": f'"{entry.tag}"'})


def _fields_of(entry: SettingsEntry) -> dict[str, Any]:
    return {"section": entry.section, "name": entry.name, "origin": entry.origin, "tag": entry.tag, "value": dict(entry.value)}


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise BadRequest(f"the body is no JSON: {exc}; send the entry as an object") from exc


def read_condition(request: Request) -> Condition:
    """Returns the condition of a change. Errors: BadRequest for an unknown condition, which must not be ignored."""
    match, none_match = request.headers.get("if-match"), request.headers.get("if-none-match")
    if none_match is not None:
        if none_match.strip() != "*" or match is not None:
            raise BadRequest("If-None-Match can only be *, and not together with If-Match")
        return Condition(is_new=True)
    if match is None:
        return ALWAYS
    return Condition(tags=tuple(part.strip().strip('"') for part in match.split(",")))
