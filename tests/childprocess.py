"""Calls in a child process, which a fault may kill."""

import os
from collections.abc import Callable


def is_killed(act: Callable[[], None]) -> bool:
    """Calls ``act`` in a child process; returns whether a signal killed that. Errors: AssertionError if ``act`` raised."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)
