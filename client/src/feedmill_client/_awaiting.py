"""Performs the effects of operations with asyncio, and makes methods of operations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from feedmill_client._flows import END, Effect, Flow, Item, Open, Pull, Receive, Secure, Send, Sleep, Stream, send_into, throw_into
from feedmill_client._methods import Holds, imitate

if TYPE_CHECKING:
    from ssl import SSLContext

BUFFER_BYTES = 1 << 20

P = ParamSpec("P")
O = TypeVar("O")  # noqa: E741 - the state that operations work on
T = TypeVar("T")


def awaiting(operation: Callable[Concatenate[O, P], Flow[T]]) -> Callable[Concatenate[Holds[O], P], Coroutine[Any, Any, T]]:
    """Returns an operation as a method to await."""

    async def method(self: Holds[O], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await run(operation(self._core, *args, **kwargs))

    return imitate(method, operation)


def async_iterating(operation: Callable[Concatenate[O, P], Stream[T]]) -> Callable[Concatenate[Holds[O], P], AsyncIterator[T]]:
    """Returns an operation as a method that yields items to ``async for``."""

    def method(self: Holds[O], /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return iterate(operation(self._core, *args, **kwargs))

    return imitate(method, operation, AsyncIterator)


async def run(flow: Flow[T]) -> T:
    """Performs all effects of a flow, and returns its result."""
    try:
        effect = next(flow)
        while True:
            try:
                result = await _perform(effect)
            except BaseException as error:  # noqa: BLE001 - the operation closes its connection, and raises it
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as end:
        result_of_flow: T = end.value
        return result_of_flow


async def iterate(stream: Stream[T]) -> AsyncIterator[T]:
    """Performs all effects of a stream, and yields its items."""
    try:
        step = next(stream, None)
        while step is not None:
            if isinstance(step, Item):
                yield step.value
                step = next(stream, None)
                continue
            try:
                result = await _perform(step)
            except BaseException as error:  # noqa: BLE001 - the operation closes its connection, and raises it
                step = throw_into(stream, error)
            else:
                step = send_into(stream, result)
    finally:
        stream.close()


async def _perform(effect: Effect[Any]) -> Any:
    if isinstance(effect, Receive):
        return await _its(effect.connection).receive(effect.seconds)
    if isinstance(effect, Send):
        return await _its(effect.connection).send(effect.data, effect.seconds)
    if isinstance(effect, Pull):
        if isinstance(effect.source, AsyncIterator):
            return await anext(effect.source, END)
        # a disk may be slow; an iterator of the caller stays in the thread of the loop, which it may need
        return await asyncio.to_thread(next, effect.source, END) if effect.is_file else next(effect.source, END)
    if isinstance(effect, Open):
        return await _open(effect)
    if isinstance(effect, Secure):
        return await _its(effect.connection).secure(effect.host, effect.context, effect.seconds)
    assert isinstance(effect, Sleep)
    return await asyncio.sleep(effect.seconds)


class LoopConnection(asyncio.Protocol):
    """A connection of an event loop. It belongs to its loop: in another one it counts as closed."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._error: Exception | None = None
        self._is_over = self._is_full = False
        self._changed = asyncio.Event()

    # --- what the loop calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > BUFFER_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._changed.set()

    def eof_received(self) -> bool:
        self._is_over = True
        self._changed.set()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over, self._error = True, exc
        self._changed.set()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._changed.set()

    # --- what the driver calls ---

    def has_incoming(self) -> bool:
        """Returns whether bytes or the end of the connection have come."""
        return bool(self._received) or self._is_over or self._loop is not asyncio.get_running_loop()

    async def secure(self, host: str, context: SSLContext, seconds: float) -> None:
        if self._transport is None or self._transport.is_closing():
            raise self._error or ConnectionResetError("the connection was closed")
        async with asyncio.timeout(seconds):
            made = await self._loop.start_tls(self._transport, self, context, server_hostname=host)
        if made is None:
            raise self._error or ConnectionResetError("the connection was closed")
        self._transport = made

    async def send(self, data: bytes, seconds: float) -> None:
        if self._transport is None or self._transport.is_closing():
            raise self._error or ConnectionResetError("the connection was closed")
        self._transport.write(data)
        async with asyncio.timeout(seconds):
            while self._is_full and not self.has_incoming():
                await self._wait()

    async def receive(self, seconds: float) -> bytes:
        async with asyncio.timeout(seconds):
            while not self.has_incoming():
                await self._wait()
        if not self._received and self._error is not None:
            raise self._error
        received = bytes(self._received)
        self._received.clear()
        if self._transport is not None and not self._is_over:
            self._transport.resume_reading()
        return received

    def close(self) -> None:
        if self._transport is not None and not self._loop.is_closed():
            self._transport.abort()

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()


def _its(connection: object) -> LoopConnection:
    assert isinstance(connection, LoopConnection)
    return connection


async def _open(effect: Open) -> LoopConnection:
    name = effect.host if effect.context is not None else None
    async with asyncio.timeout(effect.seconds):
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(LoopConnection, effect.host, effect.port, ssl=effect.context, server_hostname=name)
    return made
