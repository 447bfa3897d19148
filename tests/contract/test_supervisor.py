"""The parent with roles of the test's own: small scripts that print their process id and follow commands."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from feedmill.runtime.forking import fork
from feedmill.runtime.supervisor import restart_delay
from tests.appliance import is_alive
from tests.waiting import PATIENCE_SECONDS, wait_for, wait_until

PARENT = """
import os, signal, sys, time
from pathlib import Path
import feedmill.runtime.sockethandover as sockethandover
import feedmill.runtime.supervisor as supervisor
from feedmill.telemetry.logs import configure_logs
from feedmill.runtime.roles import ProcessRole, Restart

folder, names = Path(sys.argv[1]), sys.argv[2:]

def live(role, number, handover):
    if role.name == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if role.name == "hopeless":
        return 3
    if role.name == "broken":
        raise RuntimeError("broken on purpose")
    if role.name == "dying":
        with (folder / "deaths").open("a") as file:
            file.write("x")
        return 3
    signal.signal(signal.SIGHUP, lambda *_: (folder / "hup").write_text(str(os.getpid())))
    name = f"{role.name}{number or ''}"
    fresh = folder / f"{name}.new"
    fresh.write_text(str(os.getpid()))
    fresh.replace(folder / name)
    if handover.is_successor:
        (folder / "follows").write_text(" ".join(str(each.pid) for each in handover.predecessors))
    if role.name == "handing":
        handover.take_over()
        (folder / f"serving.{os.getpid()}").touch()
    while True:
        time.sleep(0.05)
        if role.name == "handing" and (folder / f"drain.{os.getpid()}").exists():
            os.read(handover.drain_reader, 1)
            handover.report_drained()
            (folder / f"drain.{os.getpid()}").unlink()

def probe():
    while not (folder / "a").exists():
        time.sleep(0.02)
    return 4 if "blind" in names else 0

def find_in_flight(role):
    if role != "dying" or not (folder / "items").exists():
        return None
    items = (folder / "items").read_text().split()
    return items[(folder / "deaths").stat().st_size - 1]

configure_logs("parent")
supervisor.STOP_SECONDS = 0.5
sockethandover.PATIENCE_SECONDS = 600.0
held = open(folder / "held", "w")
reload_settings = lambda: not (folder / "bad").exists()
restarts = {"overlapping": Restart.HANDOVER, "handing": Restart.HANDOVER, "many": Restart.HANDOVER}
count = lambda role: int((folder / "processes").read_text()) if role.name == "many" else 1
roles = [ProcessRole(name=name, entry_point="", restart=restarts.get(name, Restart.AFTER_END)) for name in names]
running = supervisor.Supervisor(
    roles, live=live, probe=probe, reload_settings=reload_settings, on_ready=lambda: (folder / "ready").touch(),
    find_in_flight=find_in_flight, count_processes=count,
)
sys.exit(running.run())
"""


FORKING = """
import os, sys
from pathlib import Path
from feedmill.runtime.forking import fork

reading, writing = os.pipe()
sys.stdout = os.fdopen(os.dup2(writing, 1), "w", buffering=4096)
os.close(reading)

def work():
    print("unread")
    return 7

print("unread either")
child = fork(work)
with open(sys.argv[1], "a") as file:
    file.write(f"{child.wait()} ")
os._exit(0)
"""


@contextmanager
def parent(folder: Path, *roles: str) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "parent.py").write_text(PARENT)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, str(folder / "parent.py"), str(folder), *roles], stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def pid_of(folder: Path, role: str) -> int:
    wait_until((folder / role).exists, f"a process for {role}")
    return int((folder / role).read_text())


def test_supervisor_with_a_killed_child_starts_it_again_at_once(tmp_path: Path) -> None:
    with parent(tmp_path, "a", "b"):
        first, other = pid_of(tmp_path, "a"), pid_of(tmp_path, "b")
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: pid_of(tmp_path, "a") != first)
        assert is_alive(pid_of(tmp_path, "a"))
        assert pid_of(tmp_path, "b") == other


def test_process_of_several_that_is_killed_is_started_again_alone(tmp_path: Path) -> None:
    (tmp_path / "processes").write_text("3")
    with parent(tmp_path, "many"):
        first, *others = [pid_of(tmp_path, name) for name in ("many", "many1", "many2")]
        os.kill(others[0], signal.SIGKILL)
        wait_until(lambda: pid_of(tmp_path, "many1") != others[0])
        assert [pid_of(tmp_path, name) for name in ("many", "many2")] == [first, others[1]]


def test_settings_change_the_number_of_processes_of_a_role(tmp_path: Path) -> None:
    (tmp_path / "processes").write_text("2")
    with parent(tmp_path, "a", "many") as process:
        before = [pid_of(tmp_path, name) for name in ("many", "many1")]
        wait_until((tmp_path / "ready").exists)
        (tmp_path / "processes").write_text("3")
        process.send_signal(signal.SIGHUP)
        more = [pid_of(tmp_path, "many2")]
        wait_until(lambda: pid_of(tmp_path, "many") not in before and pid_of(tmp_path, "many1") not in before)
        more += [pid_of(tmp_path, name) for name in ("many", "many1")]
        (tmp_path / "processes").write_text("1")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: pid_of(tmp_path, "many") not in more)
        # the one successor knows all earlier processes, those without a successor too
        wait_for({*before, *more}, lambda: {int(pid) for pid in (tmp_path / "follows").read_text().split()})
        assert pid_of(tmp_path, "many2") == more[0]


def test_supervisor_that_is_killed_takes_its_children_with_it(tmp_path: Path) -> None:
    with parent(tmp_path, "a", "deaf") as process:
        children = [pid_of(tmp_path, "a"), pid_of(tmp_path, "deaf")]
        process.kill()
        process.wait()
        wait_until(lambda: not any(is_alive(child) for child in children))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_supervisor_that_gets_a_signal_to_end_ends_all_with_code_0(tmp_path: Path, number: signal.Signals) -> None:
    with parent(tmp_path, "a", "deaf") as process:
        children = [pid_of(tmp_path, "a"), pid_of(tmp_path, "deaf")]
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == 0
        assert not any(is_alive(child) for child in children)


def test_supervisor_that_reloads_signals_its_children_only_for_good_settings(tmp_path: Path) -> None:
    with parent(tmp_path, "a") as process:
        child = pid_of(tmp_path, "a")
        (tmp_path / "bad").touch()
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert not (tmp_path / "hup").exists()
        (tmp_path / "bad").unlink()
        process.send_signal(signal.SIGHUP)
        wait_for(str(child), (tmp_path / "hup").read_text, bearing=(FileNotFoundError,))


def test_supervisor_that_reloads_starts_a_role_that_overlaps_beside_its_earlier_process(tmp_path: Path) -> None:
    with parent(tmp_path, "a", "overlapping") as process:
        other, first = pid_of(tmp_path, "a"), pid_of(tmp_path, "overlapping")
        process.send_signal(signal.SIGHUP)
        wait_for(str(first), (tmp_path / "follows").read_text, bearing=(FileNotFoundError,))
        second = pid_of(tmp_path, "overlapping")
        assert second != first
        assert is_alive(first)
        wait_for(str(other), (tmp_path / "hup").read_text, bearing=(FileNotFoundError,))
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not is_alive(first))
        os.kill(second, signal.SIGKILL)
        wait_until(lambda: pid_of(tmp_path, "overlapping") != second)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("end", ["drains", "dies"])
def test_successor_serves_once_its_predecessor_drains_or_dies(tmp_path: Path, end: str) -> None:
    with parent(tmp_path, "a", "handing") as process:
        first = pid_of(tmp_path, "handing")
        wait_until((tmp_path / f"serving.{first}").exists)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: pid_of(tmp_path, "handing") != first)
        second = pid_of(tmp_path, "handing")
        time.sleep(0.3)
        assert not (tmp_path / f"serving.{second}").exists()
        if end == "dies":
            os.kill(first, signal.SIGKILL)
        else:
            (tmp_path / f"drain.{first}").touch()
        wait_until((tmp_path / f"serving.{second}").exists)


def test_successor_of_a_successor_that_is_killed_serves_once_the_first_process_drains(tmp_path: Path) -> None:
    with parent(tmp_path, "a", "handing") as process:
        first = pid_of(tmp_path, "handing")
        wait_until((tmp_path / f"serving.{first}").exists)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: pid_of(tmp_path, "handing") != first)
        second = pid_of(tmp_path, "handing")
        os.kill(second, signal.SIGKILL)
        wait_until(lambda: pid_of(tmp_path, "handing") != second)
        third = pid_of(tmp_path, "handing")
        time.sleep(0.3)
        assert is_alive(first)
        assert not (tmp_path / f"serving.{third}").exists()
        (tmp_path / f"drain.{first}").touch()
        wait_until((tmp_path / f"serving.{third}").exists)


@pytest.mark.parametrize(("role", "trace"), [("hopeless", b""), ("broken", b"RuntimeError: broken on purpose")])
def test_supervisor_with_a_role_that_cannot_start_ends_with_code_1(tmp_path: Path, role: str, trace: bytes) -> None:
    with parent(tmp_path, role) as process:
        assert process.wait(PATIENCE_SECONDS) == 1
    log = (tmp_path / "log").read_bytes()
    assert b"role_cannot_start" in log
    assert trace in log


def test_supervisor_starts_a_role_at_once_that_dies_over_another_item_each_time(tmp_path: Path) -> None:
    (tmp_path / "items").write_text("first second third fourth fourth fourth fourth fourth")
    with parent(tmp_path, "dying") as process:
        assert process.wait(PATIENCE_SECONDS) == 1
    delays = re.findall(r"again_in_seconds\S*?[=:] ?\S*?([0-9.]+)", (tmp_path / "log").read_text())
    assert [float(delay) for delay in delays] == [0.0, 0.0, 0.0, 0.0, 0.05, 0.1, 0.2, 0.4]


def test_supervisor_reports_when_the_probe_finds_it_ready(tmp_path: Path) -> None:
    with parent(tmp_path, "a") as process:
        wait_until((tmp_path / "ready").exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


def test_supervisor_whose_probe_fails_ends_with_code_1(tmp_path: Path) -> None:
    with parent(tmp_path, "a", "blind") as process:
        assert process.wait(PATIENCE_SECONDS) == 1
        assert not (tmp_path / "ready").exists()


def test_supervisor_hears_signals_while_its_children_start(tmp_path: Path) -> None:
    with parent(tmp_path, "a") as process:
        for _ in range(20):
            child = pid_of(tmp_path, "a")
            (tmp_path / "a").unlink()  # before who follows writes it
            os.kill(child, signal.SIGKILL)
            process.send_signal(signal.SIGHUP)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


def test_children_hold_nothing_of_their_parent(tmp_path: Path) -> None:
    with parent(tmp_path, "a"):
        child = pid_of(tmp_path, "a")
        held = {os.readlink(file) for file in Path(f"/proc/{child}/fd").iterdir()}
        assert str(tmp_path / "held") not in held
        assert os.readlink(f"/proc/{child}/fd/0") == os.devnull


def test_child_whose_output_is_not_read_ends_with_its_code_and_never_goes_on_as_its_parent(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKING, str(tmp_path / "codes")], check=True, timeout=PATIENCE_SECONDS)
    assert (tmp_path / "codes").read_text() == "7 "


def test_fork_with_a_second_thread_is_refused() -> None:
    is_over = threading.Event()
    other = threading.Thread(target=is_over.wait)
    other.start()
    try:
        with pytest.raises(RuntimeError, match="threads"):
            fork(lambda: 0)
    finally:
        is_over.set()
        other.join()


def test_restart_delay_grows_from_nothing_to_half_a_minute() -> None:
    assert [restart_delay(deaths) for deaths in (0, 1, 2, 3, 4)] == [0.0, 0.0, 0.05, 0.1, 0.2]
    assert restart_delay(1000) == 30.0
