"""The supervisor: starts every role as a process, restarts processes that die, and ends all of them.

Rules:

- A role is forked from the main thread, which stays the only one: see ``forking``.
- A role may have several processes, each with a number from 0. Each is started again by itself.
- A process that dies is restarted at once. If it dies soon after its start several times in a row, the supervisor waits longer each time,
  at most half a minute. Deaths over different items do not add up: a role records the item that it has in flight, and sets an item aside
  that interrupted it repeatedly.
- SIGTERM and SIGINT end all processes: SIGTERM first, SIGKILL after a time. A second signal ends them without a wait.
- SIGHUP reads the settings again. Only if they are valid does every role restart, as its ``Restart`` says: it ends and starts again, or a
  successor starts beside it and takes over its sockets (``sockethandover``). If a role is to have fewer processes, the last ones have no
  successor of their own; the others ask them to drain.
- If a role cannot be started before the server was ready once, the server ends.
- A child process finds out when the server is ready. It ends with 0 then.
"""

import logging
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

import structlog

from feedmill.runtime.forking import Child, fork
from feedmill.runtime.roles import ProcessRole, Restart
from feedmill.runtime.runstate import RoleState
from feedmill.runtime.sockethandover import HandoverPipes, Predecessor, SocketHandover

STOP_SECONDS = 10.0  # how long processes may take to end after SIGTERM
STEADY_SECONDS = 10.0  # a process that lived longer did not die of its start
LONGEST_DELAY_SECONDS = 30.0
HOPELESS_DEATHS = 5  # early deaths in a row that end the server, until it was ready once

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Running:
    """A process, and its pipes if its role hands sockets over."""

    child: Child
    pipes: HandoverPipes | None

    def poll(self) -> int | None:
        """Returns the exit code, None while the process lives; closes the pipes at its end."""
        code = self.child.poll()
        # The ends that the supervisor holds. Each restart would otherwise leave two descriptors open.
        if code is not None and self.pipes is not None:
            self.pipes.close()
            self.pipes = None
        return code


@dataclass(slots=True)
class _Slot:
    """One of the processes of a role, by its number."""

    role: ProcessRole
    number: int
    process: _Running | None = None
    started_at: float = 0.0
    due_at: float = 0.0
    deaths_in_a_row: int = 0
    died_over: str | None = None
    restarts: int = 0
    is_restart_requested: bool = False


def restart_delay(deaths_in_a_row: int) -> float:
    """Returns how long to wait before the restart after a number of early deaths. Units: seconds."""
    # 0.05, 0.1, 0.2 and so on. The exponent is bounded, since a power that is too large for a float is an error.
    return 0.0 if deaths_in_a_row <= 1 else min(LONGEST_DELAY_SECONDS, 0.05 * 2.0 ** min(deaths_in_a_row - 2, 10))


class Supervisor:
    """Runs the roles until SIGTERM or SIGINT."""

    def __init__(
        self,
        roles: Iterable[ProcessRole],
        *,
        live: Callable[[ProcessRole, int, SocketHandover], int],
        probe: Callable[[], int],
        count_processes: Callable[[ProcessRole], int] = lambda _: 1,
        sockets: Mapping[str, socket.socket] | None = None,
        reload_settings: Callable[[], bool] = lambda: True,
        on_change: Callable[[dict[str, RoleState]], None] = lambda _: None,
        on_ready: Callable[[], None] = lambda: None,
        find_in_flight: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """``live`` runs in the child of a role, ``probe`` in a child until the server is ready; both return an exit code.

        ``count_processes`` returns how many processes a role is to have by the settings in force. ``find_in_flight`` returns the item on
        which a role worked when it died.
        """
        self._roles = tuple(roles)
        self._count_processes = count_processes
        self._slots = [_Slot(role, number) for role in self._roles for number in range(count_processes(role))]
        self._draining: list[tuple[str, _Running]] = []
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
        """Runs until SIGTERM or SIGINT and returns the exit code. Must be called in the main thread."""
        reader, writer = socket.socketpair()
        # ``set_wakeup_fd`` requires this: the interpreter writes to it inside its signal handler, which must not wait.
        writer.setblocking(False)
        signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        with reader, writer:
            # The interpreter writes only the numbers of signals that have a Python handler. With SIG_IGN for SIGCHLD the kernel would
            # also discard the exit codes of children.
            earlier = {number: signal.signal(number, _ignore) for number in signals}
            earlier_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
            try:
                while not self._is_stopping:
                    self._start_due()
                    self._handle_signals(_wait_for_signals(reader, self._seconds_to_next()))
                    # After every wake-up, whatever its signals: the kernel reports several children that end together by one SIGCHLD.
                    self._reap()
                self._stop(reader)
            finally:
                self._kill_rest()
                # Before the block closes the socket, whose descriptor may get another use at once.
                signal.set_wakeup_fd(earlier_fd)
                for number, handler in earlier.items():
                    signal.signal(number, handler)
        return self._exit_code

    def _start_due(self) -> None:
        now = time.monotonic()
        due = [slot for slot in self._slots if slot.process is None and slot.due_at <= now]
        for slot in due:
            self._start(slot)
        if due:
            self._on_change(self._states())
        if self._prober is None:
            self._prober = fork(self._probe)

    def _start(self, slot: _Slot) -> None:
        role = slot.role
        descriptors = [self._sockets[name].fileno() for name in role.listeners if name in self._sockets]
        pipes = HandoverPipes() if role.restart is Restart.HANDOVER else None
        handover = pipes.make_handover(self._list_predecessors(role)) if pipes else SocketHandover()
        child = fork(lambda: self._live(role, slot.number, handover), keep=[*descriptors, *handover.list_descriptors()])
        if pipes:
            pipes.close_ends_of_process()
        slot.process = _Running(child, pipes)
        slot.started_at = time.monotonic()
        slot.is_restart_requested = False
        log.info("role_started", process=role.name, pid=child.pid, restarts=slot.restarts)

    def _list_predecessors(self, role: ProcessRole) -> list[Predecessor]:
        draining = [process for name, process in self._draining if name == role.name]
        return [process.pipes.make_predecessor(process.child.pid) for process in draining if process.pipes is not None]

    def _reap(self) -> None:
        for slot in self._slots:
            code = slot.process.poll() if slot.process else None
            if code is not None:
                self._schedule_restart(slot, code)
        self._draining = [(name, process) for name, process in self._draining if process.poll() is None]
        if self._prober and not self._is_ready and self._prober.poll() is not None:
            self._note_readiness(self._prober.wait())

    def _note_readiness(self, probe_code: int) -> None:
        if probe_code == 0:
            self._is_ready = True
            self._on_ready()
        else:
            log.error("readiness_unknown", exit_code=probe_code)
            self._is_stopping = True
            self._exit_code = 1

    def _schedule_restart(self, slot: _Slot, code: int) -> None:
        """Decides when a role whose process ended starts again."""
        now = time.monotonic()
        earlier, slot.died_over = slot.died_over, self._find_in_flight(slot.role.name)
        is_other_item = slot.died_over is not None and slot.died_over != earlier
        was_steady = slot.is_restart_requested or is_other_item or now - slot.started_at > STEADY_SECONDS
        slot.deaths_in_a_row = 1 if was_steady else slot.deaths_in_a_row + 1
        slot.due_at = now + restart_delay(slot.deaths_in_a_row)
        slot.process = None
        slot.restarts += 1
        level = logging.INFO if slot.is_restart_requested and code == 0 else logging.WARNING
        log.log(level, "role_ended", process=slot.role.name, exit_code=code, again_in_seconds=round(slot.due_at - now, 2))
        # Later, a role that cannot start must not end the others.
        if not self._is_ready and slot.deaths_in_a_row >= HOPELESS_DEATHS:
            log.error("role_cannot_start", process=slot.role.name, exit_code=code)
            self._is_stopping = True
            self._exit_code = 1

    def _handle_signals(self, signals: bytes) -> None:
        if signal.SIGTERM in signals or signal.SIGINT in signals:
            self._is_stopping = True
        elif signal.SIGHUP in signals and self._reload_settings():
            self._restart_roles()

    def _restart_roles(self) -> None:
        for slot in self._slots:
            # A role without a process waits for its restart, and reads the new settings then.
            if slot.process is None:
                continue
            slot.is_restart_requested = True
            if slot.role.restart is Restart.HANDOVER:
                self._draining.append((slot.role.name, slot.process))
                # The slot is empty and due, so the next round starts the successor, with this process among its predecessors.
                slot.process, slot.due_at, slot.deaths_in_a_row = None, 0.0, 0
                slot.restarts += 1
            else:
                slot.process.child.send_signal(signal.SIGHUP)
        self._adjust_slots()

    def _adjust_slots(self) -> None:
        """Gives each role as many slots as it is to have processes. Processes of removed slots end, or drain already."""
        kept = {(slot.role.name, slot.number): slot for slot in self._slots}
        wanted = [(role, number) for role in self._roles for number in range(self._count_processes(role))]
        self._slots = [kept.get((role.name, number)) or _Slot(role, number) for role, number in wanted]
        self._draining += [(slot.role.name, slot.process) for slot in kept.values() if slot not in self._slots and slot.process]

    def _stop(self, reader: socket.socket) -> None:
        log.info("stopping")
        for process in self._list_living():
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while self._list_living() and (left := deadline - time.monotonic()) > 0:
            signals = _wait_for_signals(reader, min(left, 0.5))
            if signal.SIGTERM in signals or signal.SIGINT in signals:
                break

    def _kill_rest(self) -> None:
        for process in self._list_living():
            log.warning("role_killed", pid=process.pid)
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _list_living(self) -> list[Child]:
        running = [slot.process for slot in self._slots if slot.process] + [process for _, process in self._draining]
        children = [process.child for process in running] + ([self._prober] if self._prober else [])
        return [child for child in children if child.poll() is None]

    def _seconds_to_next(self) -> float:
        waiting = [slot.due_at for slot in self._slots if slot.process is None]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else 5.0

    def _states(self) -> dict[str, RoleState]:
        return {
            name: RoleState(
                pids=tuple(slot.process.child.pid if slot.process else 0 for slot in slots), restarts=sum(slot.restarts for slot in slots)
            )
            for name, slots in groupby(self._slots, lambda slot: slot.role.name)
        }


def _ignore(_number: int, _frame: object) -> None:
    """Does nothing: the loop reads the signal from the wake-up socket."""


def _wait_for_signals(reader: socket.socket, timeout_seconds: float) -> bytes:
    """Waits for signals. Each is one byte with its number."""
    readable, _, _ = select.select([reader], [], [], timeout_seconds)
    return reader.recv(4096) if readable else b""
