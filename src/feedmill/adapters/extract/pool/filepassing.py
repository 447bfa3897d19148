"""Sends documents that are separate files to workers as open descriptors, since a worker may open nothing.

Each file is one message over a socket that preserves message borders, in the order of the tasks: the descriptor, or the reason why there
is none.
"""

import os
import socket
from contextlib import suppress

from feedmill.adapters.extract.readers.content import Unreadable

_REASON_BYTES = 1_000
_OPENED = b"opened"


def send_file(files: socket.socket, path: str) -> None:
    """Opens a file and sends its descriptor. Errors: OSError when the worker is gone or takes no more messages."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            socket.send_fds(files, [_OPENED], [descriptor])
        finally:
            os.close(descriptor)
    except OSError as exc:
        files.send((exc.strerror or str(exc)).encode("utf-8", "replace")[:_REASON_BYTES])


class FileReceiver:
    """The worker's end of the socket."""

    def __init__(self, files: socket.socket) -> None:
        self._files = files

    def receive(self, _path: str, limit: int) -> bytes:
        """Returns up to ``limit`` bytes of the next file. Errors: Unreadable."""
        # One message is one file: the socket preserves borders, so the descriptor of another file cannot come with it.
        message, descriptors, _, _ = socket.recv_fds(self._files, _REASON_BYTES, 1)
        if not descriptors:
            raise Unreadable(f"the content cannot be opened: {message.decode('utf-8', 'replace')}")
        try:
            return read_bytes(descriptors[0], limit)
        except OSError as exc:
            raise Unreadable(f"the content cannot be read: {exc.strerror or exc}") from exc
        finally:
            with suppress(OSError):
                os.close(descriptors[0])


def read_path(path: str, limit: int) -> bytes:
    """Returns up to ``limit`` bytes of a file, in a process that may open files. Errors: Unreadable."""
    try:
        with open(path, "rb") as stream:
            return stream.read(limit)
    except OSError as exc:
        raise Unreadable(f"the content cannot be opened: {exc.strerror or exc}") from exc


def read_bytes(descriptor: int, limit: int) -> bytes:
    """Returns up to ``limit`` bytes of an open file. Errors: OSError."""
    # Not ``fstat``: some C libraries implement it by a system call with a path, which the sandbox refuses.
    size = min(limit, os.lseek(descriptor, 0, os.SEEK_END))
    data = os.pread(descriptor, size, 0)
    # A read may return less than is left. An empty one means that the file became shorter.
    while len(data) < size and (more := os.pread(descriptor, size - len(data), len(data))):
        data += more
    return data
