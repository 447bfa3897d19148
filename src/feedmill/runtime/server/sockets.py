"""The sockets of the roles.

The parent opens them all and its children inherit them. A restarted role therefore serves the connections that arrived
meanwhile, and a port that is taken fails before anything runs.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from feedmill.model.errors import BadRequest, Conflict, Denied, FeedmillError
from feedmill.settings import Settings

BACKLOG: Final = 1024

_PORT_KEYS: Final = {
    "gate": "gate.port",
    "gate_tls": "gate.tls_port",
    "dtd": "dtd.port",
    "search": "search.port",
    "admin": "admin.port",
}
"""The setting that names the port of each listener; ``bind`` of its section names the address."""

# the columns of /proc/net/tcp, and the state of a listening socket
_LOCAL_ADDRESS, _STATE, _INODE = 1, 3, 9
_LISTENING = "0A"


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
    """Opens a listening socket. Errors: Conflict if the port is taken, Denied if this user may not open it, BadRequest for the address."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        return socket.create_server((bind, port), family=family, backlog=BACKLOG)
    except OSError as exc:
        key = _PORT_KEYS[name]
        raise _explain(exc, f"port {port} on {bind} ({key})", port, f"{key.partition('.')[0]}.bind") from exc


def _explain(exc: OSError, what: str, port: int, bind_key: str) -> FeedmillError:
    if exc.errno == errno.EADDRINUSE:
        return Conflict(f"{what} is in use by {find_listener(port) or 'another process'}; end that process or set another port")
    if exc.errno in (errno.EACCES, errno.EPERM):
        advice = f"a port below {find_first_free_port()} needs root or the capability CAP_NET_BIND_SERVICE; set another port"
        return Denied(f"{what} may not be opened by user {os.getuid()}: {advice}, or put a reverse proxy in front")
    return BadRequest(f"{what} cannot be opened: {exc.strerror}; does {bind_key} name an address of this machine?")


def find_listener(port: int) -> str:
    """Returns the process that listens at a TCP port of this machine, by id and name; "" if it is not known.

    Another user's process is known to root only. Source: proc(5), ``/proc/net/tcp``.
    """
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _iter_inodes(Path("/proc/net") / table, port)}
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.readlink(descriptor) in sockets:
                process = descriptor.parents[1]
                return f"process {process.name} ({(process / 'comm').read_text().strip()})"
    return ""


def _iter_inodes(table: Path, port: int) -> Iterator[str]:
    """Yields the inodes of the sockets that listen at a port."""
    with suppress(OSError):
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[_STATE] == _LISTENING and int(fields[_LOCAL_ADDRESS].rpartition(":")[2], 16) == port:
                yield fields[_INODE]


def find_first_free_port() -> int:
    """Returns the lowest port that every user may open. Source: ip(7), ``ip_unprivileged_port_start``."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    except (OSError, ValueError):
        return 1024
