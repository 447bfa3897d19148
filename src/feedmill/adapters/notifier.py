"""Notifications between the processes of one data folder, by datagrams on this machine.

A role waits at an abstract unix address, which is no file and disappears with the process. A datagram has no content; it counts only from
the same user or root, since every user of the machine can reach the address. Sending never blocks and never fails: if no process listens,
or its queue is full, the sender ignores it. If there are no such addresses, or another process holds the role's, waiting is a plain wait,
and the process finds its work when it looks at intervals.
"""

import hashlib
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from feedmill.adapters.peercredentials import CREDENTIALS
from feedmill.model.topic import Topic

_QUEUE = 1000
_HAS_ABSTRACT = sys.platform == "linux"


class SocketNotifier:
    """Implements ``ports.Notifier``; threads may share it. ``wait`` is for notifications of ``role``; None only sends."""

    def __init__(self, data_folder: Path, role: str | None, list_subscribers: Callable[[Topic], Iterable[str]]) -> None:
        """``list_subscribers`` returns the names of the roles that a notification about a topic wakes."""
        self._sender: socket.socket | None = None
        self._ear: socket.socket | None = None
        self._folder = hashlib.blake2b(os.fsencode(data_folder.resolve()), digest_size=16).hexdigest()
        self._role = role
        self._list_subscribers = list_subscribers
        self._sender = _open_socket()
        self._ear = self._listen()

    def notify(self, topic: Topic) -> None:
        """Wakes the roles that subscribe to a topic. It may be called in a signal handler."""
        for role in self._list_subscribers(topic):
            self._send(role)

    def wake(self) -> None:
        """Ends the wait of this process. It may be called in a signal handler."""
        if self._role is not None:
            self._send(self._role)

    def _send(self, role: str) -> None:
        if self._sender is None:
            return
        try:
            self._sender.sendto(b"!", self._address(role))
        except OSError:
            return

    def wait(self, timeout_seconds: float) -> None:
        """Waits for a notification or the end of the time. All notifications so far count as one."""
        if self._ear is None:
            self._ear = self._listen()
        if self._ear is None:
            time.sleep(max(0.0, timeout_seconds))
            return
        end = time.monotonic() + timeout_seconds
        poll = select.poll()
        poll.register(self._ear, select.POLLIN)
        while poll.poll(max(0.0, end - time.monotonic()) * 1000):
            # A datagram from another user does not end the wait.
            if _drain(self._ear) or time.monotonic() >= end:
                return

    def close(self) -> None:
        """Releases the address. Later calls of ``notify`` and ``wait`` do no harm."""
        for end in (self._sender, self._ear):
            if end is not None:
                end.close()
        self._sender = self._ear = self._role = None

    def __del__(self) -> None:
        self.close()

    def _listen(self) -> socket.socket | None:
        ear = None if self._role is None else _open_socket()
        if ear is None or self._role is None:
            return None
        # Before ``bind``: a datagram that arrives earlier has no credentials.
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            ear.bind(self._address(self._role))
        except OSError:
            ear.close()
            return None
        return ear

    def _address(self, role: str) -> bytes:
        # a digest, since an address can have at most 107 bytes
        name = hashlib.blake2b(role.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"\0feedmill-{self._folder}-{name}".encode()


def _open_socket() -> socket.socket | None:
    if not _HAS_ABSTRACT:
        return None
    try:
        return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    except OSError:
        return None


def _drain(ear: socket.socket) -> bool:
    """Reads all waiting datagrams, and returns whether any of them counts."""
    heard = False
    # Bounded, since another user may send faster than this loop reads.
    for _ in range(_QUEUE):
        try:
            _, ancillary, _, _ = ear.recvmsg(1, socket.CMSG_SPACE(CREDENTIALS.size))
        except OSError:
            break
        heard = heard or any(
            _is_ours(data) for level, kind, data in ancillary if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        )
    return heard


def _is_ours(credentials: bytes) -> bool:
    if len(credentials) < CREDENTIALS.size:
        return False
    _, user, _ = CREDENTIALS.unpack_from(credentials)
    return user in (0, os.geteuid())
