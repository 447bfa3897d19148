"""One role as a process: what a child of the parent does from its first moment.

SIGTERM ends it in order; SIGHUP does the same, and the parent starts it again with the new settings, its sockets staying open
meanwhile. Roles that serve ports leave them on SIGHUP, and serve what they have to its end beside who follows. SIGINT is the parent's to
handle.
"""

import gc
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog
from setproctitle import setproctitle

from feedmill.cli.sockethandover import take_over
from feedmill.logs import configure_logs
from feedmill.metricfiles import reserve_metric_files
from feedmill.metrics import count_in_files
from feedmill.roles import Ports, run_role
from feedmill.settings import read_snapshot

log = structlog.get_logger(__name__)

UNHURRIED = (50_000, 20, 20)
"""How seldom garbage in cycles is looked for: roles make little of it, and looking took a tenth of their time with Python's own numbers."""


def live_as(role: str, data: Path, sockets: Mapping[str, socket.socket], *, niceness: int = 0, follows: Sequence[int] = ()) -> int:
    """Lives as a role until it is told to end, and gives the exit code.

    Shape: the listening sockets by name; the processes whose place it takes.
    """
    setproctitle(f"feedmill: {role}")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, _end_in_order)
    if niceness:
        os.nice(niceness)
    gc.set_threshold(*UNHURRIED)
    settings = read_snapshot(data).settings
    configure_logs(role, level=settings.logs.level, form=settings.logs.format)
    if reserve_metric_files():
        count_in_files()
    else:
        log.warning("metrics_not_shared", reason="there is no room for them in the data folder")
    try:
        run_role(role, data, settings, Ports(sockets=sockets, is_successor=bool(follows), take_over=lambda: take_over(follows)))
    except Exception:
        log.exception("role_failed")
        return 1
    return 0


def _end_in_order(_number: int, _frame: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
