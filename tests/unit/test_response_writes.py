"""The head of a response is sent together with the piece of its body that follows at once, and waits for no other."""

import asyncio
from collections.abc import Awaitable, Callable

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from feedmill.runtime.server.uvicorn_compat import HttpProtocol

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
SEVERAL_STEPS = 5

Pause = Callable[[], Awaitable[object]]


class Wire(asyncio.Transport):
    """A transport that keeps each piece that is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.pieces: list[bytes] = []
        self.is_shut = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.is_shut
        self.pieces.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_shut

    def close(self) -> None:
        self.is_shut = True

    def abort(self) -> None:
        self.is_shut = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def answering(*pieces: bytes, between: Pause | None = None, reads: bool = False) -> ASGIApp:
    """Returns an application that sends the pieces of a body; ``between`` is awaited before each, ``reads`` the body of the request."""

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        if reads:
            await receive()
        length = str(sum(map(len, pieces))).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        for number, piece in enumerate(pieces):
            if between is not None:
                await between()
            await send({"type": "http.response.body", "body": piece, "more_body": number + 1 < len(pieces)})

    return app


def pieces_of(app: ASGIApp, request: bytes = GET, act: Callable[[Wire], None] = lambda _: None) -> list[bytes]:
    """Returns what was written for a request. ``act`` is called after the first steps of the application."""

    async def main() -> list[bytes]:
        config = uvicorn.Config(app, lifespan="off", log_config=None, server_header=False, date_header=False)
        config.load()
        protocol, wire = HttpProtocol(config, ServerState(), {}), Wire()
        protocol.connection_made(wire)
        protocol.data_received(request)
        await asyncio.sleep(0)
        act(wire)
        for _ in range(SEVERAL_STEPS):
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        return wire.pieces

    return asyncio.run(main())


def test_head_and_body_are_one_piece() -> None:
    [piece] = pieces_of(answering(b"done"))
    assert piece.startswith(b"HTTP/1.1 200 OK\r\n")
    assert piece.endswith(b"\r\n\r\ndone")


def test_further_pieces_of_a_body_are_sent_as_they_come() -> None:
    first, *others = pieces_of(answering(b"do", b"ne", b"!"))
    assert first.endswith(b"\r\n\r\ndo")
    assert others == [b"ne", b"!"]


def test_head_waits_for_no_body_that_comes_later() -> None:
    head, body = pieces_of(answering(b"done", between=lambda: asyncio.sleep(0)))
    assert head.endswith(b"\r\n\r\n")
    assert body == b"done"


def test_head_without_a_body_is_sent() -> None:
    [head] = pieces_of(answering(b""), b"HEAD" + GET[3:])
    assert head.endswith(b"\r\n\r\n")


def test_head_is_sent_before_the_connection_ends() -> None:
    [head] = pieces_of(answering(b""), b"HEAD" + GET[3:-2] + b"Connection: close\r\n\r\n")
    assert head.endswith(b"connection: close\r\n\r\n")


def test_head_is_not_written_to_a_connection_that_is_gone() -> None:
    assert pieces_of(answering(b"done", between=lambda: asyncio.sleep(0)), act=Wire.abort) == []


def test_permission_to_go_on_is_sent_at_once() -> None:
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
    seen: list[list[bytes]] = []
    pieces_of(answering(b"done", reads=True), request, lambda wire: seen.append(list(wire.pieces)))
    assert seen == [[b"HTTP/1.1 100 Continue\r\n\r\n"]]


def test_responses_to_requests_that_were_sent_together_keep_their_order() -> None:
    number = iter(range(3))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answering(str(next(number)).encode())(scope, receive, send)

    pieces = pieces_of(app, GET * 3)
    assert [piece[-1:] for piece in pieces] == [b"0", b"1", b"2"]
