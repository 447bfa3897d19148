"""The program ``feedmill`` as a process: a command, or a server.

Processes are forked from one that has loaded the program (``programserver``). A new interpreter loads it for two seconds of CPU time, which
is more than most tests take themselves. A forked process runs the same code from the arguments to the exit code. Its extractor forks the
fork server in the same way (``forkedpopen``).

The executable itself is started by ``acceptance/test_executable.py``, and wherever a test sets a variable that changes the interpreter.
"""

import atexit
import json
import os
import select
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from tests.forkedpopen import ONE_THREAD
from tests.waiting import PATIENCE_SECONDS

MESSAGE_BYTES = 1 << 17

EXECUTABLE = Path(sys.executable).with_name("feedmill")

_ROOT = Path(__file__).parent.parent
_INTERPRETER = ("PYTHON", "LC_", "LANG")
"""How variables begin that an interpreter reads when it starts."""


Start = Callable[..., subprocess.Popen[str]]
"""Starts a program: ``start`` or ``start_executable``."""


class Request(TypedDict):
    """A program to start."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    umask: int
    #: The number of the user and of the group as which it runs; None for those of this process.
    user: int | None


class _Server:
    """The process that forks programs, and the environment with which its interpreter was started."""

    def __init__(self) -> None:
        self.interpreter = _select_interpreter(os.environ)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from tests import programserver; programserver.run()", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
                env=os.environ | ONE_THREAD,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self._stop, os.getpid())

    def request(self, arguments: list[str], environment: Mapping[str, str], standard: Sequence[int], user: int | None) -> tuple[int, int]:
        """Starts a program. Returns its process id, and the descriptor that reports its end."""
        request = Request(arguments=arguments, environment=dict(environment), folder=os.getcwd(), umask=_read_umask(), user=user)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._control, [json.dumps(request).encode()], [*standard, theirs.fileno()])
        status = ours.detach()
        return _read_number(status), status

    def _stop(self, owner: int) -> None:
        if os.getpid() == owner:
            self._control.close()
            self._process.wait()


@cache
def _server() -> _Server:
    return _Server()


class Program(subprocess.Popen[str]):
    """A forked process with the interface and the pipes of ``Popen``, whose private methods for fork and wait it replaces."""

    def __init__(self, arguments: list[str], user: int | None = None, **options: Any) -> None:
        self._waiting = threading.Lock()
        self._user = user
        super().__init__(arguments, text=True, **options)

    def _execute_child(self, *options: Any) -> None:
        arguments, environment, pipes = options[0], options[6], options[10:16]
        child_ends = (pipes[0], pipes[3], pipes[5])
        standard = [end if end != -1 else number for number, end in enumerate(child_ends)]
        try:
            self.pid, self._status = _server().request(arguments, environment, standard, self._user)
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        weakref.finalize(self, os.close, self._status)
        self._child_created = True

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        return self._find_code(0.0)

    def _wait(self, timeout: float | None) -> int:
        code = self._find_code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def _find_code(self, seconds: float | None) -> int | None:
        """Returns the exit code; None if the process has not ended within the time."""
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            with self._waiting:
                if self.returncode is None:
                    self.returncode = os.waitstatus_to_exitcode(_read_number(self._status))
                    os.write(self._status, b"reap")
        code: int | None = self.returncode
        return code


def _read_number(status: int) -> int:
    message = os.read(status, 100)
    assert message, "the process that forks programs has ended"
    return int(message)


def _read_umask() -> int:
    """Returns the umask, which os.umask would change for a moment."""
    return int(Path("/proc/self/status").read_text().partition("Umask:")[2].split()[0], 8)


def _select_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_INTERPRETER)}


def start(*words: str | Path, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Starts ``feedmill`` with words on its command line and, by default, the environment and the user of this process.

    Shape: the options are pipes, as those of Popen, and ``user``, whose number is that of a group too.
    """
    given = os.environ if environment is None else environment
    if _select_interpreter(given) != _server().interpreter:
        return start_executable(*words, environment=given, **options)
    return Program([str(word) for word in words], env=given, **options)


def start_executable(*words: str | Path, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Does as ``start`` with a new interpreter."""
    return subprocess.Popen([EXECUTABLE, *map(str, words)], env=environment, text=True, **options)


def run(*words: str | Path, given: str = "", start: Start = start, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, with text on its standard input."""
    pipe = subprocess.PIPE
    with start(*words, stdin=pipe, stdout=pipe, stderr=pipe, **options) as process:
        try:
            out, error = process.communicate(given, PATIENCE_SECONDS)
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(process.args, process.wait(), out, error)
