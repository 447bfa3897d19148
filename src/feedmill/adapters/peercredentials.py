"""Which process and user are at the other end of a unix socket, as the kernel reports it."""

import socket
import struct

CREDENTIALS = struct.Struct("3i")
"""The kernel's ``struct ucred``: process, user, group. Source: unix(7)."""


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Returns the process and the user at the other end of a connection, as of its ``connect`` or ``listen``. Errors: OSError."""
    pid, user, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    return pid, user
