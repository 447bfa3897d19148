"""The stylesheets of front ends that were put, kept in the data folder.

Each version has a name of its own, so that a page that is being made never sees half of one.
"""

import hashlib
import os
from pathlib import Path

from feedmill.core.query.sites import is_collection_name
from feedmill.http.search.stylesheets import compile_stylesheet, read_stylesheet
from feedmill.model.errors import BadRequest, Corrupt, NotFound
from feedmill.settings.editing import ALWAYS, Condition, HeldEntry, SettingsEditor

SECTION = "frontends"


class StylesheetStore:
    """The stylesheets that were put, in a folder of their own."""

    def __init__(self, editor: SettingsEditor, folder: Path) -> None:
        self._editor = editor
        self._folder = folder

    def get(self, name: str) -> bytes:
        """Returns a front end's stylesheet. Errors: NotFound, Corrupt."""
        path = str(self._editor.get(SECTION, name).value["stylesheet"])
        if not path:
            raise NotFound(f"the front end {name} has no stylesheet, it is the built-in page")
        return read_stylesheet(path)

    def put(self, name: str, data: bytes, condition: Condition) -> HeldEntry:
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
