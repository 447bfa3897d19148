"""Bytes over a non-blocking socket, with or without TLS. A step that is cancelled leaves nothing behind but the socket."""

import asyncio
import select
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, TypeVar

PIECE_BYTES: Final = 65_536

_Result = TypeVar("_Result")


class Stream(Protocol):
    """A connection as bytes. Errors, of every method: OSError."""

    async def send(self, data: bytes) -> None:
        """Sends all bytes."""

    async def receive(self, max_bytes: int) -> bytes:
        """Returns the next bytes, none at the end."""

    def has_input(self) -> bool:
        """Whether something has come that was not received yet, or the end."""

    def close(self) -> None:
        """Closes the socket."""


class PlainStream:
    """A stream without TLS."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    async def send(self, data: bytes) -> None:
        """Sends all bytes."""
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def receive(self, max_bytes: int) -> bytes:
        """Returns the next bytes, none at the end."""
        return await asyncio.get_running_loop().sock_recv(self._socket, max_bytes)

    def has_input(self) -> bool:
        """Whether something has come that was not received yet, or the end."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()


class TlsStream:
    """A stream with TLS. OpenSSL reads and writes memory; this class moves the bytes between that memory and the socket."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str) -> None:
        self._plain = PlainStream(sock)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    async def shake_hands(self) -> None:
        """Agrees on keys and verifies the server's certificate. Errors: ssl.SSLError."""
        await self._run_step(self._tls.do_handshake)

    async def send(self, data: bytes) -> None:
        """Sends all bytes."""
        await self._run_step(lambda: self._tls.write(data))

    async def receive(self, max_bytes: int) -> bytes:
        """Returns the next bytes, none at the end.

        A server that ends the connection without TLS's own end is accepted, as by Python's sockets: the length of a body says whether
        it is complete.
        """
        try:
            return await self._run_step(lambda: self._tls.read(max_bytes))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def has_input(self) -> bool:
        """Whether something has come that was not received yet, or the end."""
        return self._incoming.pending > 0 or self._tls.pending() > 0 or self._plain.has_input()

    def close(self) -> None:
        """Closes the socket."""
        self._plain.close()

    async def _run_step(self, step: Callable[[], _Result]) -> _Result:
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                await self._flush()
                if data := await self._plain.receive(PIECE_BYTES):
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            except ssl.SSLError:
                with suppress(OSError):
                    await self._flush()  # so that the server learns the reason
                raise
            else:
                await self._flush()
                return result

    async def _flush(self) -> None:
        if data := self._outgoing.read():
            await self._plain.send(data)
