"""Accepts the connections of a listening socket within the limits of the port, and checks their deadlines.

asyncio accepts every connection and reports none whose TLS handshake is in progress. Here a connection
has its place from the moment it is accepted, and a handshake has a deadline.
"""

import asyncio
import errno
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog

from feedmill.runtime.server.connections import Places
from feedmill.runtime.server.deadlines import CHECK_SECONDS, HEAD_SECONDS, TimedProtocol

ACCEPTED_AT_ONCE: Final = 64
"""How many connections are accepted before the loop serves others again."""

_SHUTDOWN_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.1
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

log = structlog.get_logger(__name__)


class Connection:
    def __init__(self, accepted: socket.socket, protocol: TimedProtocol, places: Places) -> None:
        self.protocol = protocol
        self._accepted = accepted
        self._places = places
        protocol.place = self

    def evict(self) -> None:
        """Closes the connection at once; a handshake in progress fails."""
        if self.protocol.is_opening:
            with suppress(OSError):  # the client is gone already
                self._accepted.shutdown(socket.SHUT_RDWR)
        else:
            self.protocol.cut_off()

    def note_waiting(self) -> None:
        self._places.note_waiting(self)

    def note_working(self) -> None:
        self._places.note_working(self)

    def leave(self) -> None:
        """Frees the place."""
        self._places.leave(self)


class Acceptor:
    """Accepts connections until it is closed, and checks them until it is ended. It has the interface of asyncio's ``Server``."""

    def __init__(
        self, listening: socket.socket, make_protocol: Callable[[], TimedProtocol], places: Places, context: ssl.SSLContext | None
    ) -> None:
        self._listening = listening
        self._make_protocol = make_protocol
        self._places = places
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._checking = self._loop.create_task(self._check_all())
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Accepts no more connections."""
        if not self._is_closed:
            self._is_closed = True
            self._loop.remove_reader(self._listening)

    async def wait_closed(self) -> None:
        """Returns at once."""

    def end(self) -> None:
        """Checks connections no longer."""
        self.close()
        self._checking.cancel()

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as exc:
                self._bear(exc)
                return
            self._take(accepted, str(peer[0]) if peer else "")

    def _bear(self, exc: OSError) -> None:
        """Waits a moment if the system cannot take another connection. Errors: all other ones."""
        if exc.errno not in _NO_ROOM:
            raise exc
        log.error("connection_not_taken", reason=exc.strerror)
        self._loop.remove_reader(self._listening)
        self._loop.call_later(_PAUSE_SECONDS, self._accept_again)

    def _accept_again(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listening, self._accept)

    def _take(self, accepted: socket.socket, address: str) -> None:
        accepted.setblocking(False)
        connection = Connection(accepted, self._make_protocol(), self._places)
        if not self._places.take(connection, address):
            accepted.close()
            return
        opening = self._loop.create_task(self._open(connection, accepted))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    async def _open(self, connection: Connection, accepted: socket.socket) -> None:
        try:
            if self._context is None:
                await self._loop.connect_accepted_socket(lambda: connection.protocol, accepted)
            else:
                await self._loop.connect_accepted_socket(
                    lambda: connection.protocol,
                    accepted,
                    ssl=self._context,
                    ssl_handshake_timeout=HEAD_SECONDS,
                    ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
                )
        except OSError:
            # the client is gone, was too slow, or speaks no TLS
            connection.leave()
        except BaseException:
            connection.leave()
            raise

    async def _check_all(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now = self._loop.time()
            checked = [connection.protocol.check(now) for connection in self._places if isinstance(connection, Connection)]
            for late, count in Counter(late for late in checked if late is not None).items():
                log.info("slow_connections_ended", waited_for=late.value, connections=count)
