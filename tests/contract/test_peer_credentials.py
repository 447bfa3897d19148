"""The credentials of the other end of a unix socket."""

import os
import socket
from pathlib import Path

import pytest

from feedmill.adapters.peercredentials import peer_of


def test_peer_of_connection_from_another_process_is_that_process(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "socket"))
    listener.listen(1)
    pid = os.fork()
    if pid == 0:
        try:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            connection.connect(str(tmp_path / "socket"))
            connection.recv(1)
        finally:
            os._exit(0)
    accepted, _ = listener.accept()
    listener.close()
    with accepted:
        assert peer_of(accepted) == (pid, os.geteuid())
    os.waitpid(pid, 0)


def test_peer_of_closed_socket_raises_os_error() -> None:
    closed = socket.socket(socket.AF_UNIX)
    closed.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        peer_of(closed)
