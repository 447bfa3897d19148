"""The port of HTTP to other servers: sends one request to one server and reads its response, within a time limit."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from feedmill.model.authorization import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """A server. Shape: ``host`` is ASCII, an IPv6 address without its brackets."""

    is_tls: bool
    host: str
    port: int
    trust: Trust = field(default_factory=Trust)
    #: Whether the server may be in a private network.
    allows_private: bool = False

    @property
    def authority(self) -> str:
        """Host and port as a URL writes them; the scheme's default port is omitted."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request. Its headers are sent as they are; only ``Content-Length`` is added, unless there is ``Transfer-Encoding``."""

    method: str
    path: str
    headers: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    #: The size limit of the response's body; 0 does not wait for the body.
    max_bytes: int = 0
    #: A body that is larger is no failure: of these media types (as they begin) it is cut, of others it is dropped. None: it is a failure.
    cut_types: tuple[str, ...] | None = None
    #: How long to wait before it is sent once more, because the server has closed a connection that was used before.
    pause_seconds: float = 0.0
    #: Waits until there is memory for the body, and for what it becomes without its codings. A small body is read without it.
    reserve: Callable[[int], Awaitable[None]] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """The response of a server. Shape: the names of headers are in lower case."""

    status: int
    headers: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    #: The body is larger than the limit, see ``HttpRequest.cut_types``.
    is_cut: bool = False

    def find_header(self, name: str) -> str:
        """Returns the first header of a name in lower case, or ""."""
        return next((value.decode("latin-1") for found, value in self.headers if found == name), "")


class HttpConnection(Protocol):
    """A connection to one server, opened on first use. Only one thread may use it at a time."""

    def send(self, request: HttpRequest, seconds: float) -> HttpResponse:
        """Sends a request and waits for the complete response, all within the time. A redirect is a response. Errors: UpstreamFailure."""

    def close(self) -> None:
        """Closes the connection; does not raise."""


class HttpClient(Protocol):
    """Opens connections. Several threads may use it.

    Example::

        connection = client.open(ServerAddress(is_tls=True, host="files.example.com", port=443))
        response = connection.send(HttpRequest(method="HEAD", path="/a", headers=(("Host", b"files.example.com"),)), seconds=2.0)
    """

    def open(self, server: ServerAddress) -> HttpConnection:
        """Returns a connection to a server, without connecting yet."""
