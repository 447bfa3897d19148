"""How a process of a role takes the place of those before it: it tells them to leave, and begins once they have left their ports.

So whoever connects before is served by the old settings and whoever connects after by the new ones, and nobody waits for what the new
process has to load.
"""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from feedmill.runtime.server.uvicorn_runner import DRAINING

PATIENCE_SECONDS = 5.0
_LOOK_SECONDS = 0.005


def take_over(predecessors: Iterable[int]) -> None:
    """Tells processes of the same parent to leave, and waits until they have, within a bound."""
    living = [pid for pid in predecessors if _is_sibling(pid)]
    for pid in living:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGHUP)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(map(_holds_port, living)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _is_sibling(pid: int) -> bool:
    """Whether a process is still the one that the parent meant."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) == os.getppid()
    except OSError:
        return False


def _holds_port(pid: int) -> bool:
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return bool(title.strip(b"\0")) and DRAINING.encode() not in title
