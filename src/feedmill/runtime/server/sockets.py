"""The sockets of the roles.

The parent opens them all and its children inherit them. A restarted role therefore serves the connections that arrived
meanwhile, and a port that is taken fails before anything runs.
"""

import socket

from feedmill.model.errors import Conflict
from feedmill.settings import Settings

BACKLOG = 1024


def listener_addresses(settings: Settings) -> dict[str, tuple[str, int]]:
    """Returns address and port of every listener to open; TLS of the gate only with a certificate."""
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
    """Opens a listening socket. Errors: Conflict if the port is taken or this user may not open it."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        return socket.create_server((bind, port), family=family, backlog=BACKLOG)
    except OSError as exc:
        raise Conflict(f"port {port} on {bind} ({name}) cannot be opened: {exc.strerror}; set another one or end its process") from exc
