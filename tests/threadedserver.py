"""Serves a port of a test's own in a thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer

from tests.waiting import PATIENCE_SECONDS


@contextmanager
def serve_in_thread(server: BaseServer) -> Iterator[None]:
    """Serves for a block; then the server is closed."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE_SECONDS)
