"""Shuts connections to a directory when the time for the whole exchange is over.

The timeouts of the LDAP library restart with every piece that arrives, so a server that drips its response would hold them for ever.
"""

import os
import socket
import threading
from contextlib import suppress
from typing import Self


class Watch:
    """Watches connections for a block. Units: seconds."""

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._shut)
        self._timer.daemon = True
        self._held: list[socket.socket] = []
        self._lock = threading.Lock()
        self.is_over = False

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._timer.cancel()
        with self._lock:
            for held in self._held:
                held.close()
            self._held.clear()

    def hold(self, sock: socket.socket) -> None:
        """Watches a connection by a descriptor of its own, since TLS takes the socket over."""
        with self._lock:
            self._held.append(socket.socket(fileno=os.dup(sock.fileno())))
        if self.is_over:
            self._shut()

    def _shut(self) -> None:
        self.is_over = True
        with self._lock:
            for held in self._held:
                with suppress(OSError):
                    held.shutdown(socket.SHUT_RDWR)
