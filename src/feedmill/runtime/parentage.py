"""Ties a process to the one that started it."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def die_with_parent(parent: int) -> None:
    """Makes the kernel kill this process when the parent's thread that started it ends. Exits at once if the parent is gone already."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl refuses the death signal")
    # A parent that ended before the call sends no signal any more.
    if os.getppid() != parent:
        raise SystemExit(1)
