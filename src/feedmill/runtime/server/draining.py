"""Drains a server: it leaves its port to the next process and finishes what it has begun.

A draining server accepts no more connections. These wait in the kernel's queue for the next process. The server serves the connections
that it had accepted to their end:

- A request that has begun is served, however long it takes, up to the limit of the whole.
- A connection without a complete head may send it for ``HEAD_SECONDS``. The response uses the previous settings.
- A connection between two requests may send the next one for ``IDLE_SECONDS``. A client that is at work thus learns from a response that
  the connection ends, and an idle client does not keep the previous settings in use.
- Each response says that the connection ends with it.

A connection that is closed while it holds unread bytes would be reset. Its client could not know whether its request was read.
"""

import asyncio
import socket
from collections.abc import Sequence
from typing import Final
from weakref import WeakSet

import uvicorn

from feedmill.runtime.connectionboard import ConnectionCount
from feedmill.runtime.server.accepting import Acceptor
from feedmill.runtime.server.connections import ConnectionSlots
from feedmill.runtime.server.deadlines import HEAD_SECONDS, TimedProtocol
from feedmill.runtime.server.uvicorn_compat import PortServer

IDLE_SECONDS: Final = 1.0
_CHECK_SECONDS: Final = 0.05


class DrainingProtocol(TimedProtocol):
    """The protocol of a connection that can be drained: it ends after its current or its next request."""

    _is_draining = False
    _idle_since = 0.0

    def on_headers_complete(self) -> None:
        """Begins to handle a request."""
        super().on_headers_complete()
        if self._is_draining:
            self.end_after_response()

    def drain(self, now_seconds: float) -> None:
        """Drains the connection. Further calls close it once nothing more is to be waited for. Units: the loop's clock."""
        if not self._is_draining:
            self._is_draining, self._idle_since = True, now_seconds
        if self.is_opening:
            return
        if self.has_request:
            # The time begins again when the request ends.
            self._idle_since = now_seconds
            if not self.has_response_begun:
                self.end_after_response()
        elif now_seconds - self._idle_since >= (HEAD_SECONDS if self.has_next_request_begun else IDLE_SECONDS):
            self.transport.close()


class DrainingServer(PortServer):
    """A server of one listening socket. It serves open requests for at most ``drain_seconds`` after it has left its port."""

    def __init__(self, config: uvicorn.Config, drain_seconds: float, slots: ConnectionSlots, connections: ConnectionCount) -> None:
        super().__init__(config)
        self._connections = connections
        self._acceptors: list[Acceptor] = []
        self._slots = slots
        self._drain_seconds = drain_seconds
        self._is_draining = False
        # uvicorn's own set lacks connections in their handshake. Weak references let ended ones disappear.
        self._accepted: WeakSet[DrainingProtocol] = WeakSet()

    def drain(self) -> None:
        """Leaves the port at once, serves the open connections to their end, and then ends."""
        self._is_draining = True
        self.request_exit()
        # At once, since the successor waits for it. uvicorn would close the port only when its loop notices the exit.
        self._close_port()
        now = asyncio.get_running_loop().time()
        for protocol in list(self._accepted):
            protocol.drain(now)

    def stop(self) -> None:
        """Ends as soon as it can, also while it drains."""
        self._is_draining = False
        self.request_exit()

    def make_acceptors(self, sockets: Sequence[socket.socket]) -> Sequence[Acceptor]:
        """Begins to accept connections, and records each of them."""
        self._acceptors = [Acceptor(listening, self._accept, self._slots, self.config.ssl, self._connections) for listening in sockets]
        return self._acceptors

    def _accept(self) -> DrainingProtocol:
        protocol = self.make_protocol()
        assert isinstance(protocol, DrainingProtocol)
        self._accepted.add(protocol)
        return protocol

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends, after it has drained."""
        self._close_port()
        await self._wait_until_drained()
        await super().shutdown(sockets)
        for acceptor in self._acceptors:
            acceptor.end()

    def _close_port(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()

    async def _wait_until_drained(self) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        while self._is_draining and (seconds := clock() - began) < self._drain_seconds:
            open_ = [protocol for protocol in list(self._accepted) if self._is_open(protocol, seconds)]
            if not open_:
                return
            for protocol in open_:
                protocol.drain(clock())
            await asyncio.sleep(_CHECK_SECONDS)

    def _is_open(self, protocol: DrainingProtocol, seconds: float) -> bool:
        """Returns whether a connection is open or in its handshake.

        Failed handshakes are not reported, so a handshake counts only for a time.
        """
        return self.is_connected(protocol) or (protocol.is_opening and seconds < HEAD_SECONDS)
