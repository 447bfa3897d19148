"""A connection whose client is too slow is ended, and no other."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from feedmill.http.common.answers import send_text
from feedmill.runtime.server.deadlines import HEAD_SECONDS, REST_SECONDS, BodyRule, SlowPhase, TimedProtocol
from feedmill.runtime.server.deadlines import RESPONSE_SECONDS as ANSWER

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
STEADY = BodyRule(seconds=20.0)


class Wire(asyncio.Transport):
    """A transport that keeps what is written, and of it as much as its client does not take."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.written = b""
        self.untaken_bytes = 0
        self.is_shut = False
        self.was_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.untaken_bytes

    def is_closing(self) -> bool:
        return self.is_shut

    def close(self) -> None:
        self.is_shut = True

    def abort(self) -> None:
        self.is_shut = self.was_aborted = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def read_and_answer(_scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await send_text(send, 200, "done")


async def answer_at_once(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send_text(send, 200, "done")


async def never_answer(_scope: Scope, _receive: Receive, _send: Send) -> None:
    await asyncio.Event().wait()


def run(app: ASGIApp, test: Callable[[TimedProtocol, Wire, float], Coroutine[None, None, None]], rule: BodyRule | None = None) -> None:
    """Runs a test with a protocol whose connection was made at the time it is given."""

    async def main() -> None:
        config = uvicorn.Config(app, lifespan="off", log_config=None)
        config.load()
        protocol = TimedProtocol(config, ServerState(), {})
        if rule is not None:
            protocol.body_rule = rule
        wire = Wire()
        protocol.connection_made(wire)
        await test(protocol, wire, asyncio.get_running_loop().time())

    asyncio.run(main())


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_silent_connection_is_ended_without_a_word() -> None:
    async def test(protocol: TimedProtocol, wire: Wire, now: float) -> None:
        assert protocol.check(now + HEAD_SECONDS - 1) is None
        assert protocol.check(now + HEAD_SECONDS + 1) is SlowPhase.HEAD
        assert (wire.written, wire.was_aborted) == (b"", True)

    run(read_and_answer, test)


def test_half_a_head_is_answered_408() -> None:
    async def test(protocol: TimedProtocol, wire: Wire, now: float) -> None:
        protocol.data_received(HEAD[:10])
        protocol.data_received(HEAD[10:20])
        assert protocol.check(now + HEAD_SECONDS + 1) is SlowPhase.HEAD
        assert wire.written.startswith(b"HTTP/1.1 408 ")
        assert wire.is_shut

    run(read_and_answer, test)


def test_connection_that_rests_has_longer_and_then_the_time_of_a_head_again() -> None:
    async def test(protocol: TimedProtocol, wire: Wire, now: float) -> None:
        protocol.data_received(HEAD)
        await settle()
        assert wire.written.endswith(b"done")
        assert protocol.check(now + HEAD_SECONDS + 1) is None
        assert protocol.check(now + REST_SECONDS + 1) is SlowPhase.NEXT_REQUEST

    async def begin_again(protocol: TimedProtocol, _wire: Wire, now: float) -> None:
        protocol.data_received(HEAD)
        await settle()
        protocol.data_received(HEAD[:5])
        assert protocol.check(now + HEAD_SECONDS + 1) is SlowPhase.HEAD

    run(read_and_answer, test)
    run(read_and_answer, begin_again)


@pytest.mark.parametrize(
    ("sent_bytes", "seconds", "late"), [(0, 9, None), (0, 11, SlowPhase.BODY), (9_000, 18, None), (9_000, 20, SlowPhase.BODY)]
)
def test_small_body_has_ten_seconds_and_a_second_for_each_thousand_bytes(sent_bytes: int, seconds: float, late: SlowPhase | None) -> None:
    async def test(protocol: TimedProtocol, wire: Wire, now: float) -> None:
        protocol.data_received(POST + b"x" * sent_bytes)
        await settle()
        assert protocol.check(now + seconds) is late
        assert wire.written.startswith(b"HTTP/1.1 408 " if late else b"")

    run(read_and_answer, test)


def test_steady_body_is_never_cut_and_one_that_stops_is() -> None:
    async def test(protocol: TimedProtocol, _wire: Wire, now: float) -> None:
        protocol.data_received(POST)
        for seconds in range(0, 1_000, 10):
            protocol.data_received(b"x")
            await settle()
            assert protocol.check(now + seconds) is None
        assert protocol.check(now + 990 + 19) is None
        assert protocol.check(now + 990 + 21) is SlowPhase.BODY

    run(read_and_answer, test, STEADY)


def test_client_is_not_blamed_while_its_body_is_not_read() -> None:
    async def test(protocol: TimedProtocol, _wire: Wire, now: float) -> None:
        protocol.data_received(POST + b"x" * 90_000)
        await settle()
        assert protocol.check(now + 1_000) is None

    async def await_continue(protocol: TimedProtocol, _wire: Wire, now: float) -> None:
        protocol.data_received(POST.replace(b"Host", b"Expect: 100-continue\r\nHost"))
        await settle()
        assert protocol.check(now + 1_000) is None

    run(never_answer, test)
    run(never_answer, await_continue)


def test_rest_of_a_body_that_is_not_read_has_the_time_of_a_head() -> None:
    async def test(protocol: TimedProtocol, wire: Wire, now: float) -> None:
        protocol.data_received(POST)
        await settle()
        assert wire.written.endswith(b"done")
        protocol.data_received(b"x")
        assert protocol.check(now + HEAD_SECONDS + 1) is SlowPhase.HEAD

    run(answer_at_once, test)


def test_answer_that_takes_long_to_be_made_is_waited_for() -> None:
    async def test(protocol: TimedProtocol, _wire: Wire, now: float) -> None:
        protocol.data_received(HEAD)
        await settle()
        assert protocol.check(now + 1_000) is None

    run(never_answer, test)


def test_answer_must_be_taken_at_some_rate() -> None:
    async def test(protocol: TimedProtocol, wire: Wire, now: float) -> None:
        protocol.data_received(HEAD)
        wire.untaken_bytes = 100_000
        for number in range(10):
            assert protocol.check(now + number * (ANSWER - 1)) is None
            wire.untaken_bytes -= 1_000
        wire.untaken_bytes += 990
        stopped = now + 9 * (ANSWER - 1)
        assert protocol.check(stopped + ANSWER - 1) is None
        assert protocol.check(stopped + ANSWER + 1) is SlowPhase.RESPONSE
        assert wire.was_aborted

    run(never_answer, test)


def test_connection_that_cannot_end_since_its_answer_is_not_taken_is_cut_off() -> None:
    async def test(protocol: TimedProtocol, wire: Wire, now: float) -> None:
        wire.untaken_bytes = 10
        wire.close()
        assert protocol.check(now) is None
        assert protocol.check(now + ANSWER + 1) is SlowPhase.RESPONSE
        assert wire.was_aborted

    run(read_and_answer, test)


def test_requests_without_end_on_one_connection_are_cut_off() -> None:
    async def test(protocol: TimedProtocol, wire: Wire, _now: float) -> None:
        protocol.data_received(HEAD * 100)
        assert wire.was_aborted

    async def few(protocol: TimedProtocol, wire: Wire, _now: float) -> None:
        protocol.data_received(HEAD * 20)
        for _ in range(20):
            await settle()
        assert wire.written.count(b"HTTP/1.1 200 OK") == 20

    run(read_and_answer, test)
    run(read_and_answer, few)
