"""Starts a module of Feedmill by a fork of this process, which has loaded it. A new interpreter takes a second of CPU time to load it.

``Popen`` starts any other program as that of the standard library does. It also does so where a fork would differ from a new interpreter:
beside other threads, or with other variables for the interpreter.
"""

import os
import runpy
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from setproctitle import setproctitle

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables that keep numeric libraries from starting threads, which no fork would have; they count when the libraries are loaded."""

FORKED = frozenset({"feedmill.adapters.extract.pool.forkserver"})
"""Modules to fork. The first word behind such a module on the command line is the title of the process."""

_INTERPRETER = "PYTHON"


class Popen(subprocess.Popen[Any]):
    """A process of a module with the interface and the pipes of ``subprocess.Popen``."""

    def _execute_child(self, *options: Any) -> None:
        command, pass_fds, environment = options[0], options[4], options[6]
        if not _can_fork(command, environment):
            super()._execute_child(*options)  # type: ignore[misc]
            return
        pipes = options[10:16]
        child_ends = (pipes[0], pipes[3], pipes[5])
        standard = [end if end != -1 else number for number, end in enumerate(child_ends)]
        self.pid = os.fork()
        if self.pid == 0:
            live(command, environment, standard, pass_fds)
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self._child_created = True


def _can_fork(command: object, environment: Mapping[str, str] | None) -> bool:
    return threading.active_count() == 1 and is_forkable(command, os.environ if environment is None else environment)


def is_forkable(command: object, environment: Mapping[str, str]) -> bool:
    """Whether a command starts a module that may be forked, in an environment that changes no interpreter."""
    is_ours = isinstance(command, list) and command[:2] == [sys.executable, "-m"] and command[2] in FORKED
    return is_ours and not any(name.startswith(_INTERPRETER) for name in environment)


def live(command: list[str], environment: Mapping[str, str] | None, standard: list[int], pass_fds: Collection[int]) -> None:
    """Runs the module as the process of a new interpreter does; never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for handled in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(handled, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
        _close_all_but({0, 1, 2, *pass_fds})
        for descriptor in pass_fds:
            os.set_inheritable(descriptor, True)
        if environment is not None:
            os.environ.clear()
            os.environ.update(environment)
        # runpy warns of a module that is loaded already, which it then executes a second time
        sys.modules.pop(command[2], None)
        sys.argv = [command[2], *command[3:]]
        setproctitle(command[3])
        runpy.run_module(command[2], run_name="__main__")
        code = 0
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 1
    except BaseException:  # noqa: BLE001 - nothing of the child may reach the parent's frames
        traceback.print_exc()
    finally:
        os._exit(code)


def _close_all_but(inherited: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in inherited:
            with suppress(OSError):  # the descriptor of the listing itself is closed already
                os.close(int(name))
