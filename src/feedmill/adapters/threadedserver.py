"""Serves HTTP for people and programs of this machine: counterparts of a test, the files of a demonstration. Not for a network."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any, Final

IDLE_SECONDS: Final = 60.0
"""How long a connection may be idle. Handlers have it as ``timeout``."""


class ThreadedServer(ThreadingHTTPServer):
    """Serves each connection in a thread, which does not outlive the process. Errors of the constructor: OSError."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away ends its own connection only."""


@contextmanager
def serving_in_threads(server: ThreadedServer) -> Iterator[None]:
    """Serves until the context ends, which closes the server."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
