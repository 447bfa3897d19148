"""A small forward proxy on this machine: it carries requests to servers without TLS, and opens tunnels to others."""

import selectors
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.rawserver import Server, running


@dataclass(slots=True)
class SmallProxy:
    """A proxy. ``names`` says which port of this machine has a name; ``proof`` is the ``Proxy-Authorization`` that it wants, "" for none.

    ``refusals`` are the answers to the first requests, before it carries any.
    """

    names: Mapping[str, int] = field(default_factory=dict)
    proof: str = ""
    refusals: list[bytes] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[Server]:
        with running(self.carry) as server:
            yield server

    def carry(self, peer: socket.socket, head: bytes) -> None:
        line, *fields = head.decode("latin-1").split("\r\n")
        method, target, version = line.split(" ")
        if self.refusals:
            peer.sendall(self.refusals.pop(0))
        elif self.proof and f"Proxy-Authorization: {self.proof}" not in fields:
            peer.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        elif method == "CONNECT":
            with self._connect(target) as server:
                peer.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                exchange(peer, server)
        else:
            parts = urlsplit(target)
            passed = [one for one in fields if not one.startswith("Proxy-")]
            with self._connect(parts.netloc) as server:
                server.sendall("\r\n".join([f"{method} {parts.path}?{parts.query} {version}", *passed]).encode("latin-1"))
                exchange(peer, server)

    def _connect(self, authority: str) -> socket.socket:
        parts = urlsplit(f"//{authority}")
        return socket.create_connection(("127.0.0.1", self.names.get(parts.hostname or "", parts.port or 80)))


def exchange(one: socket.socket, other: socket.socket) -> None:
    """Passes bytes on in both directions until one side has ended."""
    with selectors.DefaultSelector() as selector, suppress(OSError):
        selector.register(one, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in selector.select():
                data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                if not data:
                    return
                key.data.sendall(data)
