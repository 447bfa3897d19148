"""Compresses text answers for clients that ask for it.

Only types that compress well are compressed, and only from ``MIN_BYTES`` on. An answer that is sent in pieces is compressed piece by piece,
so its beginning does not wait for its end. ``Vary`` names ``Accept-Encoding`` on every answer of such a type, compressed or not.
Source: RFC 9110, 8.4 (codings), 8.8.1 (weak validators), 12.5.3 (Accept-Encoding) and 12.5.5 (Vary).
"""

import re
import zlib
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIN_BYTES: Final = 500
_TEXTS: Final = re.compile(r"text/|application/(json|javascript|xml|[a-z0-9.+-]{1,80}\+(json|xml))|image/svg\+xml", re.IGNORECASE)
_BROTLI_QUALITY: Final = 4
_GZIP_LEVEL: Final = 6
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS


class _Compressor(Protocol):
    """Compresses pieces."""

    def compress(self, piece: bytes, *, is_last: bool) -> bytes:
        """Returns what the piece compresses to, all of it so that the client can read it at once."""


class _Gzip:
    def __init__(self) -> None:
        self._state = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)

    def compress(self, piece: bytes, *, is_last: bool) -> bytes:
        return self._state.compress(piece) + self._state.flush(zlib.Z_FINISH if is_last else zlib.Z_SYNC_FLUSH)


class _Brotli:
    def __init__(self) -> None:
        self._state = brotli.Compressor(quality=_BROTLI_QUALITY)

    def compress(self, piece: bytes, *, is_last: bool) -> bytes:
        compressed = self._state.process(piece)
        return bytes(compressed + (self._state.finish() if is_last else self._state.flush()))


_CODINGS: Final[Mapping[str, Callable[[], _Compressor]]] = {"br": _Brotli, "gzip": _Gzip}
"""The codings, the preferred one first."""


class Compression:
    """ASGI middleware that compresses text answers by ``br`` or ``gzip``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, and compresses its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        coding = choose_coding(Headers(scope=scope).get("accept-encoding", ""))
        await self._app(scope, receive, _Sender(send, coding, is_head=scope["method"] == "HEAD").send)


class _Sender:
    """Sends one answer."""

    def __init__(self, send: Send, coding: str, *, is_head: bool) -> None:
        self._send = send
        self._coding = coding
        self._is_head = is_head
        self._start: Message | None = None
        self._compressor: _Compressor | None = None

    async def send(self, message: Message) -> None:
        # The start waits for the first piece, which says whether compressing is worth it.
        if message["type"] == "http.response.start":
            self._start = message
            return
        if message["type"] != "http.response.body":
            await self._send(message)
            return
        body, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._start is not None:
            start, self._start = self._start, None
            self._begin(MutableHeaders(raw=start["headers"]), start["status"], body, is_last=is_last)
            await self._send(start)
        if self._compressor is not None:
            message = {**message, "body": self._compressor.compress(body, is_last=is_last)}
        await self._send(message)

    def _begin(self, headers: MutableHeaders, status: int, body: bytes, *, is_last: bool) -> None:
        """Decides whether an answer is compressed, and changes its headers."""
        if _TEXTS.match(headers.get("content-type", "")) is None or "content-encoding" in headers or "content-range" in headers:
            return
        headers.add_vary_header("Accept-Encoding")
        is_small = is_last and len(body) < MIN_BYTES
        if not self._coding or is_small or self._is_head or status in (204, 304):
            return
        self._compressor = _CODINGS[self._coding]()
        headers["content-encoding"] = self._coding
        if "content-length" in headers:
            del headers["content-length"]
        etag = headers.get("etag", "")
        if etag and not etag.startswith("W/"):
            headers["etag"] = f"W/{etag}"


def choose_coding(accepted: str) -> str:
    """Returns the coding for the value of ``Accept-Encoding``, "" for none."""
    weights: dict[str, float] = {}
    for part in accepted[:1_000].split(","):
        name, _, parameters = part.partition(";")
        weights[name.strip().lower()] = _read_weight(parameters)
    found = [(weights.get(name, weights.get("*", 0.0)), name) for name in _CODINGS]
    best = max(weight for weight, _ in found)
    return next((name for weight, name in found if weight == best), "") if best > 0 else ""


def _read_weight(parameters: str) -> float:
    name, _, value = parameters.partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return min(max(float(value), 0.0), 1.0)
    except ValueError:
        return 0.0
