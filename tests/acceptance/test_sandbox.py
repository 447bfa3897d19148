"""Hostile code in the processes that read untrusted content: everything that it tries is refused.

The code runs in a real worker of the pool, and a real process of stylesheets, beside a real server whose files, processes and ports it goes
for. Where the kernel of this machine lacks a part of the sandbox, the attempts that this part alone refuses are skipped.
"""

import errno
import json
import mmap
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.extract.pool.extractor import ExtractorPool
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.core.text.textblob import decode_text
from feedmill.model.extraction import Answer, ExtractionLimits, Task
from tests import programs
from tests.appliance import Appliance
from tests.intruder.intrusion import LANDLOCK, MARK, SECCOMP, Victims
from tests.sandboxparts import find_sandbox
from tests.waiting import wait_until

INTRUDER = f"{Path(__file__).parent.parent / 'intruder'}:{Path(__file__).parent.parent.parent}"
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS}


@pytest.fixture(scope="module")
def notifier() -> Iterator[str]:
    """Listens at an abstract address, as the roles of a server do."""
    name = f"feedmill-intruder-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0" + name)
        yield name


@pytest.fixture(scope="module")
def victims(server: Appliance, notifier: str) -> Victims:
    assert server.process is not None
    roles = server.role_pids()
    return Victims(
        secrets=[str(server.data / name) for name in ("admin.token", "store.sqlite", "run.json")],
        folder=str(server.data),
        processes=[server.process.pid, os.getpid(), roles["gate"][0], roles["extractor"][0]],
        port=server.gate,
        notifier=notifier,
    )


@pytest.fixture(scope="module")
def kernel_has(victims: Victims) -> frozenset[str]:
    """Names the parts of the sandbox that this kernel has: found out by a process that does nothing but confine itself."""
    sandbox = find_sandbox()
    return frozenset(name for name, is_there in ((SECCOMP, sandbox.seccomp), (LANDLOCK, sandbox.landlock)) if is_there)


def decide_each(output: dict[str, dict[str, Any]], kernel_has: frozenset[str]) -> None:
    """Fails for every attempt that a part refuses which this kernel has, and that was not refused; skips where there were others."""
    judged = {name: each for name, each in output.items() if kernel_has.intersection(each["parts"])}
    through = {name: each for name, each in judged.items() if each["code"] not in REFUSALS}
    assert not through
    if len(judged) < len(output):
        pytest.skip(f"this kernel's sandbox lacks {sorted({SECCOMP, LANDLOCK} - kernel_has)}: {sorted(output.keys() - judged.keys())}")


def test_worker_that_runs_hostile_code_is_refused_everything(
    victims: Victims, kernel_has: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", INTRUDER)
    data = MARK + json.dumps(victims).encode()
    with ExtractorPool(ExtractionLimits(), 1) as pool:
        pool.submit(Task(key=1, url="http://h/1.eml", mimetype="message/rfc822", data=data), quick=False)
        [answer] = wait_for_answers(pool)
        assert answer.reason is None
        decide_each(json.loads(decode_text(answer.body)), kernel_has)


def wait_for_answers(pool: ExtractorPool) -> list[Answer]:
    found: list[Answer] = []

    def is_there() -> bool:
        found.extend(pool.collect(1.0))
        return bool(found)

    wait_until(is_there, "an answer of the worker")
    return found


def test_stylesheet_that_runs_hostile_code_is_refused_everything(
    victims: Victims, kernel_has: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", INTRUDER)
    decide_each(json.loads(ProcessTransformer().transform(MARK + json.dumps(victims).encode(), b"<a/>")), kernel_has)


def test_same_code_outside_a_sandbox_gets_through(victims: Victims) -> None:
    """What is refused inside is not refused for some other reason."""
    tried = "intrusion.attempt_all(json.loads(sys.argv[1]), harmless=True)"
    code = f"import json, sys; from tests.intruder import intrusion; print(json.dumps({tried}))"
    done = subprocess.run([sys.executable, "-c", code, json.dumps(victims)], capture_output=True, check=True, env={"PYTHONPATH": INTRUDER})
    output = json.loads(done.stdout)
    through = {name for name, each in output.items() if each["code"] is None}
    expected = {
        "read secret 0",
        "read secret 1",
        "list a folder",
        "fork",
        "connect to the gate",
        "open a TCP socket",
        "write to the notifier",
    }
    expected |= {"read /etc/passwd", "signal parent", "call memfd_create", "signal process 0"}
    if not _forbids_executable_memory():
        expected.add("make memory executable")
    assert through >= expected


def _forbids_executable_memory() -> bool:
    """Whether this process, and all that it starts, is refused executable memory, as by MemoryDenyWriteExecute of systemd."""
    try:
        mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    except PermissionError:
        return True
    return False


def test_status_reports_the_parts_of_the_sandbox(server: Appliance) -> None:
    words = ("status", "--data", server.data)
    assert json.loads(programs.run(*words, "--json").stdout)["sandbox"] == asdict(find_sandbox())
    shown = programs.run(*words)
    assert "sandbox:" in shown.stdout


@pytest.mark.skipif(not find_sandbox().no_capabilities, reason="root keeps what lets it read any process")
def test_processes_of_the_server_are_closed_to_others_of_the_same_user(server: Appliance) -> None:
    assert server.process is not None
    pids = [server.process.pid, *(pid for pids in server.role_pids().values() for pid in pids)]
    code = (
        "import sys; from feedmill.adapters.sandbox.confinement import _drop_capabilities as drop; drop()\n"
        "for pid in sys.argv[1:]:\n"
        "    for part in ('environ', 'mem', 'maps'):\n"
        "        try: open(f'/proc/{pid}/{part}', 'rb').read(1); print(pid, part)\n"
        "        except PermissionError: pass\n"
    )
    output = subprocess.run([sys.executable, "-c", code, *map(str, pids)], capture_output=True, text=True, check=True)
    assert output.stdout == ""
