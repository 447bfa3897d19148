"""Stylesheets of front ends on the admin port.

GET /api/v1/settings/frontends/{name}/stylesheet    the stylesheet, as it is
PUT /api/v1/settings/frontends/{name}/stylesheet    sets it; the body is XSLT 1.0 that stands alone

A stylesheet that is put is kept in the data folder, under a name of its own for each of its versions, so that a page that is being made
never sees half of one.
"""

import hashlib
import os
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from feedmill.core.sites import is_collection_name
from feedmill.http.bodies import read_body
from feedmill.http.settingsroutes import read_condition
from feedmill.http.stylesheets import MAX_STYLESHEET_BYTES, compile_stylesheet, read_stylesheet
from feedmill.model.errors import BadRequest, Corrupt, NotFound
from feedmill.settings.editing import ALWAYS, Condition, Entry, SettingsEditor

SECTION = "frontends"


class StylesheetShelf:
    """The stylesheets that were put, in a folder of their own."""

    def __init__(self, editor: SettingsEditor, folder: Path) -> None:
        self._editor = editor
        self._folder = folder

    def get(self, name: str) -> bytes:
        """Gives a front end's stylesheet. Errors: NotFound, Corrupt."""
        path = str(self._editor.get(SECTION, name).value["stylesheet"])
        if not path:
            raise NotFound(f"the front end {name} has no stylesheet, it is the built-in page")
        return read_stylesheet(path)

    def put(self, name: str, data: bytes, condition: Condition) -> Entry:
        """Sets a front end's stylesheet; one that is not there yet is made. Errors: BadRequest, Overtaken."""
        try:
            compile_stylesheet(data)
        except Corrupt as exc:
            raise BadRequest(str(exc)) from exc
        try:
            before = self._editor.get(SECTION, name)
            value, found = dict(before.value), Condition(tags=(before.tag,))
        except NotFound:
            value, found = {"name": name}, Condition(is_new=True)
        if not is_collection_name(name):
            raise BadRequest(f"'{name[:80]}' is no name of a front end; it has 1 to 200 letters, digits, _ and -")
        path = self._write(name, data)
        entry, _ = self._editor.put(SECTION, name, value | {"stylesheet": str(path)}, found if condition == ALWAYS else condition)
        self._forget_others(name, path)
        return entry

    def _write(self, name: str, data: bytes) -> Path:
        self._folder.mkdir(exist_ok=True, mode=0o700)
        path = self._folder.absolute() / f"{name}.{hashlib.sha256(data).hexdigest()[:16]}.xsl"
        fresh = path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        return path

    def _forget_others(self, name: str, kept: Path) -> None:
        for path in kept.parent.glob(f"{name}.*.xsl"):
            if path != kept:
                path.unlink(missing_ok=True)


def stylesheet_routes(shelf: StylesheetShelf) -> list[Route]:
    """Gives the routes over a shelf."""

    async def get(request: Request) -> Response:
        return Response(await run_in_threadpool(shelf.get, request.path_params["name"]), media_type="text/xml")

    async def put(request: Request) -> Response:
        data = await read_body(request, MAX_STYLESHEET_BYTES)
        entry = await run_in_threadpool(shelf.put, request.path_params["name"], data, read_condition(request))
        return JSONResponse({"name": entry.name, "stylesheet": entry.value["stylesheet"]}, headers={"ETag": f'"{entry.tag}"'})

    path = "/api/v1/settings/frontends/{name}/stylesheet"
    return [Route(path, get, methods=["GET"]), Route(path, put, methods=["PUT"])]
