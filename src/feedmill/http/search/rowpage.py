"""Rows of databases, read for display when a user opens them: ``/db/SOURCE/KEY/...``, as on the appliance.

A row is shown to users who may see its document, as the last run brought it. The page has no origin, no script and no form, as cached
copies have, because a row may hold text of any author. The cached copy stands in for a row that the source has no query for, or whose
database fails.
"""

import re
from collections.abc import Callable, Sequence
from urllib.parse import quote, unquote_to_bytes, urlencode

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.common.currentuser import Identify
from feedmill.http.common.searchthreads import find_deadline
from feedmill.http.search.cachepage import POLICY
from feedmill.model.errors import NotFound, UpstreamFailure
from feedmill.model.messages import message
from feedmill.ports.pulling import RowSource, ShownRow
from feedmill.services.searching.visibledocuments import VisibleDocuments
from feedmill.services.waiting import waiting

PATH = "/db/{name}/{keys:path}"
SCHEME = "googledb://"
_MIMETYPE = re.compile(r"[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+")

log = structlog.get_logger(__name__)

FindRows = Callable[[str], RowSource | None]
"""Opens the source of a name for single rows; None if there is none."""


def find_no_rows(_name: str) -> None:
    """Finds no source."""


def find_row_path(url: str) -> str | None:
    """Returns the path on the search port for the URL of a row, None for another URL."""
    if not url.startswith(SCHEME):
        return None
    _, slash, rest = url.removeprefix(SCHEME).partition("/")
    return f"/db/{quote(rest, safe='/%')}" if slash and rest else None


class RowPages:
    """Shows rows to users who may see their documents."""

    def __init__(self, documents: VisibleDocuments, identify: Identify, find_rows: FindRows) -> None:
        self._documents = documents
        self._identify = identify
        self._find_rows = find_rows

    def show_row(self, request: Request) -> Response:
        """Returns the page of a row. Errors: NotFound, also if the user may not see it."""
        # of the path as it was sent: in a decoded path a slash within a key would separate keys
        raw = bytes(request.scope.get("raw_path") or request.url.path.encode()).partition(b"?")[0]
        name, _, rest = raw.removeprefix(b"/db/").partition(b"/")
        keys = [unquote_to_bytes(key).decode("utf-8", "replace") for key in rest.split(b"/")]
        named = unquote_to_bytes(name).decode("utf-8", "replace")
        source = self._find_rows(named)
        if source is None:
            raise NotFound(message("there is no such row"))
        try:
            url = source.find_url(keys)
            found = self._documents.get_document(url, self._identify(request), find_deadline(request))
            if found.document.datasource != named:
                # a feed took the URL over; what its ACL permits says nothing about the row
                raise NotFound(message("there is no such row"))
            row = _read_row(source, keys, named)
        finally:
            source.close()
        if row is None:
            return RedirectResponse(f"/cache?{urlencode({'url': url})}", headers=PRIVATE_NO_CACHE)
        headers = {**PRIVATE_NO_CACHE, "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"}
        if row.mimetype != "text/html":
            headers["Content-Disposition"] = "attachment"
        mimetype = row.mimetype if _MIMETYPE.fullmatch(row.mimetype) else "application/octet-stream"
        return Response(row.data, media_type=f"{mimetype}; charset=utf-8" if mimetype == "text/html" else mimetype, headers=headers)


def _read_row(source: RowSource, keys: Sequence[str], name: str) -> ShownRow | None:
    """Returns a row, None if it cannot be read. Errors: NotFound."""
    try:
        with waiting():
            return source.read_row(keys)
    except UpstreamFailure as exc:
        log.warning("row_not_read", source=name, reason=str(exc))
        return None
