"""Servers that leave a port to the process that follows them, and cut nobody off.

Who leaves takes no more connections: those wait with the kernel for the one who follows. What was taken before is served to its end:

- A request that has begun is served, however long it takes, up to the bound of the whole.
- A connection that has not sent a whole head yet may send it for ``HEAD_SECONDS``; its answer comes by the old settings.
- A connection that rests between two requests may send the next one for ``REST_SECONDS``, so that a client which is at work is told to
  end it before it is ended, and one which is not does not keep old settings alive.
- Each answer says that the connection ends with it.

Closing a connection over bytes that were not read would reset it, and its client could not tell a lost request from a lost answer.
"""

import asyncio
import socket
from typing import Final
from weakref import WeakSet

import uvicorn

from feedmill.http.accepting import Acceptor
from feedmill.http.deadlines import HEAD_SECONDS, TimedProtocol
from feedmill.http.places import Places

REST_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.05


class DrainingProtocol(TimedProtocol):
    """uvicorn's, with bounds on heads and times, which can be told that the request it has, or the next one, is its last."""

    _is_leaving = False
    _still_since = 0.0

    def on_headers_complete(self) -> None:
        """Begins to answer a request."""
        super().on_headers_complete()
        if self._is_leaving:
            self.cycle.keep_alive = False

    def leave(self, now_seconds: float) -> None:
        """Tells it to end; told again and again, it ends once nothing more is to be waited for. Units: by the loop's clock."""
        if not self._is_leaving:
            self._is_leaving, self._still_since = True, now_seconds
        if self.is_opening:
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._still_since = now_seconds
            if not self.cycle.response_started:
                self.cycle.keep_alive = False
        elif now_seconds - self._still_since >= (REST_SECONDS if self._rests() else HEAD_SECONDS):
            self.transport.close()

    def _rests(self) -> bool:
        """Whether a request was answered and nothing of another one has come."""
        return self.cycle is not None and self.scope is self.cycle.scope


class DrainingServer(uvicorn.Server):
    """uvicorn's, for one listening socket. Units: ``linger_seconds`` bounds how long requests are served after it left its port."""

    def __init__(self, config: uvicorn.Config, linger_seconds: float, places: Places) -> None:
        super().__init__(config)
        self.servers: list[Acceptor] = []  # type: ignore[assignment]
        self._places = places
        self._linger_seconds = linger_seconds
        self._lingers = False
        self._taken: WeakSet[DrainingProtocol] = WeakSet()

    def leave(self) -> None:
        """Leaves the port at once, serves what it has, and then ends."""
        self._lingers = self.should_exit = True
        self._close_port()
        now = asyncio.get_running_loop().time()
        for protocol in list(self._taken):
            protocol.leave(now)

    def stop(self) -> None:
        """Ends as soon as it can, also when it lingers."""
        self._lingers = False
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Opens the port, remembering every connection from when it is taken."""
        await self.lifespan.startup()
        self.servers = [Acceptor(listening, self._make_protocol, self._places, self.config.ssl) for listening in sockets or ()]
        self.started = True

    def _make_protocol(self) -> DrainingProtocol:
        made = self.config.http_protocol_class(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)  # type: ignore[call-arg]
        assert isinstance(made, DrainingProtocol)
        self._taken.add(made)
        return made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends, after lingering when it left its port."""
        self._close_port()
        await self._linger()
        await super().shutdown(sockets)
        for server in self.servers:
            server.end()

    def _close_port(self) -> None:
        for server in self.servers:
            server.close()

    async def _linger(self) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        while self._lingers and (seconds := clock() - began) < self._linger_seconds:
            waiting = [each for each in list(self._taken) if self._waits(each, seconds)]
            if not waiting:
                return
            for protocol in waiting:
                protocol.leave(clock())
            await asyncio.sleep(_LOOK_SECONDS)

    def _waits(self, protocol: DrainingProtocol, seconds: float) -> bool:
        """Whether a connection is open, or has just been taken; a failed handshake is told to nobody."""
        return protocol in self.server_state.connections or (protocol.is_opening and seconds < HEAD_SECONDS)
