"""A server of raw bytes on this machine, for clients under test: a handler gets the head of each request and writes what it likes."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from feedmill.ports.http import ServerAddress

Handler = Callable[[socket.socket, bytes], object]
"""Writes a response; returns True to serve another request over the same connection."""

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """A server on this machine; ``heads`` are the request heads that it read."""

    def __init__(self, handler: Handler, context: ssl.SSLContext | None, greeting: bytes) -> None:
        self.heads: list[bytes] = []
        self.connections = 0
        self._handler = handler
        self._context = context
        self._greeting = greeting
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.is_over = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._context else 'http'}://{host}:{self.port}{path}"

    def address(self, **given: Any) -> ServerAddress:
        return ServerAddress(is_tls=self._context is not None, host="127.0.0.1", port=self.port, **{"allows_private": True, **given})

    def close(self) -> None:
        self.is_over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                self.connections += 1
                self._threads.append(threading.Thread(target=self._serve, args=(peer,)))
                self._threads[-1].start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            stream = self._context.wrap_socket(peer, server_side=True) if self._context else peer
            with stream:
                stream.sendall(self._greeting)
                while head := read_head(stream):
                    self.heads.append(head)
                    if self._handler(stream, head) is not True:
                        return


def read_head(peer: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n") and (piece := peer.recv(1)):
        head += piece
    return head


@contextmanager
def running(handler: Handler, context: ssl.SSLContext | None = None, greeting: bytes = b"") -> Iterator[Server]:
    server = Server(handler, context, greeting)
    try:
        yield server
    finally:
        server.close()


def always(answer: bytes) -> Handler:
    return lambda peer, _: peer.sendall(answer)


def redirect(location: str, status: str = "302 Found") -> bytes:
    return f"HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
