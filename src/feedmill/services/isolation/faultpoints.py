"""Fault points: places where a test makes a step fail for marked items.

A fault point does nothing unless faults are set. ``FEEDMILL_FAULTS`` sets them for a server's processes when they start: entries
``STEP=MODE:MARKER``, separated by blanks, where MODE is ``raise`` (a RuntimeError), ``kill`` (SIGKILL to this process) or ``hang``
(never to end), and MARKER a part of the URLs that are hit. The server reads the variable for its own tests alone; no setting
corresponds to it.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

VARIABLE: Final = "FEEDMILL_FAULTS"

_Faults = dict[str, list[tuple[str, str]]]


def _parse_faults(text: str) -> _Faults:
    """Returns (mode, marker) pairs by step. Errors: ValueError for an entry of another shape."""
    faults: _Faults = {}
    for entry in text.split():
        step, _, fault = entry.partition("=")
        mode, _, marker = fault.partition(":")
        if not step or not marker or mode not in ("raise", "kill", "hang"):
            raise ValueError(f"{VARIABLE}: {entry!r} is not STEP=raise:MARKER, nor with kill or hang in its place")
        faults.setdefault(step, []).append((mode, marker))
    return faults


_faults: _Faults = _parse_faults(os.environ.get(VARIABLE, ""))


def fault_point(step: str, url: str) -> None:
    """Fails here if a test requests it. Errors: RuntimeError in a test; none in production."""
    if _faults:
        _fail(step, url)


def _fail(step: str, url: str) -> None:
    for mode, marker in _faults.get(step, ()):
        if marker in url:
            if mode == "kill":
                signal.raise_signal(signal.SIGKILL)
            while mode == "hang":
                time.sleep(1.0)
            raise RuntimeError(f"injected fault in {step}")


@contextmanager
def injected(text: str) -> Iterator[None]:
    """Sets the faults of this process for a block, in the format of the variable."""
    global _faults
    earlier, _faults = _faults, _parse_faults(text)
    try:
        yield
    finally:
        _faults = earlier
