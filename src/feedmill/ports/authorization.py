"""The port of late binding: sends one HTTP request to one server and reads its response, within a time limit."""

from dataclasses import dataclass, field
from typing import Protocol

from feedmill.model.authorization import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """A server. Shape: ``host`` is ASCII, an IPv6 address without its brackets; ``allows_private``: it may be in a private network."""

    is_tls: bool
    host: str
    port: int
    trust: Trust = field(default_factory=Trust)
    allows_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request. Units: ``max_bytes`` of the body are read; 0: the body is not awaited."""

    method: str
    path: str
    headers: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    max_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The response of a server. A redirect is a response and is never followed."""

    status: int
    body: bytes = b""


class ServerConnection(Protocol):
    """A connection to one server, opened on first use. Only one thread may use it at a time."""

    def send(self, call: Call, seconds: float) -> Reply:
        """Sends a request and waits for the complete response, all within the time. Errors: Unanswered."""

    def close(self) -> None:
        """Closes the connection; does not raise."""


class Caller(Protocol):
    """Opens connections. Several threads may use it."""

    def open(self, server: ServerAddress) -> ServerConnection:
        """Returns a connection to a server, without connecting yet."""
