"""Asks one rule about one batch, whatever comes of it: times it, counts it, and leaves servers alone that fail again and again."""

from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from feedmill.model.decision import Verdict
from feedmill.model.errors import Rejected, Unanswered
from feedmill.model.identity import Identity
from feedmill.model.latebinding import AuthorizationRule, LateOutcome, Login, Mechanism
from feedmill.services.latebinding.circuitbreaker import CircuitBreaker

log = structlog.get_logger(__name__)

_OUTCOMES = {
    Verdict.PERMIT: LateOutcome.PERMITTED,
    Verdict.DENY: LateOutcome.DENIED,
    Verdict.INDETERMINATE: LateOutcome.UNDECIDED,
}


class Authorizer(Protocol):
    """One rule at work."""

    @property
    def rule(self) -> AuthorizationRule:
        """The rule."""

    def means(self, url: str) -> bool:
        """Whether the rule is for a URL."""

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Returns URLs as they are asked about together."""

    def server_of(self, urls: Sequence[str]) -> str:
        """Returns the server that is asked about URLs that belong together, as ``host`` or ``host:port``."""

    def decide(self, urls: Sequence[str], current_user: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Asks about URLs that belong together, all in that time; what is not in the answer is undecided, and an empty one says that
        nobody was asked. Errors: Unanswered."""


class LateCounts(Protocol):
    """Counts what late binding does, for whoever watches."""

    def count(self, mechanism: Mechanism, outcome: LateOutcome, documents: int) -> None:
        """Counts documents by what came of them."""

    def observe(self, mechanism: Mechanism, seconds: float) -> None:
        """Counts a request to a server and the time it took."""


class NoCounts:
    """Counts nothing."""

    def count(self, mechanism: Mechanism, outcome: LateOutcome, documents: int) -> None:
        """Counts nothing."""

    def observe(self, mechanism: Mechanism, seconds: float) -> None:
        """Counts nothing."""


class SafeAuthorizer:
    """Asks batches. May be used from several threads. Units: ``clock`` counts seconds from anywhere."""

    def __init__(self, clock: Callable[[], float], resting: CircuitBreaker, counts: LateCounts) -> None:
        self._clock = clock
        self._resting = resting
        self._counts = counts

    def ask(
        self, asking: Authorizer, batch: Sequence[str], current_user: Identity, login: Login | None, seconds: float
    ) -> dict[str, Verdict]:
        """Returns what was decided about a batch, nothing where the server is left alone or gives no usable answer."""
        rule, server = asking.rule, asking.server_of(batch)
        if not self._resting.may_ask(rule.label, server):
            self._counts.count(rule.mechanism, LateOutcome.LEFT_ALONE, len(batch))
            return {}
        begun = self._clock()
        try:
            found = asking.decide(batch, current_user, login, seconds)
        except Unanswered as exc:
            took_seconds = self._clock() - begun
            self._note_failure(rule, server, exc, is_cut_short=seconds < rule.seconds and took_seconds >= seconds * 0.9)
            self._counts.observe(rule.mechanism, took_seconds)
            self._counts.count(rule.mechanism, LateOutcome.FAILED, len(batch))
            log.warning("authorization_failed", rule=rule.label, server=server, documents=len(batch), reason=str(exc))
            return {}
        except Exception:
            # one job in a thread of its own: whatever it meets, its documents stay hidden
            self._resting.pass_over(rule.label, server)
            self._counts.count(rule.mechanism, LateOutcome.FAILED, len(batch))
            log.exception("authorization_broken", rule=rule.label, documents=len(batch))
            return {}
        if found:
            self._resting.succeed(rule.label, server)
            self._counts.observe(rule.mechanism, self._clock() - begun)
        else:
            self._resting.pass_over(rule.label, server)
        self._count_found(rule, batch, found)
        return found

    def _note_failure(self, rule: AuthorizationRule, server: str, error: Unanswered, *, is_cut_short: bool) -> None:
        if isinstance(error, Rejected):
            self._resting.succeed(rule.label, server)  # it is there, and did not like this one question
        elif is_cut_short:
            self._resting.pass_over(rule.label, server)  # it was given less time than it is due
        else:
            self._resting.fail(rule.label, server, str(error))

    def _count_found(self, rule: AuthorizationRule, batch: Sequence[str], found: dict[str, Verdict]) -> None:
        for verdict, outcome in _OUTCOMES.items():
            documents = sum(found.get(url, Verdict.INDETERMINATE) is verdict for url in batch)
            if documents:
                self._counts.count(rule.mechanism, outcome, documents)
