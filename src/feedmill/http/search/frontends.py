"""Front ends: XSLT 1.0 stylesheets on the server that turn result XML into a page.

- A stylesheet reads and writes nothing but the results: no file, no network, whether by ``document()``, an import or include, an entity,
  or an element that writes. It may declare entities.
- It is applied in a process of its own (``adapters/xslt``), which limits its depth, time, memory and output. It is cached for 15 minutes,
  or until a request reloads it: in all processes.
- The page may have styles, and scripts from this server. Scripts inside the page do not run, because titles and URLs in it come from
  documents that anyone may have written.
- Images come from this server only, or from servers that the settings file names. The URL of an image could send another server what was
  found, and a user who may set stylesheets by the API may not be permitted to see all documents.

Source: Search Protocol Reference, "Custom HTML Output", "proxyreload".
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cachetools import TTLCache

from feedmill.model.errors import BadRequest, Corrupt, NotFound
from feedmill.model.messages import message
from feedmill.model.serving import DEFAULT_FRONTEND
from feedmill.ports.counts import Count, Counts, LocalCounts
from feedmill.ports.stylesheets import StylesheetOutput, StylesheetRepository, StylesheetTransformer
from feedmill.services.waiting import waiting

CACHED_SECONDS = 900.0
MAX_CACHED = 100
MAX_PAGE_BYTES = 20_000_000
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src {images}; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

ReadStylesheetPaths = Callable[[], Mapping[str, str]]
"""Returns the path of each front end's stylesheet, "" for the built-in page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page that a stylesheet made. ``is_script``: a page of another site could load it as a script, and read its content."""

    body: bytes
    media_type: str
    is_script: bool = False


@dataclass(frozen=True, slots=True)
class _CachedStylesheet:
    stylesheet: bytes
    output: StylesheetOutput
    #: How often requests had reloaded it when it was read.
    reloads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StylesheetEngine:
    """Where stylesheets are stored, and what applies them."""

    repository: StylesheetRepository
    transformer: StylesheetTransformer


class FrontEnds:
    """The front ends by name, each with the path of its stylesheet, "" for the built-in page. May be used from several threads.

    ``stylesheets`` is read again for each page, since front ends can be set while the server runs. ``policy`` is the content security
    policy of pages; ``reloads`` counts the reloads of each stylesheet; ``image_sources`` are other origins whose images they may show.
    """

    def __init__(
        self,
        stylesheets: ReadStylesheetPaths,
        engine: StylesheetEngine | None = None,
        clock: Callable[[], float] = time.monotonic,
        image_sources: tuple[str, ...] = (),
        reloads: Counts | None = None,
    ) -> None:
        self.policy = _POLICY.format(images=" ".join(("'self'", "data:", *image_sources)))
        self._stylesheets = stylesheets
        self._engine = engine
        self._ready: TTLCache[tuple[str, str], _CachedStylesheet] = TTLCache(MAX_CACHED, CACHED_SECONDS, timer=clock)
        self._reloads = LocalCounts() if reloads is None else reloads
        self._lock = threading.Lock()

    def has_stylesheet(self, name: str) -> bool:
        """Returns whether a front end has a stylesheet of its own. Errors: BadRequest for an empty name, NotFound for an unknown one."""
        if not name:
            raise BadRequest(message("proxystylesheet= is empty; name a front end, or leave the parameter out for XML"))
        return bool(self._path_of(name))

    def _path_of(self, name: str) -> str:
        path = self._stylesheets().get(name)
        if path is None and name != DEFAULT_FRONTEND:
            raise NotFound(message("there is no front end %(name)s", name=ascii(name[:200])))
        return path or ""

    def render(self, name: str, xml: bytes, *, reload: bool = False, custom: bytes = b"") -> Page:
        """Returns a page of result XML, with ``custom`` in it as CUSTOM.

        Errors: NotFound, Corrupt for a stylesheet that cannot be read or that fails, BadRequest for ``custom`` that is refused.
        """
        path, engine = self._path_of(name), self._engine
        if engine is None:
            raise Corrupt(f"the stylesheet of front end {name} cannot be applied, because this server has no engine for stylesheets")
        with self._lock:
            ready = self._find_stylesheet(engine, name, path, reload=reload)
        try:
            with waiting():
                body = engine.transformer.transform(ready.stylesheet, xml, custom)
        except Corrupt as exc:
            raise Corrupt(f"the stylesheet of front end {name} failed: {exc}") from exc
        if len(body) > MAX_PAGE_BYTES:
            raise Corrupt(f"the stylesheet of front end {name} made more than {MAX_PAGE_BYTES} bytes")
        kind = _find_kind(ready.output, body)
        media_type = f"{kind}; charset={ready.output.encoding or 'UTF-8'}"
        return Page(body=body, media_type=media_type, is_script=kind.endswith(("javascript", "ecmascript")))

    def _find_stylesheet(self, engine: StylesheetEngine, name: str, path: str, *, reload: bool) -> _CachedStylesheet:
        ready = self._ready.get((name, path))
        reloads = self._count_reload(path) if reload else self._find_reloads(path)
        if ready is None or ready.reloads != reloads:
            data = engine.repository.read_stylesheet(path, f"the stylesheet of front end {name}")
            try:
                output = engine.transformer.read_output(data)
            except Corrupt as exc:
                raise Corrupt(f"the stylesheet of front end {name} is no XML: {exc}") from exc
            ready = _CachedStylesheet(data, output, reloads)
            self._ready[name, path] = ready
        return ready

    def _find_reloads(self, path: str) -> int:
        with self._reloads.locked():
            return (self._reloads.find(path) or Count()).amount

    def _count_reload(self, path: str) -> int:
        with self._reloads.locked():
            count = self._reloads.find(path) or Count()
            count.amount += 1
            self._reloads.put(path, count)
            return count.amount


def _find_kind(output: StylesheetOutput, body: bytes) -> str:
    """Returns the media type: that of the stylesheet, else XML if the page begins as XML, else HTML."""
    if output.media_type:
        return output.media_type
    if output.method == "text":
        return "text/plain"
    return "text/xml" if body.lstrip()[:5] == b"<?xml" and b"<html" not in body[:2_000].lower() else "text/html"
