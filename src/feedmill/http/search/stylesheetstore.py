"""Gets and sets the stylesheets of front ends: their files in the repository, their paths in the settings."""

from feedmill.core.query.sites import NAME_RULE, is_collection_name
from feedmill.http.search.frontends import StylesheetEngine
from feedmill.model.errors import BadRequest, Corrupt, NotFound
from feedmill.settings.editing import ALWAYS, Condition, SettingsEditor, SettingsEntry

SECTION = "frontends"


class StylesheetStore:
    """The stylesheets of front ends that the API sets."""

    def __init__(self, editor: SettingsEditor, engine: StylesheetEngine) -> None:
        self._editor = editor
        self._repository = engine.repository
        self._transformer = engine.transformer

    def get(self, name: str) -> bytes:
        """Returns a front end's stylesheet. Errors: NotFound, Corrupt."""
        path = str(self._editor.get(SECTION, name).value["stylesheet"])
        if not path:
            raise NotFound(f"the front end {name} has no stylesheet, it is the built-in page")
        return self._read_stylesheet(path)

    def put(self, name: str, data: bytes, condition: Condition) -> SettingsEntry:
        """Sets a front end's stylesheet; one that is not there yet is made. Errors: BadRequest, VersionConflict."""
        try:
            self._transformer.check_stylesheet(data)
        except Corrupt as exc:
            raise BadRequest(str(exc)) from exc
        try:
            before = self._editor.get(SECTION, name)
            value, found = dict(before.value), Condition(tags=(before.tag,))
        except NotFound:
            value, found = {"name": name}, Condition(is_new=True)
        if not is_collection_name(name):
            raise BadRequest(f"'{name[:80]}' is no name of a front end; it has {NAME_RULE}")
        path = self._repository.write_stylesheet(name, data)
        entry, _ = self._editor.put(SECTION, name, value | {"stylesheet": path}, found if condition == ALWAYS else condition)
        self._repository.delete_others(name, path)
        return entry

    def check_path(self, path: str) -> None:
        """Checks that the file at a path is a stylesheet, if there is a file. Errors: Corrupt."""
        if self._repository.has(path):
            self._read_stylesheet(path)

    def _read_stylesheet(self, path: str) -> bytes:
        """Returns a stylesheet. A user who may name a path can read nothing else on the machine by it. Errors: Corrupt."""
        data = self._repository.read_stylesheet(path, f"the file '{path}'")
        try:
            self._transformer.check_stylesheet(data)
        except Corrupt as exc:
            # the parser's reason would reveal what the file holds
            raise Corrupt(f"the file '{path}' is no XSLT 1.0 that stands alone") from exc
        return data
