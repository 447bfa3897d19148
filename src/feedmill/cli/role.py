"""One role as a process: ``python -m feedmill.cli.role "feedmill: gate" --role gate --data DIR --parent PID``.

Started by the parent, ends with it. SIGTERM ends it in order; SIGHUP does the same, and the parent starts it again with the new
settings, its sockets staying open meanwhile. SIGINT is the parent's to handle.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

import structlog

from feedmill.cli.parentage import die_with_parent
from feedmill.logs import configure_logs
from feedmill.metricfiles import reserve_metric_files
from feedmill.settings import read_snapshot


def main() -> int:
    """Runs the role until it is told to end."""
    asked = _parse_arguments()
    die_with_parent(asked.parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, _end_in_order)
    if asked.nice:
        os.nice(asked.nice)
    settings = read_snapshot(asked.data).settings
    configure_logs(asked.role, level=settings.logs.level, form=settings.logs.format)
    if not reserve_metric_files():
        structlog.get_logger().warning("counted for this process alone", reason="there is no room for its metrics in the data folder")
    # only now: what counts looks for its files when it is imported
    from feedmill.roles import run_role

    try:
        run_role(asked.role, asked.data, settings)
    except Exception:  # noqa: BLE001 - the end of one process, logged
        structlog.get_logger().exception("role failed")
        return 1
    return 0


def _end_in_order(_number: int, _frame: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="feedmill.cli.role", description="one role of a running server; started by feedmill serve")
    parser.add_argument("title", help="what ps shows")
    parser.add_argument("--role", required=True)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--parent", required=True, type=int)
    parser.add_argument("--nice", default=0, type=int)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
