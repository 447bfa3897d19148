"""The sockets that a role listens on.

The parent opens them all and its children inherit them, so that a role which is started again meets the connections that came
meanwhile, and a port that is taken is known before anything runs.
"""

import socket

from feedmill.model.errors import Conflict
from feedmill.settings import Settings

BACKLOG = 1024


def listener_addresses(settings: Settings) -> dict[str, tuple[str, int]]:
    """Returns bind and port of every listener that is to be opened; TLS of the gate only where there is a certificate."""
    addresses = {
        "gate": (settings.gate.bind, settings.gate.port),
        "gate_tls": (settings.gate.bind, settings.gate.tls_port),
        "dtd": (settings.dtd.bind, settings.dtd.port),
        "search": (settings.search.bind, settings.search.port),
        "admin": (settings.admin.bind, settings.admin.port),
    }
    if not settings.gate.certificate:
        del addresses["gate_tls"]
    return addresses


def open_listener(name: str, bind: str, port: int) -> socket.socket:
    """Opens a listening socket. Errors: Conflict when the port is taken or not ours to take."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        return socket.create_server((bind, port), family=family, backlog=BACKLOG)
    except OSError as exc:
        raise Conflict(f"port {port} on {bind} ({name}) cannot be opened: {exc.strerror}; set another one or end who holds it") from exc
