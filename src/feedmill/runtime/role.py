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

from feedmill.bootstrap.access import adopt_policies
from feedmill.bootstrap.context import open_context
from feedmill.runtime.logs import configure_logs
from feedmill.runtime.metricfiles import reserve_metric_files
from feedmill.runtime.metrics import count_in_files
from feedmill.runtime.roles import Ports, ProcessRole
from feedmill.runtime.sockethandover import take_over
from feedmill.settings import Settings, read_snapshot

log = structlog.get_logger(__name__)

UNHURRIED = (50_000, 20, 20)
"""How seldom garbage in cycles is looked for: roles make little of it, and looking took a tenth of their time with Python's own numbers."""


def run_process(role: ProcessRole, data: Path, sockets: Mapping[str, socket.socket], *, follows: Sequence[int] = ()) -> int:
    """Runs a role until SIGTERM or SIGHUP, and returns the exit code. ``follows``: the processes whose sockets it takes over."""
    setproctitle(role.title)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, _end_in_order)
    os.nice(role.niceness)
    gc.set_threshold(*UNHURRIED)
    settings = read_snapshot(data).settings
    configure_logs(role.name, level=settings.logs.level, form=settings.logs.format)
    if reserve_metric_files():
        count_in_files()
    else:
        log.warning("metrics_not_shared", reason="there is no room for them in the data folder")
    try:
        _run(role, data, settings, Ports(sockets=sockets, is_successor=bool(follows), take_over=lambda: take_over(follows)))
    except Exception:
        log.exception("role_failed")
        return 1
    return 0


def _run(role: ProcessRole, data: Path, settings: Settings, ports: Ports) -> None:
    with open_context(data, settings, role.name) as context:
        adopt_policies(context)
        role.load()(context, ports)


def _end_in_order(_number: int, _frame: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
