"""The head of a request, read up to a bound: uvicorn's protocol keeps a URL and headers in memory however long they are.

What is too long is refused in words and the connection closed, whoever sends it and before any application sees it.
"""

from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from feedmill.http.hostcheck import TARGET_EXTENSION

MAX_URL_BYTES: Final = 65_535
"""What uvicorn's parser of URLs takes."""

MAX_HEAD_BYTES: Final = 262_144
"""Counted in whole pieces as they come from the network, so that a little more may have been read."""

_URL_TOO_LONG = f"the URL has more than {MAX_URL_BYTES} bytes; send fewer or shorter parameters"
_HEAD_TOO_LONG = f"the head of the request has more than {MAX_HEAD_BYTES} bytes; send fewer or shorter headers"


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's, which refuses a head that is too long."""

    url = b""
    _head_bytes = 0
    _is_in_head = True

    def data_received(self, data: bytes) -> None:
        """Takes what came, of a head only so much."""
        if self._is_in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(*((414, _URL_TOO_LONG) if len(self.url) > MAX_URL_BYTES else (431, _HEAD_TOO_LONG)))

    def on_headers_complete(self) -> None:
        """Begins to answer a request."""
        self._is_in_head = False
        if not self.url.startswith(b"/"):
            self._note_target()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Waits for the head of the next request."""
        super().on_message_complete()
        self._is_in_head, self._head_bytes = True, 0

    def send_400_response(self, msg: str) -> None:
        """Refuses a request that cannot be read."""
        if len(self.url) > MAX_URL_BYTES:
            self._refuse(414, _URL_TOO_LONG)
        else:
            super().send_400_response(msg)

    def _note_target(self) -> None:
        """Tells the application the host of a target that is a whole URL, which uvicorn leaves out. Errors: those of the parser."""
        parts = httptools.parse_url(self.url)
        if parts.host is not None:
            start = self.url.index(b"//") + 2
            authority = self.url[start:].partition(b"/")[0].partition(b"?")[0]
            self.scope["extensions"] = {**(self.scope.get("extensions") or {}), TARGET_EXTENSION: {"authority": authority}}

    def _refuse(self, status: int, text: str) -> None:
        headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + headers.encode("ascii") + text.encode("ascii"))
        self.transport.close()
