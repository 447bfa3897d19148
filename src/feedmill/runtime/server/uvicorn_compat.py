"""All that feedmill uses of uvicorn beyond its documented interface.

uvicorn has no public interface for the deadlines of a connection, for draining, or for accepting connections by ourselves. The two classes
here give these parts names, and no other module reaches into uvicorn. ``tests/unit/test_uvicorn_compat.py`` fails if a version of uvicorn
changes one of them.

uvicorn has one *cycle* for each request: its state and that of its response. Requests that wait behind another one on the same connection
are in its *pipeline*.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Sequence
from typing import Protocol

import uvicorn
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle


class _ResponseTransport:
    """The transport of one response. It sends the head together with a piece of the body that follows at once, as one packet."""

    def __init__(self, cycle: RequestResponseCycle, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._cycle = cycle
        self._transport = transport
        self._loop = loop
        self._has_had_head = False
        self._head = b""
        self._later: asyncio.Handle | None = None

    def write(self, data: bytes) -> None:
        """Sends bytes, a head at the latest before the event loop goes on."""
        # otherwise it is 100 Continue
        if self._cycle.response_started and not self._has_had_head:
            self._has_had_head, self._head = True, data
            self._later = self._loop.call_soon(self._send_head)
        elif self._head:
            self._transport.writelines((self._take_head(), data))
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Closes the connection after what was written."""
        self._send_head()
        self._transport.close()

    def is_closing(self) -> bool:
        """Returns whether the connection is closing."""
        return self._transport.is_closing()

    def _send_head(self) -> None:
        if self._head and not self._transport.is_closing():
            self._transport.write(self._take_head())

    def _take_head(self) -> bytes:
        head, self._head = self._head, b""
        if self._later is not None:
            self._later.cancel()
        return head


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 protocol of one connection, with names for its state."""

    #: The target of the request, as far as it was received.
    url = b""
    _answering: RequestResponseCycle | None = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        cycle.transport = _ResponseTransport(cycle, self.transport, self.loop)  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    @property
    def is_opening(self) -> bool:
        """Returns whether the connection was accepted and its transport, such as TLS, is not ready yet."""
        return self.transport is None

    @property
    def has_request(self) -> bool:
        """Returns whether the latest request has no complete response."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def has_had_request(self) -> bool:
        """Returns whether there was a request on this connection."""
        return self.cycle is not None

    @property
    def has_next_request_begun(self) -> bool:
        """Returns whether a part of a request was received after the latest complete head."""
        # uvicorn makes a scope at the first byte of a request, and the cycle only at the end of its head.
        return self.cycle is None or self.scope is not self.cycle.scope

    @property
    def has_response_begun(self) -> bool:
        """Returns whether the status line of the latest request's response was sent."""
        return self.cycle.response_started

    @property
    def is_body_incomplete(self) -> bool:
        """Returns whether more of the latest request's body is expected."""
        return self.cycle.more_body

    @property
    def is_body_waiting_for_application(self) -> bool:
        """Returns whether the client cannot send more of the body until the application reads what was received."""
        return self.flow.read_paused or self.cycle.waiting_for_100_continue

    @property
    def pipelined_requests(self) -> int:
        """Returns how many requests wait behind the current one."""
        return len(self.pipeline)

    def end_after_response(self) -> None:
        """Ends the connection after the latest request's response, which says so if it has not begun."""
        self.cycle.keep_alive = False

    def disconnect_application(self) -> None:
        """Reports to the application that its client is gone, before the transport is aborted. Otherwise it would write to a closed one."""
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def set_extension(self, name: str, value: object) -> None:
        """Adds an extension to the scope of the request whose head is received."""
        self.scope["extensions"] = {**(self.scope.get("extensions") or {}), name: value}  # type: ignore[dict-item]

    def send_refusal(self, status: int, text: str) -> None:
        """Sends a response without the application, and closes the connection. The text is ASCII."""
        headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + headers.encode("ascii") + text.encode("ascii"))
        self.transport.close()


class Closable(Protocol):
    """What uvicorn does with a server of asyncio."""

    def close(self) -> None:
        """Stops accepting connections."""

    async def wait_closed(self) -> None:
        """Returns once it is closed."""


class PortServer(uvicorn.Server):
    """uvicorn's server, which leaves signals alone and accepts connections through ``make_acceptors``."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.servers: Sequence[Closable] = ()  # type: ignore[assignment]

    def make_acceptors(self, sockets: Sequence[socket.socket]) -> Sequence[Closable]:
        """Begins to accept connections."""
        raise NotImplementedError

    def make_protocol(self) -> asyncio.Protocol:
        """Returns the protocol of a new connection."""
        return self.config.http_protocol_class(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)  # type: ignore[call-arg]

    def is_connected(self, protocol: HttpProtocol) -> bool:
        """Returns whether a connection is open."""
        return protocol in self.server_state.connections

    def request_exit(self) -> None:
        """Asks the server to end: it leaves its loop within a tenth of a second, and then shuts down."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Replaces uvicorn's, which lets asyncio accept the connections."""
        await self.lifespan.startup()
        self.servers = self.make_acceptors(sockets or ())
        self.started = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replaces uvicorn's, which handles signals for one server a process."""
        yield
