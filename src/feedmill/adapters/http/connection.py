"""HTTP/1.1 to one server over one connection, which is reused as long as both sides allow it.

The timeouts of usual clients restart with every piece that arrives, so a server that drips its response holds them for ever. Here one
deadline covers the whole exchange: lookup, connect, TLS, request and response.
"""

import asyncio
import ssl
from dataclasses import replace
from typing import Final

import h11

from feedmill.adapters.http.dialing import Proxy, dial
from feedmill.adapters.http.errors import ClosedEarly, ExchangeFailure, FailureKind, translating
from feedmill.adapters.http.lookup import Lookup, look_up
from feedmill.adapters.http.stream import PIECE_BYTES, Stream
from feedmill.ports.http import HttpRequest, HttpResponse, ServerAddress

_MAX_HEAD_BYTES: Final = 65_536
_MAX_INTERIM: Final = 10
SMALL_BYTES: Final = 262_144
"""A body of up to this size is read without reserving memory for it."""


class AsyncConnection:
    """A connection to one server, opened on first use. One request at a time."""

    def __init__(
        self, server: ServerAddress, *, proxy: Proxy | None = None, lookup: Lookup = look_up, context: ssl.SSLContext | None = None
    ) -> None:
        self._server = server
        self._proxy = proxy
        self._lookup = lookup
        self._context = context
        self._stream: Stream | None = None
        self._protocol = h11.Connection(h11.CLIENT)
        self._limit: asyncio.Timeout | None = None

    async def send(self, request: HttpRequest, seconds: float) -> HttpResponse:
        """Sends a request and waits for its response. Errors: UpstreamFailure."""
        is_complete = False
        try:
            with translating():
                async with asyncio.timeout(seconds) as limit:
                    self._limit = limit
                    response = await self._exchange_again(request)
            is_complete = True
            return response
        finally:
            if not is_complete:
                self.close()

    @property
    def is_reusable(self) -> bool:
        """Whether another request can be sent over the same connection: both sides have ended their messages and left it open."""
        is_done = self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE
        # What comes without a request is the end of the connection, or a complaint (408) that would be read as the next response.
        return self._stream is not None and is_done and not self._protocol.trailing_data[0] and not self._stream.has_input()

    def close(self) -> None:
        """Closes the connection."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    async def _exchange_again(self, request: HttpRequest) -> HttpResponse:
        is_reused = self._stream is not None
        try:
            return await self._exchange(request)
        # Repeated once at most, and only on a reused connection: a request on a new one may have been carried out.
        except (ConnectionError, ssl.SSLEOFError, h11.RemoteProtocolError):
            # a server may close an idle connection at any time
            self.close()
            if not is_reused:
                raise
            if request.pause_seconds:
                await asyncio.sleep(request.pause_seconds)
            return await self._exchange(request)

    async def _exchange(self, request: HttpRequest) -> HttpResponse:
        stream = await self._prepare()
        protocol = self._protocol
        pieces = [protocol.send(self._make_head(request))]
        if request.body:
            pieces.append(protocol.send(h11.Data(data=request.body)))
        pieces.append(protocol.send(h11.EndOfMessage()))
        await stream.send(b"".join(piece for piece in pieces if piece))
        return await self._receive(stream, request)

    def _make_head(self, request: HttpRequest) -> h11.Request:
        headers = [(name.encode(), value) for name, value in request.headers]
        # a request that says that it is sent in chunks is: h11 frames its body so
        if request.body and not any(name.lower() == b"transfer-encoding" for name, _ in headers):
            headers.append((b"Content-Length", str(len(request.body)).encode()))
        if self._proxy is None or self._server.is_tls:
            return h11.Request(method=request.method, target=request.path, headers=headers)
        # without a tunnel, the proxy reads the server from the request line
        if self._proxy.authorization:
            headers.append((b"Proxy-Authorization", self._proxy.authorization))
        return h11.Request(method=request.method, target=f"http://{self._server.authority}{request.path}", headers=headers)

    async def _receive(self, stream: Stream, request: HttpRequest) -> HttpResponse:
        response, body, interim, is_over = HttpResponse(status=0), bytearray(), 0, False
        is_reserved = request.reserve is None
        while True:
            try:
                event = self._protocol.next_event()
            except h11.RemoteProtocolError as exc:
                begun = self._protocol.trailing_data[0]
                if is_over and (response.status or not begun or begun.startswith(b"HTTP/")):
                    raise ClosedEarly from exc
                raise
            if event is h11.NEED_DATA:
                piece = await stream.receive(PIECE_BYTES)
                is_over = not piece
                self._protocol.receive_data(piece)
            elif isinstance(event, h11.InformationalResponse):
                interim += 1
                if interim > _MAX_INTERIM:
                    raise ExchangeFailure("it answers that it will answer, over and over", FailureKind.NO_HTTP)
            elif isinstance(event, h11.Response):
                response = HttpResponse(status=event.status_code, headers=tuple((name.decode(), value) for name, value in event.headers))
                # The caller does not want the body. Closing is cheaper than reading it, and the connection cannot be reused without that.
                if not request.max_bytes and request.method != "HEAD":
                    self.close()
                    return response
                if request.method != "HEAD" and _read_length(response) > request.max_bytes and not _keeps_beginning(request, response):
                    return self._cut(request, response, b"")
                if not is_reserved and _read_length(response) > SMALL_BYTES:
                    is_reserved = await self._reserve(request, response)
            elif isinstance(event, h11.Data):
                body += event.data
                if not is_reserved and len(body) > SMALL_BYTES:
                    is_reserved = await self._reserve(request, response)
                # Checked at each piece, since the announced length of a body need not be true.
                if len(body) > request.max_bytes:
                    return self._cut(request, response, body)
            elif isinstance(event, h11.EndOfMessage):
                return replace(response, body=bytes(body))
            else:
                raise ClosedEarly

    async def _reserve(self, request: HttpRequest, response: HttpResponse) -> bool:
        """Waits for the memory of a body; the time limit does not count the wait. Returns True."""
        assert request.reserve is not None
        assert self._limit is not None
        loop, until = asyncio.get_running_loop(), self._limit.when()
        begun = loop.time()
        self._limit.reschedule(None)
        try:
            await request.reserve(_find_need(request, response))
        finally:
            self._limit.reschedule(None if until is None else until + loop.time() - begun)
        return True

    def _cut(self, request: HttpRequest, response: HttpResponse, body: bytes | bytearray) -> HttpResponse:
        """Returns the response to a body that is too large. Errors: ExchangeFailure."""
        if request.cut_types is None:
            raise ExchangeFailure(f"its answer has more than {request.max_bytes} bytes", FailureKind.TOO_LARGE)
        # Closing is cheaper than reading the rest.
        self.close()
        return replace(response, body=bytes(body[: request.max_bytes]) if _keeps_beginning(request, response) else b"", is_cut=True)

    async def _prepare(self) -> Stream:
        """Returns a stream on which a request can be sent now."""
        if self._stream is not None:
            # Only if both sides have ended their messages; otherwise the rest of a response would be read as the next one.
            if self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE:
                self._protocol.start_next_cycle()
                return self._stream
            self.close()
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._stream = await dial(self._server, self._proxy, self._lookup, self._context)
        return self._stream


def _read_length(response: HttpResponse) -> int:
    text = response.find_header("content-length")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _find_need(request: HttpRequest, response: HttpResponse) -> int:
    """Returns the most memory that a body may need: all of it at once, so that no body waits for more while it keeps others waiting."""
    as_sent = min(_read_length(response) or request.max_bytes, request.max_bytes)
    return as_sent + (request.max_bytes if response.find_header("content-encoding") else 0)


def _keeps_beginning(request: HttpRequest, response: HttpResponse) -> bool:
    kind = response.find_header("content-type").strip().lower()
    return request.cut_types is not None and kind.startswith(request.cut_types)
