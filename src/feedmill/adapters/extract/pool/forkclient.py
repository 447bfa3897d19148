"""The pool's side of the fork server: starts it, requests workers, notices when it is gone and starts another."""

import contextlib
import fcntl
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from feedmill import __version__
from feedmill.adapters.peercredentials import peer_of
from feedmill.adapters.sandbox.environment import bare_environment
from feedmill.model.extraction import ExtractionLimits
from feedmill.runtime.roles import EXTRACTOR

_PIPE_BYTES = 1 << 20
_MESSAGE_BYTES = 4_096
_PAUSE_SECONDS = 0.2
_GOODBYE_SECONDS = 0.5
_KILLED_SECONDS = 30.0
_NEWS_SECONDS = 5.0
"""How long to wait for the fork server's notice of an end. Without it, a worker that was killed from outside would count as a crash."""
_MAX_PAUSE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """A notice of the fork server: worker ``number`` has started or ended."""

    kind: str
    number: int
    value: int


class _Adopted:
    """A fork server that a predecessor of this process started. Shape: the number is 0 until the server has sent it."""

    def __init__(self) -> None:
        self.pid = 0

    def wait(self, timeout_seconds: float) -> None:
        """Waits until it has ended. Errors: subprocess.TimeoutExpired."""
        with self._opened() as found:
            if found is not None and not select.select([found], [], [], timeout_seconds)[0]:
                raise subprocess.TimeoutExpired(EXTRACTOR.title, timeout_seconds)

    def kill(self) -> None:
        """Kills it if it has not ended."""
        with self._opened() as found:
            if found is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(found, signal.SIGKILL)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int | None]:
        try:
            # A descriptor of the process instead of its number, which the kernel may give to another process at any time.
            found = os.pidfd_open(self.pid) if self.pid else None
        except OSError:
            found = None
        try:
            yield found
        finally:
            if found is not None:
                os.close(found)


class ForkClient:
    """A running fork server. It is started on first use and again after it has died, more slowly each time it dies early.

    With a ``name`` it outlives this process, if that is killed, for up to 15 seconds. The next process that the same parent starts takes
    it over, if name and limits are the same. A fork server without a sandbox, for benchmarks only, has no name.
    """

    def __init__(self, limits: ExtractionLimits, name: str | None = None, *, sandboxed: bool = True) -> None:
        self._limits = limits
        self._sandboxed = sandboxed
        self._address = _address_of(name, limits) if name is not None and sandboxed else None
        self._may_adopt = self._address is not None
        self._process: subprocess.Popen[bytes] | _Adopted | None = None
        self._control: socket.socket | None = None
        self._not_before = 0.0
        self._heard: list[WorkerEvent] = []
        self.failures = 0

    @property
    def control(self) -> socket.socket | None:
        """The socket to wait on, or None while no fork server runs."""
        return self._control

    def is_running(self) -> bool:
        """Starts the fork server if none runs and a start is due. Returns whether one runs now."""
        if self._process is not None:
            return True
        if time.monotonic() < self._not_before:
            return False
        if self._may_adopt:
            self._may_adopt = False
            if self._adopt():
                return True
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        limits = json.dumps(asdict(self._limits))
        command = [sys.executable, "-m", "feedmill.adapters.extract.pool.forkserver", EXTRACTOR.title, str(theirs.fileno()), limits]
        passed = [theirs.fileno()]
        listener = self._listen_for_successors()
        if listener is not None:
            passed.append(listener.fileno())
            command += [str(listener.fileno()), str(os.getppid())]
        elif not self._sandboxed:
            command.append("unsandboxed")
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
                # a terminal's Ctrl-C is for the process that the user runs, which ends this one
                process_group=0,
            )
        except OSError:
            ours.close()
            self._note_failure()
            return False
        finally:
            theirs.close()
            if listener is not None:
                listener.close()
        ours.setblocking(False)
        self._control = ours
        return True

    def _adopt(self) -> bool:
        """Takes over the fork server of a predecessor that was killed. Returns whether there was one."""
        try:
            control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        except OSError:
            return False
        try:
            control.connect(self._address or b"")
            _, user = peer_of(control)
        except OSError:
            control.close()
            return False
        # Any user of the machine may bind an abstract address. Documents go only to a process of this user.
        if user != os.geteuid():
            control.close()
            return False
        self._process, self._control = _Adopted(), control
        return True

    def _listen_for_successors(self) -> socket.socket | None:
        """Returns a socket to which successors of this process connect; None if they need not, or cannot."""
        if self._address is None:
            return None
        listener = None
        try:
            # Fails if this kernel has no such descriptors, or the parent is gone. The fork server needs one of the parent.
            os.close(os.pidfd_open(os.getppid()))
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(self._address)
            listener.listen(4)
        except OSError:
            if listener is not None:
                listener.close()
            return None
        return listener

    def spawn(self, number: int, niceness: int) -> tuple[int, int, socket.socket]:
        """Requests a worker. Returns this side's ends of its pipes: tasks to write, answers to read, files to send. Errors: OSError."""
        if self._control is None:
            raise OSError("no fork server runs")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        tasks_out, tasks_in = os.pipe2(os.O_CLOEXEC)
        answers_out, answers_in = os.pipe2(os.O_CLOEXEC)
        for descriptor in (tasks_in, answers_out):
            os.set_blocking(descriptor, False)
            # a system may allow less; the default also works, with more waiting
            with contextlib.suppress(OSError):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            descriptors = [tasks_out, answers_in, theirs.fileno()]
            socket.send_fds(self._control, [f"spawn {number} {niceness}".encode("ascii")], descriptors)
        except OSError:
            os.close(tasks_in)
            os.close(answers_out)
            ours.close()
            raise
        finally:
            # The worker has copies. While this process holds these ends open, it would not notice the worker's end.
            os.close(tasks_out)
            os.close(answers_in)
            theirs.close()
        return tasks_in, answers_out, ours

    def kill(self, number: int) -> None:
        """Kills a worker at once, whatever it does."""
        if self._control is not None:
            # the workers of a fork server that is gone have ended with it
            with contextlib.suppress(OSError):
                self._control.send(f"kill {number}".encode("ascii"))

    def find_end(self, number: int) -> int | None:
        """Returns how a worker with a closed pipe ended, as ``waitstatus_to_exitcode``. Waits a short time for the notice.

        A worker whose fork server is gone was killed with it. Shape: None when there is no notice.
        """
        end = time.monotonic() + _NEWS_SECONDS
        while self._listen():
            found = next((notice.value for notice in self._heard if notice.kind == "ended" and notice.number == number), None)
            remaining = end - time.monotonic()
            if found is not None or remaining <= 0:
                return found
            assert self._control is not None
            select.select([self._control], [], [], remaining)
        return -signal.SIGKILL

    def list_notices(self) -> list[WorkerEvent] | None:
        """Reads the notices of the fork server; None when it is gone."""
        if not self._listen():
            return None
        notices, self._heard = self._heard, []
        return notices

    def _listen(self) -> bool:
        """Receives all notices of the fork server so far. Returns whether it is still there."""
        while self._control is not None:
            try:
                message = self._control.recv(_MESSAGE_BYTES)
            except BlockingIOError:
                return True
            except OSError:
                message = b""
            words = message.decode("ascii").split()
            if not words:
                break
            self.failures = 0
            notice = WorkerEvent(words[0], int(words[1]), int(words[2]))
            if notice.kind == "serving" and isinstance(self._process, _Adopted):
                self._process.pid = notice.value
            else:
                self._heard.append(notice)
        return False

    def discard(self) -> None:
        """Ends a fork server that is gone or no longer wanted, and all its workers."""
        self._heard.clear()
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(b"end 0")
            self._control.close()
            self._control = None
        if self._process is not None:
            # on its own it ends its workers and waits for them
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GOODBYE_SECONDS)
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILLED_SECONDS)
            self._process = None
            self._note_failure()

    def _note_failure(self) -> None:
        self.failures += 1
        # The first failure has no pause, since a single crash should delay nothing.
        pause = min(_MAX_PAUSE_SECONDS, _PAUSE_SECONDS * 2 ** min(self.failures - 1, 10))
        self._not_before = time.monotonic() + (pause if self.failures > 1 else 0.0)


def _address_of(name: str, limits: ExtractionLimits) -> bytes | None:
    """Returns an abstract socket address, which is no file; None if the system has none. Each version has its own address."""
    if sys.platform != "linux":
        return None
    parts = json.dumps([name, asdict(limits), __version__, sys.executable])
    return b"\0feedmill-extractor-" + hashlib.blake2b(parts.encode(), digest_size=16).hexdigest().encode("ascii")


def _environment() -> dict[str, str]:
    """Returns a bare environment; numeric libraries get one thread, so that forking is safe."""
    return bare_environment() | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
