"""What late binding needs of the outside world: one HTTP request to one server, and its answer, within a time."""

from dataclasses import dataclass, field
from typing import Protocol

from feedmill.model.latebinding import Trust


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
    """A request. Units: ``max_bytes`` of body that are taken; 0: the body is not waited for."""

    method: str
    path: str
    headers: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    max_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server answered; a redirection is an answer, and never followed."""

    status: int
    body: bytes = b""


class ServerConnection(Protocol):
    """A connection to one server, opened when first needed. For one thread at a time."""

    def send(self, call: Call, seconds: float) -> Reply:
        """Sends a request and waits for the whole answer, all in that time. Errors: Unanswered."""

    def close(self) -> None:
        """Closes the connection; does not raise."""


class Caller(Protocol):
    """Returns lines. May be used from several threads."""

    def open(self, server: ServerAddress) -> ServerConnection:
        """Returns a line to a server, without having spoken to it yet."""
