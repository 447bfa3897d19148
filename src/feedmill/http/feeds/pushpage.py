"""``/push``: a form for pushing a feed in the browser. With scripts, the page follows the receipt until searches find all of the feed."""

import base64
import hashlib
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.feeds.gateconfig import CurrentConfig
from feedmill.http.pages.rendering import TEMPLATES, Pages

_SCRIPT: Final = (TEMPLATES / "push.js").read_text(encoding="utf-8")
_SCRIPT_HASH: Final = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_HEADERS: Final = {
    "content-security-policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_SCRIPT_HASH}'; connect-src 'self'"
    "; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}


class PushPage:
    """The form."""

    def __init__(self, config: CurrentConfig) -> None:
        self._config = config
        self._pages = Pages()

    async def show(self, request: Request) -> Response:
        """Returns the page."""
        max_feed_bytes = self._config().max_feed_bytes
        return self._pages.respond(request, "push.html", 200, _HEADERS, max_feed_bytes=max_feed_bytes, script=_SCRIPT)
