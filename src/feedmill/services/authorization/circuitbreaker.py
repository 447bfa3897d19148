"""Stops sending requests to servers that fail repeatedly, so that searches do not wait for them without effect.

After a number of failures without a success between them, the circuit of a server opens: no requests are sent to it, and the documents
that it would have decided about are not shown. After a pause one request goes out as a trial. An answer closes the circuit. A failure
begins another pause, twice as long, up to a maximum. The log has a line whenever a circuit opens or closes, and the status shows open
circuits.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog
from cachetools import FIFOCache

from feedmill.model.authorization import LateLimits, OpenCircuit

MAX_SERVERS = 1_000
MAX_PAUSE_FACTOR = 16
"""The longest pause, as a multiple of the first one."""

log = structlog.get_logger(__name__)

ReportCircuits = Callable[[Sequence[OpenCircuit]], None]
"""Receives the servers whose circuit is open, whenever they change."""


@dataclass(slots=True)
class _Server:
    """The state of one server. ``until`` is None while its circuit is closed."""

    failures: int = 0
    pauses: int = 0
    until: float | None = None
    is_half_open: bool = False
    reason: str = ""


class CircuitBreaker:
    """The circuits of all servers. May be used from several threads. Units: ``clock`` counts seconds from any origin."""

    def __init__(self, clock: Callable[[], float], limits: LateLimits, report: ReportCircuits) -> None:
        self._clock = clock
        self._limits = limits
        self._report = report
        self._servers: FIFOCache[tuple[str, str], _Server] = FIFOCache(MAX_SERVERS)
        self._lock = threading.Lock()
        self._report_lock = threading.Lock()

    def allows_request(self, rule: str, server: str) -> bool:
        """Whether a request may be sent to a server now.

        Shape: after True the caller must report the outcome with ``succeed``, ``fail`` or ``release_trial``.
        """
        with self._lock:
            known = self._servers.get((rule, server))
            if known is None or known.until is None:
                return True
            if known.is_half_open or self._clock() < known.until:
                return False
            # Set under the lock, so exactly one request is the trial. Its outcome clears it again.
            known.is_half_open = True
            return True

    def succeed(self, rule: str, server: str) -> None:
        """Records that a server answered, which closes its circuit."""
        with self._lock:
            known = self._servers.pop((rule, server), None)
        if known is not None and known.until is not None:
            log.info("authorization_circuit_closed", rule=rule, server=server)
            self._report_all()

    def fail(self, rule: str, server: str, reason: str) -> None:
        """Records a failure of a server, which opens its circuit after ``open_after_failures`` of them."""
        if not self._limits.open_after_failures:
            return
        with self._lock:
            known = self._servers.get((rule, server)) or _Server()
            self._servers[rule, server] = known  # the server that failed least recently is evicted first
            known.failures += 1
            # a failed trial opens the circuit again at once; a closed circuit opens after ``open_after_failures`` failures
            is_due = known.is_half_open or (known.until is None and known.failures >= self._limits.open_after_failures)
            known.is_half_open = False
            if not is_due:
                return
            seconds = self._limits.open_seconds * min(2**known.pauses, MAX_PAUSE_FACTOR)
            # Bounded, so that the power above stays a small number.
            known.pauses = min(known.pauses + 1, 10)
            known.until = self._clock() + seconds
            known.reason = reason
            failures = known.failures
        log.error("authorization_circuit_opened", rule=rule, server=server, failures=failures, seconds=seconds, reason=reason)
        self._report_all()

    def release_trial(self, rule: str, server: str) -> None:
        """Records that no request was sent, or that its outcome says nothing about the server."""
        with self._lock:
            known = self._servers.get((rule, server))
            if known is not None:
                known.is_half_open = False

    def _report_all(self) -> None:
        # Lock order: ``_report_lock`` before ``_lock``. ``_report_lock`` keeps reports in order; ``_lock`` is free during a report.
        with self._report_lock:
            with self._lock:
                open_circuits = self._list_open()
            self._report(open_circuits)

    def _list_open(self) -> list[OpenCircuit]:
        return [
            OpenCircuit(rule=rule, server=server, failures=known.failures, reason=known.reason)
            for (rule, server), known in self._servers.items()
            if known.until is not None
        ]
