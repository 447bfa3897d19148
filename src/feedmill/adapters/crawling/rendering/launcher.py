"""Starts a browser in a sandbox: ``python -m feedmill.adapters.crawling.rendering.launcher SOCKET PARENT MEMORY COMMAND...``.

1. The launcher drops the privileges of root and enters namespaces: no network device, no other processes, a file system of chosen folders.
2. Number 1 of these processes sets the limits and the system call filter, starts the browser and adds up what memory its processes use.
   It ends when the browser has ended, when that uses too much, or when the other end of the socket is closed; the kernel ends the rest.
3. If the sandbox cannot be made, no browser is started. The reason is a message on the socket, like those of the browser.
"""

import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NoReturn

from feedmill.adapters.sandbox import kernel, namespaces, seccomp
from feedmill.adapters.sandbox.confinement import forbid_new_privileges, set_limit
from feedmill.adapters.sandbox.namespaces import View

ENDED: Final = "Launcher.ended"
"""The name of the message with the reason why there is no browser any more."""

_SHOWN: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"),
    *("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime", "/var/cache/fontconfig"),
)
_LOOK_SECONDS: Final = 0.25
_FILE_BYTES: Final = 64_000_000
_PROCESSES: Final = 1_000
_OPEN_FILES: Final = 4_096
_NICENESS: Final = 5
_PR_SET_PDEATHSIG: Final = 1
_READ: Final = 3
_WRITE: Final = 4


def main(arguments: Sequence[str]) -> int:
    """Runs the launcher to the end of the browser. Returns its exit status."""
    control = socket.socket(fileno=int(arguments[0]))
    parent, memory_bytes, command = int(arguments[1]), int(arguments[2]), list(arguments[3:])
    # errors of system calls are described by a module that is loaded on first use, and cannot be any more in the sandbox
    os.strerror(1).encode("ascii")
    try:
        os.umask(0o077)
        namespaces.become_nobody()
        kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return 1
        namespaces.enter()
        first = os.fork()
    except OSError as exc:
        _report(control, f"this machine permits no sandbox for a browser: {exc}")
        return 1
    if first == 0:
        _supervise(control, memory_bytes, command)
    control.close()
    return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])


def _supervise(control: socket.socket, memory_bytes: int, command: list[str]) -> NoReturn:
    """Runs process number 1 from its start to its end."""
    status = 1
    try:
        kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        namespaces.show_only(replace(View(shown=_SHOWN), scratch_bytes=_FILE_BYTES))
        _confine()
        browser = os.fork()
        if browser == 0:
            _become(command, control)
        _report(control, _watch(control, browser, memory_bytes))
        status = 0
    except OSError as exc:
        _report(control, f"this machine permits no sandbox for a browser: {exc}")
    finally:
        os._exit(status)


def _confine() -> None:
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_FSIZE, _FILE_BYTES)
    set_limit(resource.RLIMIT_NPROC, _PROCESSES)
    set_limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    os.nice(_NICENESS)
    if not forbid_new_privileges():
        raise OSError(1, "new privileges cannot be forbidden")
    seccomp.install(seccomp.RENDERING)


def _become(command: list[str], control: socket.socket) -> NoReturn:
    try:
        # Both numbers are taken above those that are overwritten below.
        spare = [os.dup(control.fileno()) for _ in range(_WRITE)][-1]
        os.dup2(spare, _READ)
        os.dup2(spare, _WRITE)
        os.closerange(_WRITE + 1, _OPEN_FILES)
        environment = {"HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}  # noqa: S108  # in its own file system
        os.execve(command[0], command, environment)  # noqa: S606  # there is no shell, on purpose
    except OSError as exc:
        os.write(_WRITE, json.dumps({"method": ENDED, "params": {"reason": f"'{command[0]}' cannot be started: {exc}"}}).encode() + b"\0")
    finally:
        os._exit(1)


def _watch(control: socket.socket, browser: int, memory_bytes: int) -> str:
    """Waits until the browser ends or must end. Returns why."""
    poll = select.poll()
    poll.register(control, 0)
    while True:
        if poll.poll(_LOOK_SECONDS * 1_000):
            return "nothing needs it any more"
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == browser:
                return f"it ended with status {os.waitstatus_to_exitcode(ended[1])}"
        if _count_memory() > memory_bytes:
            return f"it used more than {memory_bytes // 1_000_000} MB of memory"


def _count_memory() -> int:
    """Returns the bytes of memory that all processes here use, without files that are only mapped."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            try:
                with open(f"/proc/{name}/status", "rb") as file:
                    lines = file.read().splitlines()
            except OSError:
                continue
            total += sum(int(line.split()[1]) for line in lines if line.startswith((b"RssAnon:", b"RssShmem:")))
    return total * 1_024


def _report(control: socket.socket, reason: str) -> None:
    try:
        control.sendall(json.dumps({"method": ENDED, "params": {"reason": reason}}).encode() + b"\0")
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
