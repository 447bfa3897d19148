"""The sockets that a role listens on.

The parent opens them all and hands them down, so that a role which is started again meets the connections that came meanwhile, and a
port that is taken is known before anything runs. A role without a parent opens its own.
"""

import os
import socket
from collections.abc import Iterable

from feedmill.model.errors import Conflict
from feedmill.settings import Settings

VARIABLE = "FEEDMILL_SOCKETS"
BACKLOG = 1024

ROLE_LISTENERS = {"gate": ("gate", "gate_tls", "dtd"), "web": ("search", "admin")}
"""The names of the listeners of each role that has any."""


def listener_addresses(settings: Settings) -> dict[str, tuple[str, int]]:
    """Gives bind and port of every listener that is to be opened; TLS of the gate only where there is a certificate."""
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


def hand_down(sockets: dict[str, socket.socket], names: Iterable[str]) -> tuple[str, list[int]]:
    """Gives what a child finds its sockets by: the value of VARIABLE, and the descriptors to leave open."""
    chosen = {name: sockets[name].fileno() for name in names if name in sockets}
    return ",".join(f"{name}:{number}" for name, number in chosen.items()), list(chosen.values())


def take_listeners(role: str, settings: Settings) -> dict[str, socket.socket]:
    """Gives a role's listening sockets by name (gate, gate_tls, dtd, search, admin): those handed down, else its own. Errors: Conflict."""
    handed = os.environ.pop(VARIABLE, "")
    if handed:
        pairs = (part.partition(":") for part in handed.split(","))
        return {name: socket.socket(fileno=int(number)) for name, _, number in pairs}
    addresses = listener_addresses(settings)
    return {name: open_listener(name, *addresses[name]) for name in ROLE_LISTENERS.get(role, ()) if name in addresses}
