"""Who works on a data folder, and where it answers.

A server holds an exclusive lock on ``feedmill.lock`` as long as it lives; a command that writes without a server holds it too. The
lock dies with its process, so a crash leaves nothing to clean up. ``run.json`` tells the addresses and the processes of the server.
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
    """One process of the server. Units: ``restarts`` counts how often it was started again."""

    pid: int
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
    """Which parts of the sandbox for hostile input this kernel has, as ``Sandbox`` of ``adapters/sandbox``."""

    def url(self, listener: str) -> str:
        """Returns the base URL of a listener, reachable from this machine."""
        host, _, port = self.addresses[listener].rpartition(":")
        reachable = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104 - compared, not bound
        return f"{'https' if listener in self.tls else 'http'}://{reachable}:{port}"


@contextmanager
def hold_data(data: Path) -> Iterator[None]:
    """Holds the data folder for one process, making it when it is not there. Errors: Conflict while another process holds it."""
    prepare_folder(data)
    with (data / LOCK_FILE).open("a+") as file:
        _lock(file, data)
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _lock(file: IO[str], data: Path) -> None:
    """Takes the lock, trying for a moment: a command that only looks holds it for an instant."""
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
    """Finds the server that runs on a data folder and answers, None when there is none."""
    state = read_state(data)
    return state if state is not None and is_held(data) else None


def find_start(data: Path) -> datetime | None:
    """Returns when the server that runs on a data folder started, None when there is none."""
    server = find_server(data)
    return None if server is None else datetime.fromisoformat(server.started_at)


def is_held(data: Path) -> bool:
    """Whether a process holds the data folder now."""
    try:
        with (data / LOCK_FILE).open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def read_state(data: Path) -> RunState | None:
    """Reads what the server told of itself last, None when there is nothing readable."""
    try:
        held = json.loads((data / STATE_FILE).read_text())
        roles = {name: RoleState(**role) for name, role in held.pop("roles").items()}
        return RunState(**(held | {"roles": roles, "tls": tuple(held["tls"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_state(data: Path, state: RunState) -> None:
    """Tells commands where the server answers."""
    fresh = data / (STATE_FILE + ".new")
    fresh.write_text(json.dumps(asdict(state)))
    fresh.replace(data / STATE_FILE)


def remove_state(data: Path) -> None:
    """Takes back what the server told, at its end."""
    (data / STATE_FILE).unlink(missing_ok=True)
