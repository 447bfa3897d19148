"""A shared server ends with its last user, also if that is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.appliance import is_alive
from tests.contract.sharedserver import use_folder
from tests.waiting import wait_for

USER = """
import signal, subprocess, sys
from pathlib import Path
from tests.appliance import is_alive
from tests.contract.sharedserver import start_using
folder = Path(sys.argv[1])
use = start_using(folder)
# a shell that starts the tests in the background lets them ignore it
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
(folder / "pid").write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
print("up", flush=True)
sys.stdin.read()
"""


def test_server_ends_with_its_last_user(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", USER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"up\n"
        server = int((folder / "pid").read_text())
        with use_folder(folder):
            first.kill()
            first.wait()
            assert (folder.exists(), is_alive(server)) == (True, True)
        wait_for(False, folder.exists)
        wait_for(False, lambda: is_alive(server))


def test_folder_that_is_gone_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="users"):
        use_folder(tmp_path)
