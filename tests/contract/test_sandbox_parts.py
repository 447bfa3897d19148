"""Each part of the sandbox by itself, in a process of its own: what one refuses must not rest on another."""

import json
import os
import platform
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from feedmill.adapters.sandbox import landlock
from feedmill.adapters.sandbox.seccomp import EXTRACTING, TRANSFORMING, assemble
from feedmill.adapters.sandbox.syscalls import AARCH64, X86_64
from tests.intruder.intrusion import NUMBERS
from tests.sandboxparts import find_sandbox, launch, needs_namespaces
from tests.waiting import wait_for

SANDBOX = find_sandbox()
needs_seccomp = pytest.mark.skipif(not SANDBOX.seccomp, reason="this kernel has no system call filters")


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False)


LANDLOCK_ALONE = """
import json, os, socket, sys
from feedmill.adapters.sandbox import confinement, landlock
port, name, parent, path = json.loads(sys.argv[1])
def tcp():
    socket.create_connection(("127.0.0.1", port), 5)
def abstract():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", "\\0" + name)
acts = {
    "read": lambda: open("/etc/passwd"), "list": lambda: os.listdir("/"), "write": lambda: open(path, "w"),
    "make": lambda: os.mkdir(path + ".d"),
    "tcp": tcp, "abstract": abstract, "signal": lambda: os.kill(parent, 0),
}
def attempt_all():
    allowed = {}
    for name, act in acts.items():
        try:
            act()
            allowed[name] = True
        except PermissionError:
            allowed[name] = False
    return allowed
before = attempt_all()
os.rmdir(path + ".d")
confinement.forbid_new_privileges()
landlock.restrict()
print(json.dumps([before, attempt_all()]))
"""


@pytest.mark.skipif(not SANDBOX.landlock, reason="this kernel has no Landlock")
def test_landlock_alone_refuses_files_ports_abstract_sockets_and_signals(tmp_path: os.PathLike[str]) -> None:
    name = f"feedmill-landlock-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0" + name)
        known = [server.getsockname()[1], name, os.getpid(), os.path.join(tmp_path, "made")]
        done = run(LANDLOCK_ALONE, json.dumps(known))
    before, after = json.loads(done.stdout)
    assert all(before.values())
    expected = {"read": False, "list": False, "write": False, "make": False}
    expected |= {"tcp": not SANDBOX.landlock_network, "abstract": not SANDBOX.landlock_scopes, "signal": not SANDBOX.landlock_scopes}
    assert after == expected


def test_landlock_rules_have_the_size_that_each_version_knows() -> None:
    assert [len(landlock.make_ruleset(version)) for version in range(1, 9)] == [8, 8, 8, 16, 16, 24, 24, 24]


SECCOMP_ALONE = """
import ctypes, sys
from feedmill.adapters.sandbox import confinement, seccomp
confinement.forbid_new_privileges()
libc = ctypes.CDLL(None, use_errno=True)
seccomp.install(seccomp.EXTRACTING)
result = libc.syscall(ctypes.c_long(int(sys.argv[1], 0)), *(ctypes.c_void_p(int(argument, 0)) for argument in sys.argv[2:]))
print(result, ctypes.get_errno(), flush=True)
"""


@needs_seccomp
def test_seccomp_alone_refuses_what_is_not_listed() -> None:
    numbers = NUMBERS[platform.machine()]
    assert run(SECCOMP_ALONE, str(numbers["keyctl"]), "0", "0", "0").stdout.split() == ["-1", "1"]
    assert run(SECCOMP_ALONE, "999").stdout.split() == ["-1", "1"]
    # the C library takes clone instead, whose flags can be seen
    assert run(SECCOMP_ALONE, str(numbers["clone3"]), "0", "0").stdout.split() == ["-1", "38"]


@needs_seccomp
def test_seccomp_compares_both_halves_of_an_argument() -> None:
    numbers = NUMBERS[platform.machine()]
    sendto = str({"x86_64": 44, "aarch64": 206}[platform.machine()])
    # without an address it is the descriptor that is wrong
    assert run(SECCOMP_ALONE, sendto, "-1", "0", "0", "0", "0", "0").stdout.split() == ["-1", "9"]
    for address in ("1", "0x100000000"):
        assert run(SECCOMP_ALONE, sendto, "-1", "0", "0", "0", address, "0").stdout.split() == ["-1", "1"]
    # a thread that would have a namespace of its own
    assert run(SECCOMP_ALONE, str(numbers["clone"]), hex(0x10000 | 0x20000), "0", "0", "0", "0").stdout.split() == ["-1", "1"]


@needs_seccomp
@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86_64 has a second table of calls under its name")
def test_seccomp_ends_a_process_that_calls_by_the_table_of_x32() -> None:
    assert run(SECCOMP_ALONE, hex(0x40000000 | 39)).returncode == -signal.SIGSYS


@pytest.mark.parametrize("architecture", [X86_64, AARCH64], ids=["x86_64", "aarch64"])
@pytest.mark.parametrize("rules", [EXTRACTING, TRANSFORMING], ids=["extracting", "transforming"])
def test_filters_fit_what_the_kernel_takes(architecture: object, rules: object) -> None:
    assert isinstance(architecture, type(X86_64))
    assert isinstance(rules, type(EXTRACTING))
    code = assemble(rules, architecture)
    # BPF_MAXINSNS
    assert 0 < len(code) // 8 < 4096


# --- the sandbox of browsers ---


@needs_namespaces
def test_browser_sees_no_network_no_processes_and_no_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    network = "echo devices $(tail -n +3 /proc/net/dev | cut -d: -f1)"
    shown = launch(f"id -u; {network}; echo $(ls /); echo $(ls -d /proc/[0-9]*); cat {tmp_path}/secret /etc/shadow")
    assert shown.startswith("65534\ndevices lo\nbin dev etc lib")
    assert "/proc/1 /proc/2" in shown
    assert "secret: No such file" in shown
    assert "shadow: No such file" in shown
    assert '{"method": "Launcher.ended", "params": {"reason": "it ended with status 1"}}' in shown


@needs_namespaces
def test_browser_writes_to_its_own_memory_alone() -> None:
    shown = launch(
        "for f in /usr/x /etc/x /x /tmp/x /dev/shm/x; do (echo > $f) 2>/dev/null && echo wrote $f; done; umount /usr && echo umounted"
    )
    assert [line for line in shown.splitlines() if line.startswith(("wrote", "umounted"))] == ["wrote /tmp/x", "wrote /dev/shm/x"]


@needs_namespaces
def test_browser_that_uses_too_much_memory_is_ended() -> None:
    assert "it used more than 50 MB of memory" in launch("tail /dev/zero", 50_000_000)


@needs_namespaces
def test_browser_ends_when_nothing_needs_it() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        module = "feedmill.adapters.crawling.rendering.launcher"
        arguments = [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid()), "1000000000", "/bin/sleep", "600"]
        started = subprocess.Popen(arguments, pass_fds=[theirs.fileno()])
    ours.close()
    assert started.wait(60) == 0


SOCKETS = """
import json, socket
from feedmill.adapters.sandbox import seccomp
from feedmill.adapters.sandbox.confinement import forbid_new_privileges
forbid_new_privileges()
seccomp.install(seccomp.RENDERING)
def attempt(family, kind):
    try:
        socket.socket(family, kind).close()
    except PermissionError:
        return False
    return True
a, b = socket.socketpair()
print(json.dumps([attempt(socket.AF_UNIX, socket.SOCK_STREAM), *(attempt(*each) for each in [
    (socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET6, socket.SOCK_DGRAM), (socket.AF_NETLINK, socket.SOCK_RAW),
    (socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_UNIX, socket.SOCK_DGRAM)])]))
"""


@needs_seccomp
def test_filter_of_browsers_refuses_sockets_of_networks() -> None:
    assert json.loads(run(SOCKETS).stdout) == [True, False, False, False, False, False]


STARTER = """
import os, socket, subprocess, sys, time
ours, theirs = socket.socketpair()
module = "feedmill.adapters.crawling.rendering.launcher"
command = [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid()), "1000000000", "/bin/sh", "-c", "echo >&4; " + sys.argv[1]]
subprocess.Popen(command, pass_fds=[theirs.fileno()])
ours.recv(1)
print("started", flush=True)
time.sleep(600)
"""


@needs_namespaces
def test_browser_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    mark = f"sleep 600.{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", STARTER, f"exec {mark}"], stdout=subprocess.PIPE, cwd=tmp_path) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"started\n"
        assert list_commands(mark)
        starter.kill()
    wait_for([], lambda: list_commands(mark))


def list_commands(text: str) -> list[str]:
    """Returns the command lines of this machine's processes that contain a text."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return [line for line in found if text in line]
