"""Who holds a data folder, between real processes."""

import subprocess
import sys
from pathlib import Path

import pytest

from feedmill.model.errors import Conflict
from feedmill.runtime.runstate import RoleState, RunState, find_server, hold_data, is_held, read_state, remove_state, write_state

HOLDER = """
import sys
from pathlib import Path
from feedmill.runtime.runstate import hold_data
with hold_data(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_data_folder_held_by_another_process_is_refused_and_free_after_its_death(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_held(tmp_path)
        with pytest.raises(Conflict, match=f"in use by process {holder.pid}"), hold_data(tmp_path):
            pass
        holder.kill()
    assert not is_held(tmp_path)
    with hold_data(tmp_path):
        assert is_held(tmp_path)


def test_run_state_is_believed_only_while_a_process_holds_the_folder(tmp_path: Path) -> None:
    state = RunState(
        pid=1, started_at="x", addresses={"gate": "127.0.0.1:1"}, tls=("search",), roles={"gate": RoleState(pids=(2, 3), restarts=1)}
    )
    assert find_server(tmp_path) is None
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    assert find_server(tmp_path) is None
    with hold_data(tmp_path):
        assert find_server(tmp_path) == state
    remove_state(tmp_path)
    assert read_state(tmp_path) is None


def test_run_state_that_is_broken_is_none(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"pid": 1')
    assert read_state(tmp_path) is None
    (tmp_path / "run.json").write_text("[]")
    assert read_state(tmp_path) is None


@pytest.mark.parametrize(
    ("address", "url"),
    [("127.0.0.1:80", "http://127.0.0.1:80"), ("0.0.0.0:80", "http://127.0.0.1:80"), ("[::]:80", "http://[::1]:80")],
)
def test_url_of_a_listener_is_reachable_from_this_machine(address: str, url: str) -> None:
    assert RunState(pid=1, started_at="", addresses={"gate": address}).url("gate") == url
    assert RunState(pid=1, started_at="", addresses={"gate": address}, tls=("gate",)).url("gate") == url.replace("http", "https")
