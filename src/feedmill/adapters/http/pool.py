"""Keeps connections open between requests to the same server.

A connection serves one request at a time. A connection that was idle is used again if the server has neither closed it nor sent anything,
the one that was idle for the shortest time first. The number of connections in use is the caller's to bound; the pool bounds the idle ones.
"""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from feedmill.adapters.http.connection import AsyncConnection
from feedmill.adapters.http.dialing import Proxy
from feedmill.adapters.http.lookup import Lookup, look_up
from feedmill.ports.http import ServerAddress

MAX_IDLE: Final = 256
IDLE_SECONDS: Final = 10.0
"""Shorter than most servers keep an idle connection, so that few requests meet one that is being closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What requests must have in common to share a connection. ``holder`` separates connections that prove who uses them."""

    server: ServerAddress
    proxy: Proxy | None = None
    holder: Hashable = None


class ConnectionPool:
    """The connections of one event loop.

    Example::

        async with pool.borrow(Route(server=server)) as connection:
            response = await connection.send(request, seconds)
    """

    def __init__(self, *, lookup: Lookup = look_up, max_idle: int = MAX_IDLE, idle_seconds: float = IDLE_SECONDS) -> None:
        self._lookup = lookup
        self._max_idle = max_idle
        self._idle_seconds = idle_seconds
        # Ordered by the time since which a connection is idle, the longest first.
        self._idle: OrderedDict[AsyncConnection, tuple[Route, float]] = OrderedDict()
        self._by_route: dict[Route, list[AsyncConnection]] = {}
        self._is_closed = False

    @asynccontextmanager
    async def borrow(self, route: Route) -> AsyncIterator[AsyncConnection]:
        """Lends a connection, which goes back to the pool unless an error ends the block."""
        connection = self._find_idle(route) or AsyncConnection(route.server, proxy=route.proxy, lookup=self._lookup)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._give_back(route, connection)

    def close(self) -> None:
        """Closes all idle connections; those in use are closed when they come back."""
        self._is_closed = True
        while self._idle:
            self._forget(next(iter(self._idle))).close()

    def _find_idle(self, route: Route) -> AsyncConnection | None:
        self._close_expired()
        while connections := self._by_route.get(route):
            connection = self._forget(connections[-1])
            if connection.is_reusable:
                return connection
            connection.close()
        return None

    def _give_back(self, route: Route, connection: AsyncConnection) -> None:
        if self._is_closed or not connection.is_reusable:
            connection.close()
            return
        self._idle[connection] = (route, time.monotonic())
        self._by_route.setdefault(route, []).append(connection)
        if len(self._idle) > self._max_idle:
            self._forget(next(iter(self._idle))).close()

    def _close_expired(self) -> None:
        oldest = time.monotonic() - self._idle_seconds
        while self._idle:
            connection, (_, since) = next(iter(self._idle.items()))
            if since >= oldest:
                return
            self._forget(connection).close()

    def _forget(self, connection: AsyncConnection) -> AsyncConnection:
        route, _ = self._idle.pop(connection)
        connections = self._by_route[route]
        connections.remove(connection)
        if not connections:
            del self._by_route[route]
        return connection
