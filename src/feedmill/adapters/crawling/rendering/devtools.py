"""A connection to a browser by the DevTools protocol: commands with their results, and events.

Source: https://chromedevtools.github.io/devtools-protocol/.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any, Final

from feedmill.adapters.crawling.rendering.framing import Message, MessageReader, write_message
from feedmill.adapters.crawling.rendering.launcher import ENDED
from feedmill.model.errors import UpstreamFailure

CALL_SECONDS: Final = 10.0

OnEvent = Callable[[str, Message, str], None]
"""Gets the method of an event, its parameters, and its session."""


class DevTools(asyncio.Protocol):
    """The connection; it belongs to one event loop. Events go to ``on_event`` as they arrive."""

    def __init__(self, max_bytes: int) -> None:
        self._reader = MessageReader(max_bytes)
        self._transport: asyncio.Transport | None = None
        self._number = 0
        self._calls: dict[int, asyncio.Future[Message]] = {}
        self._failure = ""
        self.on_event: OnEvent = lambda _method, _parameters, _session: None
        self.on_end: Callable[[], None] = lambda: None

    @classmethod
    async def open(cls, end: socket.socket, max_bytes: int) -> "DevTools":
        """Opens a connection over a socket."""
        _, connection = await asyncio.get_running_loop().create_connection(lambda: cls(max_bytes), sock=end)
        return connection

    @property
    def failure(self) -> str:
        """Why the browser does not answer any more, "" while it does."""
        return self._failure

    async def call(self, method: str, session: str = "", *, seconds: float = CALL_SECONDS, **parameters: object) -> Message:
        """Sends a command and returns its result. Errors: UpstreamFailure."""
        answer = self._send(method, session, parameters)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise UpstreamFailure(f"the browser did not answer {method} within {seconds:g} s") from None

    def send(self, method: str, session: str = "", **parameters: object) -> None:
        """Sends a command whose result does not matter."""
        if not self._failure:
            self._send(method, session, parameters).add_done_callback(_forget)

    def close(self) -> None:
        """Closes the connection, which ends the browser."""
        self._fail("the browser was ended")

    def _send(self, method: str, session: str, parameters: dict[str, object]) -> asyncio.Future[Message]:
        if self._failure or self._transport is None:
            raise UpstreamFailure(self._failure or "the browser is not connected")
        self._number += 1
        answer = self._calls[self._number] = asyncio.get_running_loop().create_future()
        number = self._number
        answer.add_done_callback(lambda _answer: self._calls.pop(number, None))
        self._transport.write(write_message(number, method, parameters, session))
        return answer

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Reads messages; one that cannot be read ends the connection."""
        try:
            for message in self._reader.read(data):
                self._take(message)
        except UpstreamFailure as exc:
            self._fail(str(exc))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the name of the protocol of asyncio
        """Ends all calls."""
        self._fail("the browser ended")

    def _take(self, message: Message) -> None:
        number, method = message.get("id"), message.get("method")
        parameters: Any = message.get("params")
        given: Message = parameters if isinstance(parameters, dict) else {}
        if isinstance(number, int):
            answer = self._calls.get(number)
            if answer is not None and not answer.done():
                _settle(answer, message)
        elif method == ENDED:
            self._fail(f"the browser ended: {given.get('reason')}")
        elif isinstance(method, str):
            self.on_event(method, given, str(message.get("sessionId", "")))

    def _fail(self, reason: str) -> None:
        if self._failure:
            return
        self._failure = reason
        for answer in list(self._calls.values()):
            if not answer.done():
                answer.set_exception(UpstreamFailure(reason))
        if self._transport is not None:
            self._transport.abort()
        self.on_end()


def _settle(answer: asyncio.Future[Message], message: Message) -> None:
    error, result = message.get("error"), message.get("result")
    if error is not None:
        text = error.get("message") if isinstance(error, dict) else error
        answer.set_exception(UpstreamFailure(f"the browser refuses a command: {text}"))
    else:
        answer.set_result(result if isinstance(result, dict) else {})


def _forget(answer: asyncio.Future[Message]) -> None:
    with contextlib.suppress(asyncio.CancelledError, UpstreamFailure):
        answer.result()
