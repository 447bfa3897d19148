"""The lock of a data folder, and the state of the server that uses it.

A server holds an exclusive lock on ``feedmill.lock`` as long as it lives. A command that writes without a server holds it too. The
kernel frees the lock when its process ends, so a crash leaves nothing to clean up. ``run.json`` holds the server's addresses and
processes.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

from feedmill.model.errors import Conflict
from feedmill.runtime.datafolder import prepare_folder

LOCK_FILE = "feedmill.lock"
STATE_FILE = "run.json"
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleState:
    """The processes of one role, 0 for one that waits for its restart. Units: ``restarts`` counts how often they were started again."""

    pids: tuple[int, ...]
    restarts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A running server.

    Shape: addresses are ``host:port`` by listener (gate, gate_tls, dtd, search, admin); ``tls`` names the listeners that speak TLS.
    """

    pid: int
    started_at: str
    addresses: dict[str, str] = field(default_factory=dict)
    tls: tuple[str, ...] = ()
    roles: dict[str, RoleState] = field(default_factory=dict)
    sandbox: dict[str, int] = field(default_factory=dict)
    """The parts of the sandbox for hostile input that this kernel has, as ``Sandbox`` of ``adapters/sandbox``."""

    def url(self, listener: str) -> str:
        """Returns the base URL of a listener, reachable from this machine."""
        host, _, port = self.addresses[listener].rpartition(":")
        reachable = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104 - compared, not bound
        return f"{'https' if listener in self.tls else 'http'}://{reachable}:{port}"


@contextmanager
def hold_data(data: Path) -> Iterator[None]:
    """Locks the data folder for one process, and creates it if it is missing. Errors: Conflict while another process has the lock."""
    prepare_folder(data)
    # Not mode "w", which would empty the file of the process that has the lock.
    with (data / LOCK_FILE).open("a+") as file:
        _lock(file, data)
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _lock(file: IO[str], data: Path) -> None:
    """Takes the lock. Retries for a moment, because a command that only looks holds it for an instant."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as exc:
            if time.monotonic() > deadline:
                file.seek(0)
                raise Conflict(f"the data folder '{data}' is in use by process {file.read().strip() or 'unknown'}") from exc
        time.sleep(0.05)


def find_server(data: Path) -> RunState | None:
    """Returns the live server of a data folder, None if there is none."""
    state = read_state(data)
    return state if state is not None and is_held(data) else None


def find_start(data: Path) -> datetime | None:
    """Returns the start time of the server of a data folder, None if there is none."""
    server = find_server(data)
    return None if server is None else datetime.fromisoformat(server.started_at)


def is_held(data: Path) -> bool:
    """Returns whether a process has locked the data folder now."""
    try:
        with (data / LOCK_FILE).open("r") as file:
            # Shared, so that commands that look at the same moment do not take each other for a server.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def read_state(data: Path) -> RunState | None:
    """Returns the state that the server wrote last, None if it is missing or unreadable."""
    try:
        held = json.loads((data / STATE_FILE).read_text())
        roles = {name: RoleState(pids=tuple(role["pids"]), restarts=role["restarts"]) for name, role in held.pop("roles").items()}
        return RunState(**(held | {"roles": roles, "tls": tuple(held["tls"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_state(data: Path, state: RunState) -> None:
    """Writes the server's state, in which commands find its addresses."""
    fresh = data / (STATE_FILE + ".new")
    fresh.write_text(json.dumps(asdict(state)))
    # In one step, so that a command never reads half of it.
    fresh.replace(data / STATE_FILE)


def remove_state(data: Path) -> None:
    """Removes the server's state, at its end."""
    (data / STATE_FILE).unlink(missing_ok=True)
