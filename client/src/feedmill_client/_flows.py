"""What the operations of the client do is written once, as generators that do no I/O: they yield effects, which a driver performs.

``_blocking`` performs effects with sockets and ``_awaiting`` with asyncio. A ``Flow`` returns its result, a ``Stream`` yields ``Item`` s
between its effects too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from ssl import SSLContext

T = TypeVar("T")
R = TypeVar("R")


class Connection(Protocol):
    """A connection that a driver has opened. These methods never wait."""

    def has_incoming(self) -> bool:
        """Returns whether bytes or the end of the connection have come. Errors: OSError."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class Effect(Generic[R]):
    """Something that a driver does, whose result is of type ``R``."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Open(Effect[Connection]):
    """Opens a connection. Errors: OSError."""

    host: str
    port: int
    context: SSLContext | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Secure(Effect[None]):
    """Begins TLS on a connection that is open. Errors: OSError."""

    connection: Connection
    host: str
    context: SSLContext
    seconds: float


@dataclass(frozen=True, slots=True)
class Send(Effect[None]):
    """Sends bytes. Errors: OSError."""

    connection: Connection
    data: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class Receive(Effect[bytes]):
    """Receives some bytes, none at the end of the connection. Errors: OSError."""

    connection: Connection
    seconds: float


@dataclass(frozen=True, slots=True)
class Sleep(Effect[None]):
    """Waits."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Pull(Effect[Any]):
    """Takes the next item of an iterator, ``END`` after the last; ``is_file``: it reads a file.

    Errors: those of the iterator, and TypeError for an asynchronous one in a blocking client.
    """

    source: Iterator[Any] | AsyncIterator[Any]
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """An item that a stream yields to the caller."""

    value: T


class End:
    """The end of an iterator."""


END = End()

Flow = Generator[Effect[Any], Any, T]
Stream = Generator[Effect[Any] | Item[T], Any, None]


def perform(effect: Effect[R]) -> Flow[R]:
    """Yields an effect, and returns its result in its type."""
    result: R = yield effect
    return result


def send_into(stream: Stream[T], result: Any) -> Effect[Any] | Item[T] | None:
    """Continues a stream with the result of its effect. Returns its next step, None at its end."""
    try:
        return stream.send(result)
    except StopIteration:
        return None


def throw_into(stream: Stream[T], error: BaseException) -> Effect[Any] | Item[T] | None:
    """Continues a stream whose effect has failed. Returns its next step, None at its end."""
    try:
        return stream.throw(error)
    except StopIteration:
        return None
