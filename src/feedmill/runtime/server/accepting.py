"""Accepts the connections of a listening socket into slots, and checks the deadlines of those that have one.

asyncio accepts every connection, and does not report one whose TLS handshake is not complete. Here a connection occupies a slot from the
moment it is accepted, and a handshake has a deadline.

Where several processes share the socket, the one with the fewest connections accepts the next. The others leave it for ``YIELD_SECONDS``,
and then accept what still waits, since that process may be busy or stand still.
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

from feedmill.runtime.connectionboard import ConnectionCount
from feedmill.runtime.server.connections import ConnectionSlots
from feedmill.runtime.server.deadlines import CHECK_SECONDS, HEAD_SECONDS, TimedProtocol

ACCEPTED_AT_ONCE: Final = 64
"""How many connections are accepted in a row before others are served."""

YIELD_SECONDS: Final = 0.005
LEFT_OVER: Final = 8
"""How many connections that no other process accepted are accepted in a row."""

_TLS_HANDSHAKE: Final = b"\x16"
"""The first byte of a TLS connection. Source: RFC 8446, 5.1."""
_PLAIN_TEXT: Final = b"This port speaks TLS; write https:// in place of http://.\n"
_PLAIN_REFUSAL: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_PLAIN_TEXT), _PLAIN_TEXT)
)
_READ_BYTES: Final = 65_536

_SHUTDOWN_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.1
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

log = structlog.get_logger(__name__)


class Connection:
    """A connection with its slot."""

    def __init__(self, accepted: socket.socket, protocol: TimedProtocol, slots: ConnectionSlots) -> None:
        self.protocol = protocol
        self._accepted = accepted
        self._slots = slots
        protocol.slot = self

    def evict(self) -> None:
        """Closes the connection at once; a handshake in progress fails."""
        # During a handshake there is no transport that could be aborted.
        # The handshake fails when its socket is shut down, and releases the slot.
        if self.protocol.is_opening:
            with suppress(OSError):  # the client is gone already
                self._accepted.shutdown(socket.SHUT_RDWR)
        else:
            self.protocol.cut_off()

    def note_waiting(self) -> None:
        """Notes that no request is being handled."""
        self._slots.note_waiting(self)

    def note_working(self) -> None:
        """Notes that a request is being handled."""
        self._slots.note_working(self)

    def release(self) -> None:
        """Releases the slot."""
        self._slots.release(self)


class Acceptor:
    """Accepts connections until it is closed, and checks them until it is ended. uvicorn closes it like a ``Server`` of asyncio."""

    def __init__(
        self,
        listening: socket.socket,
        make_protocol: Callable[[], TimedProtocol],
        slots: ConnectionSlots,
        context: ssl.SSLContext | None,
        connections: ConnectionCount,
    ) -> None:
        self._listening = listening
        self._make_protocol = make_protocol
        self._slots = slots
        self._context = context
        self._connections = connections
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
        """Ends the checks of connections."""
        self.close()
        self._checking.cancel()

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            if self._connections.has_lighter_peer():
                self._pause(YIELD_SECONDS, self._accept_left_over)
                return
            if not self._accept_next():
                return

    def _accept_left_over(self) -> None:
        if self._is_closed:
            return
        self._accept_again()
        for _ in range(LEFT_OVER):
            if not self._accept_next():
                return

    def _accept_next(self) -> bool:
        """Accepts one connection, and returns whether another may wait."""
        while True:
            try:
                accepted, peer = self._listening.accept()
            # No connection waits any more, or another process that has the same socket was faster.
            except (BlockingIOError, InterruptedError):
                return False
            # The client was gone before its connection was accepted.
            except ConnectionAbortedError:
                continue
            except OSError as exc:
                # The system has no descriptors or no memory for another connection.
                if exc.errno not in _EXHAUSTED:
                    raise
                log.error("connection_not_taken", reason=exc.strerror)
                self._pause(_PAUSE_SECONDS, self._accept_again)
                return False
            self._add_connection(accepted, str(peer[0]) if peer else "")
            return True

    def _pause(self, seconds: float, go_on: Callable[[], None]) -> None:
        self._loop.remove_reader(self._listening)
        self._loop.call_later(seconds, go_on)

    def _accept_again(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listening, self._accept)

    def _add_connection(self, accepted: socket.socket, address: str) -> None:
        accepted.setblocking(False)
        connection = Connection(accepted, self._make_protocol(), self._slots)
        if not self._slots.acquire(connection, address):
            accepted.close()
            return
        # The loop has only a weak reference to a task, so one must be stored here until the task ends.
        opening = self._loop.create_task(self._open(connection, accepted))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    async def _open(self, connection: Connection, accepted: socket.socket) -> None:
        try:
            if self._context is None:
                await self._loop.connect_accepted_socket(lambda: connection.protocol, accepted)
            elif not await self._begins_tls(accepted):
                _refuse_plain(accepted)
                connection.release()
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
            connection.release()
        # Also at the end of the server, which cancels the task.
        except BaseException:
            connection.release()
            raise

    async def _begins_tls(self, accepted: socket.socket) -> bool:
        """Waits for the first byte, and returns whether it is that of TLS. Errors: TimeoutError at the deadline of a head."""
        readable = asyncio.Event()
        descriptor = accepted.fileno()
        self._loop.add_reader(descriptor, readable.set)
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                await readable.wait()
        except BaseException:
            self._loop.remove_reader(descriptor)
            accepted.close()
            raise
        self._loop.remove_reader(descriptor)
        return accepted.recv(1, socket.MSG_PEEK) in (_TLS_HANDSHAKE, b"")

    async def _check_all(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now = self._loop.time()
            checked = [connection.protocol.check(now) for connection in self._slots if isinstance(connection, Connection)]
            for late, count in Counter(late for late in checked if late is not None).items():
                log.info("slow_connections_ended", waited_for=late.value, connections=count)


def _refuse_plain(accepted: socket.socket) -> None:
    """Answers a request without TLS, and closes its connection."""
    with accepted, suppress(OSError):  # the client may be gone
        # a connection that is closed with unread bytes is reset, and the client would not see the answer
        accepted.recv(_READ_BYTES)
        accepted.send(_PLAIN_REFUSAL)
        accepted.shutdown(socket.SHUT_WR)
