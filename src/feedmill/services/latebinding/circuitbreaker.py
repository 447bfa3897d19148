"""Leaves servers alone for a while that fail again and again, so that searches do not wait for them in vain.

A server that failed so many times without one success between is left alone: nobody is asked there, and what it would have decided
about is not shown. When its rest is over one question goes out as a trial. An answer ends the rest; a failure begins another one, twice as
long, up to a bound. The rest begins and ends with a line in the log, and the status shows it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from feedmill.model.latebinding import LateLimits, OpenCircuit

MAX_SERVERS = 1_000
LONGEST_REST = 16
"""How many times the first rest the longest one is."""

log = structlog.get_logger(__name__)

Tell = Callable[[Sequence[OpenCircuit]], None]
"""Takes the servers that are left alone, whenever they change."""


@dataclass(slots=True)
class _Server:
    """What is known of one server. ``until`` is None where it is not left alone."""

    failures: int = 0
    rests: int = 0
    until: float | None = None
    is_on_trial: bool = False
    reason: str = ""


class CircuitBreaker:
    """Which servers are left alone. May be used from several threads. Units: ``clock`` counts seconds from anywhere."""

    def __init__(self, clock: Callable[[], float], limits: LateLimits, tell: Tell) -> None:
        self._clock = clock
        self._limits = limits
        self._report = tell
        self._servers: OrderedDict[tuple[str, str], _Server] = OrderedDict()
        self._lock = threading.Lock()
        self._telling = threading.Lock()

    def may_ask(self, rule: str, server: str) -> bool:
        """Whether a server may be asked now. Shape: whoever may must say what came of it, by one of the three below."""
        with self._lock:
            known = self._servers.get((rule, server))
            if known is None or known.until is None:
                return True
            if known.is_on_trial or self._clock() < known.until:
                return False
            known.is_on_trial = True
            return True

    def succeed(self, rule: str, server: str) -> None:
        """Takes it that a server answered."""
        with self._lock:
            known = self._servers.pop((rule, server), None)
        if known is not None and known.until is not None:
            log.info("authorization_resumed", rule=rule, server=server)
            self._report_all()

    def fail(self, rule: str, server: str, reason: str) -> None:
        """Takes it that a server did not answer as it should."""
        if not self._limits.rest_after:
            return
        with self._lock:
            known = self._servers.setdefault((rule, server), _Server())
            self._servers.move_to_end((rule, server))
            while len(self._servers) > MAX_SERVERS:
                self._servers.popitem(last=False)
            known.failures += 1
            is_due = known.is_on_trial or (known.until is None and known.failures >= self._limits.rest_after)
            known.is_on_trial = False
            if not is_due:
                return
            seconds = self._limits.rest_seconds * min(2**known.rests, LONGEST_REST)
            known.rests = min(known.rests + 1, 10)
            known.until = self._clock() + seconds
            known.reason = reason
            failures = known.failures
        log.error("authorization_resting", rule=rule, server=server, failures=failures, seconds=seconds, reason=reason)
        self._report_all()

    def pass_over(self, rule: str, server: str) -> None:
        """Takes it that a server that might have been asked was not, or told nothing of itself."""
        with self._lock:
            known = self._servers.get((rule, server))
            if known is not None:
                known.is_on_trial = False

    def _report_all(self) -> None:
        with self._telling:  # so that the newest list is told last; nobody who asks waits for it
            with self._lock:
                resting = self._list()
            self._report(resting)

    def _list(self) -> list[OpenCircuit]:
        return [
            OpenCircuit(rule=rule, server=server, failures=known.failures, reason=known.reason)
            for (rule, server), known in self._servers.items()
            if known.until is not None
        ]
