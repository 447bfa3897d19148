"""Runs one rule on one batch and never fails: measures and counts the request, and respects the circuit breaker."""

from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from feedmill.model.authorization import AuthorizationRule, LateOutcome, Login, Mechanism
from feedmill.model.decision import Verdict
from feedmill.model.errors import Rejected, UpstreamFailure
from feedmill.model.identity import Identity, Subject
from feedmill.services.authorization.circuitbreaker import CircuitBreaker

log = structlog.get_logger(__name__)

_OUTCOMES = {
    Verdict.PERMIT: LateOutcome.PERMITTED,
    Verdict.DENY: LateOutcome.DENIED,
    Verdict.INDETERMINATE: LateOutcome.UNDECIDED,
}


class Authorizer(Protocol):
    """Applies one authorization rule."""

    @property
    def rule(self) -> AuthorizationRule:
        """The rule that this authorizer applies."""

    def matches(self, url: str) -> bool:
        """Whether the rule applies to a URL."""

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Returns the URLs in batches, each for one request or connection."""

    def server_of(self, urls: Sequence[str]) -> str:
        """Returns the server that decides about a batch, as ``host`` or ``host:port``."""

    def decide(self, urls: Sequence[str], current_user: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Decides about a batch within the given time.

        A URL that is missing in the result is undecided. An empty result means that no server was contacted. Errors: UpstreamFailure.
        """


class LateCounts(Protocol):
    """Counts the work of late binding, for metrics."""

    def count(self, mechanism: Mechanism, outcome: LateOutcome, documents: int) -> None:
        """Counts documents by outcome."""

    def observe(self, mechanism: Mechanism, seconds: float) -> None:
        """Counts a request to a server and the time it took."""


class NoCounts:
    """Counts nothing."""

    def count(self, mechanism: Mechanism, outcome: LateOutcome, documents: int) -> None:
        """Counts nothing."""

    def observe(self, mechanism: Mechanism, seconds: float) -> None:
        """Counts nothing."""


class SafeAuthorizer:
    """Runs batches. May be used from several threads. Units: ``clock`` counts seconds from any origin."""

    def __init__(self, clock: Callable[[], float], breaker: CircuitBreaker, counts: LateCounts) -> None:
        self._clock = clock
        self._breaker = breaker
        self._counts = counts

    def ask(
        self, authorizer: Authorizer, batch: Sequence[str], current_user: Identity, login: Login | None, seconds: float
    ) -> dict[str, Verdict]:
        """Returns the decisions about a batch, none if the circuit is open or the server returns no usable answer."""
        rule, server = authorizer.rule, authorizer.server_of(batch)
        if not self._breaker.allows_request(rule.label, server):
            self._counts.count(rule.mechanism, LateOutcome.CIRCUIT_OPEN, len(batch))
            return {}
        begun = self._clock()
        try:
            found = authorizer.decide(batch, current_user, login, seconds)
        except UpstreamFailure as exc:
            took_seconds = self._clock() - begun
            self._note_failure(rule, server, exc, is_cut_short=seconds < rule.seconds and took_seconds >= seconds * 0.9)
            self._counts.observe(rule.mechanism, took_seconds)
            self._counts.count(rule.mechanism, LateOutcome.FAILED, len(batch))
            log.warning("authorization_failed", rule=rule.label, server=server, documents=len(batch), reason=str(exc))
            return {}
        except Exception:
            # the job runs in a thread of its own: whatever error it meets, its documents stay hidden
            self._breaker.release_trial(rule.label, server)
            self._counts.count(rule.mechanism, LateOutcome.FAILED, len(batch))
            log.exception("authorization_broken", rule=rule.label, documents=len(batch))
            return {}
        if found:
            self._breaker.succeed(rule.label, server)
            self._counts.observe(rule.mechanism, self._clock() - begun)
        else:
            self._breaker.release_trial(rule.label, server)
        self._count_found(rule, batch, found)
        return found

    def _note_failure(self, rule: AuthorizationRule, server: str, error: UpstreamFailure, *, is_cut_short: bool) -> None:
        if isinstance(error, Rejected):
            self._breaker.succeed(rule.label, server)  # it works, and rejected this one request
        elif is_cut_short:
            self._breaker.release_trial(rule.label, server)  # it had less time than the rule allows
        else:
            self._breaker.fail(rule.label, server, str(error))

    def _count_found(self, rule: AuthorizationRule, batch: Sequence[str], found: dict[str, Verdict]) -> None:
        for verdict, outcome in _OUTCOMES.items():
            documents = sum(found.get(url, Verdict.INDETERMINATE) is verdict for url in batch)
            if documents:
                self._counts.count(rule.mechanism, outcome, documents)


def find_user(rule: AuthorizationRule, current_user: Identity) -> Subject | None:
    """Returns the user in the rule's namespace, None if the identity has no user there."""
    return next((user for user in current_user.users if user.namespace == rule.namespace and user.name), None)


def find_login(rule: AuthorizationRule, login: Login | None) -> Login | None:
    """Returns the login to forward: only if it signed the user in to the rule's namespace and the rule forwards passwords; else None."""
    return login if rule.forwards_password and login is not None and rule.namespace in login.namespaces else None
