"""Performs the effects of operations with sockets, and makes methods of operations."""

from __future__ import annotations

import socket
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from feedmill_client._flows import END, Effect, Flow, Item, Open, Pull, Receive, Secure, Send, Sleep, Stream, send_into, throw_into
from feedmill_client._methods import Holds, imitate

if TYPE_CHECKING:
    from ssl import SSLContext

RECEIVE_BYTES = 1 << 16

P = ParamSpec("P")
O = TypeVar("O")  # noqa: E741 - the state that operations work on
T = TypeVar("T")


def blocking(operation: Callable[Concatenate[O, P], Flow[T]]) -> Callable[Concatenate[Holds[O], P], T]:
    """Returns an operation as a method that waits for its result."""

    def method(self: Holds[O], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(operation(self._core, *args, **kwargs))

    return imitate(method, operation)


def iterating(operation: Callable[Concatenate[O, P], Stream[T]]) -> Callable[Concatenate[Holds[O], P], Iterator[T]]:
    """Returns an operation as a method that yields items."""

    def method(self: Holds[O], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return iterate(operation(self._core, *args, **kwargs))

    return imitate(method, operation, Iterator)


def run(flow: Flow[T]) -> T:
    """Performs all effects of a flow, and returns its result."""
    try:
        effect = next(flow)
        while True:
            try:
                result = _perform(effect)
            except BaseException as error:  # noqa: BLE001 - the operation closes its connection, and raises it
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as end:
        result_of_flow: T = end.value
        return result_of_flow


def iterate(stream: Stream[T]) -> Iterator[T]:
    """Performs all effects of a stream, and yields its items."""
    try:
        step = next(stream, None)
        while step is not None:
            if isinstance(step, Item):
                yield step.value
                step = next(stream, None)
                continue
            try:
                result = _perform(step)
            except BaseException as error:  # noqa: BLE001 - the operation closes its connection, and raises it
                step = throw_into(stream, error)
            else:
                step = send_into(stream, result)
    finally:
        stream.close()


def _perform(effect: Effect[Any]) -> Any:
    if isinstance(effect, Receive):
        return _its(effect.connection).receive(effect.seconds)
    if isinstance(effect, Send):
        return _its(effect.connection).send(effect.data, effect.seconds)
    if isinstance(effect, Pull):
        if isinstance(effect.source, AsyncIterator):
            raise TypeError("documents that come asynchronously need an AsyncClient")
        return next(effect.source, END)
    if isinstance(effect, Open):
        return _open(effect.host, effect.port, effect.context, effect.seconds)
    if isinstance(effect, Secure):
        return _its(effect.connection).secure(effect.host, effect.context, effect.seconds)
    assert isinstance(effect, Sleep)
    return time.sleep(effect.seconds)


class SocketConnection:
    """A connection over a socket."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._nothing_yet: tuple[type[OSError], ...] = (BlockingIOError,)
        self._received = b""
        self._is_over = False
        # of a client that nobody closes too
        self._close = weakref.finalize(self, opened.close)

    def secure(self, host: str, context: SSLContext, seconds: float) -> None:
        # slow to load, and not needed without TLS
        import ssl

        self._socket.settimeout(seconds)
        # the socket of TLS takes the place of the other one, also if it fails
        self._close.detach()
        self._socket = context.wrap_socket(self._socket, server_hostname=host)
        self._close = weakref.finalize(self, self._socket.close)
        self._nothing_yet = (ssl.SSLWantReadError, ssl.SSLWantWriteError)

    def has_incoming(self) -> bool:
        """Returns whether bytes or the end of the connection have come. Over TLS only bytes of HTTP count."""
        if not self._received and not self._is_over:
            self._socket.settimeout(0)
            try:
                self._received = self._socket.recv(RECEIVE_BYTES)
            except self._nothing_yet:
                return False
            self._is_over = not self._received
        return True

    def send(self, data: bytes, seconds: float) -> None:
        self._socket.settimeout(seconds)
        rest = memoryview(data)
        while rest:
            rest = rest[self._socket.send(rest) :]

    def receive(self, seconds: float) -> bytes:
        if self._received or self._is_over:
            received, self._received = self._received, b""
            return received
        self._socket.settimeout(seconds)
        return self._socket.recv(RECEIVE_BYTES)

    def close(self) -> None:
        self._close()


def _its(connection: object) -> SocketConnection:
    assert isinstance(connection, SocketConnection)
    return connection


def _open(host: str, port: int, context: SSLContext | None, seconds: float) -> SocketConnection:
    opened = socket.create_connection((host, port), seconds)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = SocketConnection(opened)
    if context is not None:
        try:
            connection.secure(host, context, seconds)
        except BaseException:
            opened.close()
            raise
    return connection
