"""A process that has loaded what the extractor loads, and forks the extractor's fork server for this process.

A new interpreter takes two seconds of CPU time to load it, and a test of extraction starts one or more. The forked process is a child of
this process, as that of a new interpreter is, not of the process that forks it. Any other program starts as ever.

A request is one message: a command, its environment, and the numbers under which the process finds the descriptors that come with it, after
the first three, which become its standard input, output and error. The response is the id of the process.
"""

import atexit
import ctypes
import fcntl
import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from setproctitle import setproctitle

from tests import forkedpopen

_ROOT = Path(__file__).parent.parent
_MESSAGE_BYTES = 1 << 16
_MOST_DESCRIPTORS = 8
_CLONE_PARENT = 0x8000
_CLONE = {"x86_64": 56, "aarch64": 220}
"""The number of the system call clone(2), by the machine's architecture."""

IS_POSSIBLE = os.uname().machine in _CLONE
_ABOVE = 200
"""A number above those of all descriptors that a request names."""


class Popen(subprocess.Popen[Any]):
    """A process of the extractor's fork server that the zygote forks, or of any other program, as ``subprocess.Popen`` starts it."""

    def _execute_child(self, *options: Any) -> None:
        command, pass_fds, environment = options[0], options[4], options[6]
        given = os.environ if environment is None else environment
        if not forkedpopen.is_forkable(command, given):
            super()._execute_child(*options)  # type: ignore[misc]
            return
        pipes = options[10:16]
        standard = [end if end != -1 else number for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        try:
            self.pid = _start().request(command, given, standard, list(pass_fds))
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self._child_created = True


class _Zygote:
    """The process that forks, as this process sees it."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from tests import zygote; zygote.run()", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
                env=os.environ | forkedpopen.ONE_THREAD,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self._stop, os.getpid())

    def request(self, command: list[str], environment: Mapping[str, str], standard: list[int], pass_fds: list[int]) -> int:
        message = json.dumps([command, dict(environment), pass_fds]).encode()
        socket.send_fds(self._control, [message], [*standard, *pass_fds])
        answer = self._control.recv(100)
        assert answer, "the zygote has ended"
        return int(answer)

    def _stop(self, owner: int) -> None:
        if os.getpid() == owner:
            self._control.close()
            self._process.wait()


@cache
def _start() -> _Zygote:
    return _Zygote()


@contextmanager
def forking() -> Iterator[None]:
    """Lets ``subprocess.Popen`` fork the extractor's fork server for a block."""
    before = subprocess.Popen
    if IS_POSSIBLE:
        subprocess.Popen = Popen  # type: ignore[misc]
    try:
        yield
    finally:
        subprocess.Popen = before  # type: ignore[misc]


# --- the zygote's side ----------------------------------------------------------------------------------------------------------


def run() -> None:
    """Forks a process for each request, until the client is gone."""
    from feedmill.adapters.extract.pool import forkserver

    forkserver.preload()
    gc.collect()
    gc.freeze()
    # finds the memory for titles by means of the environment, and so before that is changed
    setproctitle("feedmill zygote")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, _MOST_DESCRIPTORS)
        if not message:
            return
        pid = _fork_sibling()
        if pid == 0:
            command, environment, numbers = json.loads(message)
            _become(command, environment, numbers, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(str(pid).encode("ascii"))


def _fork_sibling() -> int:
    """Forks as ``os.fork`` does, except that the new process is a child of this process's parent."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    # PyDLL holds the interpreter's lock during the call, so that the new process holds it too
    pid = ctypes.PyDLL(None).syscall(_CLONE[os.uname().machine], _CLONE_PARENT | signal.SIGCHLD, None, None, None, None)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    assert pid >= 0, "clone(2) failed"
    return int(pid)


def _become(command: list[str], environment: dict[str, str], numbers: list[int], descriptors: list[int]) -> None:
    """Gives the descriptors the numbers that the command names, and runs the command; never returns."""
    above = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, max(_ABOVE, *numbers, 0) + 1) for descriptor in descriptors]
    for number, descriptor in zip(numbers, above[3:], strict=True):
        os.dup2(descriptor, number)
    forkedpopen.live(command, environment, above[:3], numbers)
