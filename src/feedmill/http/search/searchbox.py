"""``/search-box.js``: the search box for pages of other sites. Its address stays, so browsers ask again after an hour.

The script holds nothing of a user. What it searches for goes through ``/api/v1``, which other sites read only if the settings name them.
"""

import hashlib
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

SEARCH_BOX_PATH: Final = "/search-box.js"
_FILE: Final = Path(__file__).parents[1] / "embedded" / "search-box.js"


class SearchBoxScript:
    """The route of the script."""

    def __init__(self) -> None:
        self._script = _FILE.read_bytes()
        self._headers = {
            "Cache-Control": "public, max-age=3600",
            "ETag": f'"{hashlib.sha256(self._script).hexdigest()[:16]}"',
            # pages of other sites load it without CORS, as every script element does
            "Cross-Origin-Resource-Policy": "cross-origin",
        }

    def show(self, request: Request) -> Response:
        """Returns the script, or says that the browser has it."""
        known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
        if self._headers["ETag"] in known:
            return Response(status_code=304, headers=self._headers)
        return Response(self._script, media_type="text/javascript; charset=utf-8", headers=self._headers)
