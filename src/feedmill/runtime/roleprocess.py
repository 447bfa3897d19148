"""The process of a role, from the fork to the exit code.

SIGTERM ends it in order. SIGHUP does the same, and the supervisor starts it again with the new settings. A role that serves ports drains on
SIGHUP, and when its successor asks for that. SIGINT is ignored: the supervisor handles it.
"""

import gc
import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import structlog
from setproctitle import setproctitle

from feedmill.bootstrap.access import adopt_policies
from feedmill.bootstrap.context import Place, open_context
from feedmill.runtime.connectionboard import ConnectionBoard, ConnectionCount
from feedmill.runtime.roles import EMBEDDER, WEB, Ports, ProcessRole
from feedmill.runtime.sockethandover import SocketHandover
from feedmill.settings import Settings, read_snapshot
from feedmill.telemetry.logs import configure_logs
from feedmill.telemetry.metricfiles import reserve_metric_files
from feedmill.telemetry.metrics import count_in_files

log = structlog.get_logger(__name__)

GC_THRESHOLDS = (50_000, 20, 20)
"""The thresholds of garbage collection. Roles make few cycles, and with Python's own thresholds collection took a tenth of their time."""


def count_processes(role: ProcessRole, settings: Settings) -> int:
    """Returns how many processes a role has; 0 if nothing of it shall run."""
    if role is EMBEDDER:
        return int(settings.semantic.is_on)
    return settings.search.count_processes() if role is WEB else 1


def run_process(
    role: ProcessRole, number: int, data: Path, sockets: Mapping[str, socket.socket], board: ConnectionBoard, handover: SocketHandover
) -> int:
    """Runs a process of a role until SIGTERM or SIGHUP, and returns the exit code. Shape: processes are numbered from 0."""
    setproctitle(role.title)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, _end_in_order)
    os.nice(role.niceness)
    gc.set_threshold(*GC_THRESHOLDS)
    settings = read_snapshot(data).settings
    configure_logs(role.name, level=settings.logs.level, form=settings.logs.format)
    if reserve_metric_files():
        count_in_files()
    else:
        log.warning("metrics_not_shared", reason="there is no space for them in the data folder")
    processes = count_processes(role, settings)
    try:
        ports = Ports(
            connections=ConnectionCount(board, number=number, processes=processes),
            sockets=sockets,
            is_successor=handover.is_successor,
            take_over=handover.take_over,
            drain_reader=handover.drain_reader,
            report_drained=handover.report_drained,
        )
        with open_context(data, settings, role.name, Place(number=number, processes=processes)) as context:
            adopt_policies(context)
            role.load()(context, ports)
    except Exception:
        log.exception("role_failed")
        return 1
    return 0


def _end_in_order(_number: int, _frame: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
