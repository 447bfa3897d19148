"""Limits the size of a request head, because uvicorn holds a URL and headers of any length in memory.

A head that is too long is refused with a text and the connection is closed, before an application sees the request.
"""

from typing import Final

import httptools

from feedmill.http.common.hostcheck import TARGET_EXTENSION
from feedmill.runtime.server.uvicorn_compat import HttpProtocol

MAX_URL_BYTES: Final = 65_535
"""The longest URL that uvicorn's parser accepts."""

MAX_HEAD_BYTES: Final = 262_144
"""Counted in whole pieces as they come from the network, so slightly more may have been read."""

_URL_TOO_LONG = f"the URL has more than {MAX_URL_BYTES} bytes; send fewer or shorter parameters"
_HEAD_TOO_LONG = f"the head of the request has more than {MAX_HEAD_BYTES} bytes; send fewer or shorter headers"


class BoundedProtocol(HttpProtocol):
    """Refuses a head that is too long."""

    _head_bytes = 0
    _is_in_head = True

    def data_received(self, data: bytes) -> None:
        """Reads bytes, of a head only up to the limit."""
        if self._is_in_head:
            self._head_bytes += len(data)
        # The bytes are counted before the parser reads them. If the head ends in this piece, the check below does not apply.
        super().data_received(data)
        if self._is_in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_refusal(*((414, _URL_TOO_LONG) if len(self.url) > MAX_URL_BYTES else (431, _HEAD_TOO_LONG)))

    def on_headers_complete(self) -> None:
        """Begins to handle a request."""
        self._is_in_head = False
        if not self.url.startswith(b"/"):
            self._note_target()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Waits for the head of the next request."""
        super().on_message_complete()
        self._is_in_head, self._head_bytes = True, 0

    def send_400_response(self, msg: str) -> None:
        """Refuses a request that cannot be parsed."""
        if len(self.url) > MAX_URL_BYTES:
            self.send_refusal(414, _URL_TOO_LONG)
        else:
            super().send_400_response(msg)

    def _note_target(self) -> None:
        """Passes the host of a target that is a whole URL to the application. uvicorn drops it. Errors: those of the parser."""
        parts = httptools.parse_url(self.url)
        if parts.host is not None:
            start = self.url.index(b"//") + 2
            authority = self.url[start:].partition(b"/")[0].partition(b"?")[0]
            self.set_extension(TARGET_EXTENSION, {"authority": authority})
