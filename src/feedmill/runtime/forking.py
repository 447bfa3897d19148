"""Children made by forking: they begin with all modules that the parent has loaded. A new interpreter would load them for a second.

These rules make forking safe here:

- The parent has one thread. A fork copies only the forking thread, and locks of other threads would stay locked in the child.
- The parent has no store, no index and no blobs open when it forks.
- A child closes every descriptor that it does not need, and never returns to the parent's frames: it ends by ``_exit``.
- Signals wait while the child has the parent's handlers.
"""

import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress

from feedmill.runtime.parentage import die_with_parent

_STANDARD = (0, 1, 2)
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Child:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Returns the exit code, or minus the number of the signal that ended the process; None while it lives."""
        return self._ask(os.WNOHANG)

    def wait(self) -> int:
        """Waits for the end of the process and returns its exit code."""
        code = self._ask(0)
        assert code is not None
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal if the process is not known to have ended."""
        # After a process was waited for, the kernel may give its number to another process.
        if self.poll() is None:
            os.kill(self.pid, number)

    def _ask(self, options: int) -> int | None:
        # Stored, because the kernel reports the end of a process only once.
        if self._code is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


def fork(work: Callable[[], int], *, keep: Collection[int] = ()) -> Child:
    """Starts a child that runs ``work`` and exits with its result. The kernel kills the child when this process ends.

    Shape: ``keep`` are the descriptors that it may use, in addition to standard output and error. Errors: RuntimeError if threads run.
    """
    if threading.active_count() != 1:
        raise RuntimeError("a process with threads cannot fork safely")
    parent = os.getpid()
    # garbage of the parent must not close descriptors of the child later, and live objects shall stay in shared memory
    gc.collect()
    gc.freeze()
    # Text that is still buffered would be written twice, by the parent and by the child.
    _flush()
    # Until the child has its own handlers, a signal to it would run the parent's, and wake the parent by their common socket.
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        pid = os.fork()
        if pid == 0:
            _live(work, parent, keep)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    return Child(pid)


def _live(work: Callable[[], int], parent: int, keep: Collection[int]) -> None:
    """Runs a child from its start to its end; never returns."""
    code = 1
    try:
        # While signals are still blocked, and before the descriptor is closed and its number gets another use.
        signal.set_wakeup_fd(-1)
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL)
        _close_all_but({*_STANDARD, *keep})
        _read_nothing()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        # Before any work: if the parent has died since the fork, this ends the child.
        die_with_parent(parent)
        code = work()
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 1
    except BaseException:  # noqa: BLE001 - nothing of the child may reach the parent's frames
        traceback.print_exc()
    finally:
        _flush()
        # Not ``sys.exit``: its exception would run the ``finally`` blocks of the parent's frames, and the parent's exit handlers.
        os._exit(code)


def _close_all_but(inherited: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in inherited:
            with suppress(OSError):  # the descriptor of the listing itself is closed already
                os.close(int(name))


def _read_nothing() -> None:
    # Descriptor 0 must not stay closed, or the next file that is opened becomes standard input.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # the reader of standard error is gone
            stream.flush()
