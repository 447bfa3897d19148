"""The parent: starts every role as a process of its own, starts it again when it dies, ends all when it is told to.

Rules:

- A role is forked from the main thread, which stays the only one: see ``forking``.
- A role that dies is started again at once; one that dies soon after its start again and again waits longer each time, up to half a minute.
  Deaths over different items, each noted by the role as in flight, do not add up: the role sets such an item aside itself.
- SIGTERM and SIGINT end the roles (SIGTERM, then SIGKILL after a time); a second one does not wait.
- SIGHUP asks for the settings to be read again; only when they are good do the roles hear of it: each ends and is started again. A role
  that overlaps is started again beside its earlier process, which it tells itself to leave once it can take over.
- A role that cannot be started at all before the server was ever ready ends the server: nobody waits for what will not come.
- Whether the server is ready is found out by a child too, which ends with 0 once it is.
"""

import logging
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from feedmill.runtime.forking import Child, fork
from feedmill.runtime.roles import ProcessRole, Restart
from feedmill.runtime.runstate import RoleState

STOP_SECONDS = 10.0
STEADY_SECONDS = 10.0
LONGEST_DELAY_SECONDS = 30.0
HOPELESS_DEATHS = 5

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Place:
    """A role, and the process that has it now."""

    role: ProcessRole
    process: Child | None = None
    started_at: float = 0.0
    due_at: float = 0.0
    deaths_in_a_row: int = 0
    died_over: str | None = None
    restarts: int = 0
    was_told: bool = False


def restart_delay(deaths_in_a_row: int) -> float:
    """Returns how long a role waits that died so often soon after its start. Units: seconds."""
    return 0.0 if deaths_in_a_row <= 1 else min(LONGEST_DELAY_SECONDS, 0.05 * 2.0 ** min(deaths_in_a_row - 2, 10))


class Supervisor:
    """Runs roles until it is told to stop."""

    def __init__(
        self,
        roles: Iterable[ProcessRole],
        *,
        live: Callable[[ProcessRole, Sequence[int]], int],
        probe: Callable[[], int],
        sockets: Mapping[str, socket.socket] | None = None,
        reload_settings: Callable[[], bool] = lambda: True,
        on_change: Callable[[dict[str, RoleState]], None] = lambda _: None,
        on_ready: Callable[[], None] = lambda: None,
        find_in_flight: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """Takes what a child does: ``live`` in its role, ``probe`` until the server is ready; both give an exit code.

        ``find_in_flight`` returns the item that a role worked on when it died.
        """
        self._places = [_Place(role) for role in roles]
        self._leaving: list[tuple[str, Child]] = []
        self._live = live
        self._probe = probe
        self._prober: Child | None = None
        self._sockets = sockets or {}
        self._reload_settings = reload_settings
        self._on_change = on_change
        self._on_ready = on_ready
        self._find_in_flight = find_in_flight
        self._is_stopping = False
        self._exit_code = 0
        self._is_ready = False

    def run(self) -> int:
        """Runs until SIGTERM or SIGINT and gives the exit code; must be called in the main thread."""
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        with reader, writer:
            earlier = {number: signal.signal(number, _ignore) for number in signals}
            earlier_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
            try:
                while not self._is_stopping:
                    self._start_due()
                    self._handle(_wait_for_signals(reader, self._seconds_to_next()))
                    self._reap()
                self._stop(reader)
            finally:
                self._kill_rest()
                signal.set_wakeup_fd(earlier_fd)
                for number, handler in earlier.items():
                    signal.signal(number, handler)
        return self._exit_code

    def _start_due(self) -> None:
        now = time.monotonic()
        due = [place for place in self._places if place.process is None and place.due_at <= now]
        for place in due:
            self._start(place)
        if due:
            self._on_change(self._states())
        if self._prober is None:
            self._prober = fork(self._probe)

    def _start(self, place: _Place) -> None:
        descriptors = [self._sockets[name].fileno() for name in place.role.listeners if name in self._sockets]
        follows = [process.pid for name, process in self._leaving if name == place.role.name]
        place.process = fork(lambda: self._live(place.role, follows), keep=descriptors)
        place.started_at = time.monotonic()
        place.was_told = False
        log.info("role_started", process=place.role.name, pid=place.process.pid, restarts=place.restarts)

    def _reap(self) -> None:
        for place in self._places:
            code = place.process.poll() if place.process else None
            if code is not None:
                self._bury(place, code)
        self._leaving = [(name, process) for name, process in self._leaving if process.poll() is None]
        if self._prober and not self._is_ready and self._prober.poll() is not None:
            self._heed_prober(self._prober.wait())

    def _heed_prober(self, code: int) -> None:
        if code == 0:
            self._is_ready = True
            self._on_ready()
        else:
            log.error("readiness_unknown", exit_code=code)
            self._is_stopping = True
            self._exit_code = 1

    def _bury(self, place: _Place, code: int) -> None:
        now = time.monotonic()
        earlier, place.died_over = place.died_over, self._find_in_flight(place.role.name)
        is_other_item = place.died_over is not None and place.died_over != earlier
        was_steady = place.was_told or is_other_item or now - place.started_at > STEADY_SECONDS
        place.deaths_in_a_row = 1 if was_steady else place.deaths_in_a_row + 1
        place.due_at = now + restart_delay(place.deaths_in_a_row)
        place.process = None
        place.restarts += 1
        level = logging.INFO if place.was_told and code == 0 else logging.WARNING
        log.log(level, "role_ended", process=place.role.name, exit_code=code, again_in_seconds=round(place.due_at - now, 2))
        if not self._is_ready and place.deaths_in_a_row >= HOPELESS_DEATHS:
            log.error("role_cannot_start", process=place.role.name, exit_code=code)
            self._is_stopping = True
            self._exit_code = 1

    def _handle(self, signals: bytes) -> None:
        if signal.SIGTERM in signals or signal.SIGINT in signals:
            self._is_stopping = True
        elif signal.SIGHUP in signals and self._reload_settings():
            self._renew()

    def _renew(self) -> None:
        for place in self._places:
            if place.process is None:
                continue
            place.was_told = True
            if place.role.restart is Restart.HANDOVER:
                self._leaving.append((place.role.name, place.process))
                place.process, place.due_at, place.deaths_in_a_row = None, 0.0, 0
                place.restarts += 1
            else:
                place.process.send_signal(signal.SIGHUP)

    def _stop(self, reader: socket.socket) -> None:
        log.info("stopping")
        for process in self._living():
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while self._living() and (left := deadline - time.monotonic()) > 0:
            signals = _wait_for_signals(reader, min(left, 0.5))
            if signal.SIGTERM in signals or signal.SIGINT in signals:
                break

    def _kill_rest(self) -> None:
        for process in self._living():
            log.warning("role_killed", pid=process.pid)
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _living(self) -> list[Child]:
        processes = [*(place.process for place in self._places), *(process for _, process in self._leaving), self._prober]
        return [process for process in processes if process is not None and process.poll() is None]

    def _seconds_to_next(self) -> float:
        waiting = [place.due_at for place in self._places if place.process is None]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else 5.0

    def _states(self) -> dict[str, RoleState]:
        alive = ((place, place.process) for place in self._places)
        return {place.role.name: RoleState(pid=process.pid if process else 0, restarts=place.restarts) for place, process in alive}


def _ignore(_number: int, _frame: object) -> None:
    """Does nothing: the wake-up socket tells the loop."""


def _wait_for_signals(reader: socket.socket, timeout_seconds: float) -> bytes:
    """Waits for signals; each is one byte of its number."""
    readable, _, _ = select.select([reader], [], [], timeout_seconds)
    return reader.recv(4096) if readable else b""
