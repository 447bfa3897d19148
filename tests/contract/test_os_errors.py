"""What commands say about errors of the operating system, and about ports."""

import errno
import os
import socket
from pathlib import Path

import pytest

from feedmill.cli.oserrors import describe_os_error
from feedmill.cli.serverport import ServerPort
from feedmill.model.errors import BadRequest, Conflict, Unreachable
from feedmill.runtime.server.sockets import find_listener, open_listener


def test_missing_permission_names_path_user_owner_and_mode(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    text = describe_os_error(PermissionError(errno.EACCES, "Permission denied", str(folder / "store.sqlite")))
    assert f"no permission for '{folder}/store.sqlite'; the folder '{folder}' belongs to" in text
    assert ", mode 0700; run the command as " in text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOENT, "'{0}' does not exist"),
        (errno.ENOSPC, "the disk of '{0}' is full; free some of its space, nothing was written"),
        (errno.EROFS, "'{0}' is on a file system that is mounted read-only"),
        (errno.EISDIR, "'{0}': is a directory"),
    ],
)
def test_error_with_a_path_names_it(tmp_path: Path, number: int, text: str) -> None:
    path = tmp_path / "file"
    assert describe_os_error(OSError(number, os.strerror(number), str(path))) == text.format(path)


def test_error_without_a_path_is_its_own_text() -> None:
    assert describe_os_error(OSError(errno.EMFILE, "Too many open files")) == "too many open files"


def test_full_disk_without_a_path_names_the_disks_that_it_may_be() -> None:
    text = describe_os_error(OSError(errno.ENOSPC, "No space left on device"))
    assert text.startswith("a disk is full: that of the data folder")


def test_port_in_use_names_the_setting_and_the_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert find_listener(port).startswith(f"process {os.getpid()} (")
        with pytest.raises(Conflict, match=rf"port {port} on 127.0.0.1 \(gate.tls_port\) is in use by process {os.getpid()} \("):
            open_listener("gate_tls", "127.0.0.1", port)
    assert find_listener(port) == ""


def test_address_of_another_machine_names_the_setting() -> None:
    with pytest.raises(BadRequest, match=r"does search.bind name an address of this machine\?"):
        open_listener("search", "192.0.2.1", 0)


def test_no_server_is_unreachable_and_says_what_to_check() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with pytest.raises(Unreachable, match=f"no server answers at http://127.0.0.1:{port}; is 'feedmill serve' running"):
        ServerPort(base_url=f"http://127.0.0.1:{port}").get_json("/api/v1/feeds")
