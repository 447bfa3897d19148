"""Authorizes the documents that no ACL and no policy decides, by requests to other servers.

For each document the first of these that permits or denies decides: the cached decision, then each rule whose patterns match the URL, in
the order of the settings. A document that stays undecided is not shown: no rule matched, no server answered in time, or no answer was
usable.

Each rule has threads of its own, which send its requests in parallel. A search waits for them until its time is over, and only a limited
number of searches wait at once, so a server that does not answer never delays other searches. A server that fails repeatedly is skipped
for a while (``circuitbreaker``).
Source: googlegsa/secmgr, ``FlexAuthorizerImpl``.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from feedmill.model.access import AccessFilter, unite
from feedmill.model.authorization import LateAccess, LateLimits, LateOutcome, Login
from feedmill.model.decision import Verdict
from feedmill.model.identity import Identity
from feedmill.services.authorization.authorizer import Authorizer, LateCounts, NoCounts, SafeAuthorizer
from feedmill.services.authorization.cache import AuthorizationCache
from feedmill.services.authorization.circuitbreaker import CircuitBreaker, ReportCircuits
from feedmill.services.waiting import waiting

MAX_SEARCHES = 20
THREADS_FOR_SEARCHES = 4
"""For how many searches at once a rule has threads, each search with all the parallel requests that the rule may send."""

log = structlog.get_logger(__name__)


REMEMBERED: Final = 50


@dataclass(frozen=True, slots=True)
class TimedResponse:
    """How long a request took, and whether it returned a decision."""

    seconds: float
    is_decided: bool


class ResponseTimes:
    """How long the last answers of each rule took. May be used from several threads.

    A request for one URL that needs no server waits as long as one that does (``LateBinding.imitate``). So the time of a response does not
    reveal whether a hidden document exists.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._single: dict[str, deque[TimedResponse]] = {}
        self._several: dict[str, deque[TimedResponse]] = {}

    def note(self, rule: str | None, documents: int, seconds: float, *, is_decided: bool) -> None:
        """Records how long a request about so many documents took. ``rule`` is the one that matches the first of them, None for none."""
        if rule is None:
            return
        with self._lock:
            times = self._single if documents == 1 else self._several
            times.setdefault(rule, deque(maxlen=REMEMBERED)).append(TimedResponse(seconds, is_decided))

    def choose(self, rule: str | None) -> TimedResponse | None:
        """Returns one of the last answers of a rule at random, of requests about one document if there are any; None if there are no
        answers.
        """
        if rule is None:
            return None
        with self._lock:
            times = self._single.get(rule) or self._several.get(rule)
            return random.choice(times) if times else None  # noqa: S311 - the choice need not be unpredictable


@dataclass(slots=True)
class _Round:
    """The work of one rule for one search: waiting batches, and the decisions so far."""

    authorizer: Authorizer
    batches: deque[list[str]]
    found: dict[str, Verdict] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class LateBinding:
    """Decides about documents for users who are signed in.

    May be used from several threads. Units: ``clock`` counts seconds from any origin.
    """

    def __init__(
        self,
        authorizers: Iterable[Authorizer],
        clock: Callable[[], float],
        limits: LateLimits | None = None,
        *,
        counts: LateCounts | None = None,
        report: ReportCircuits = lambda _: None,
        breaker: CircuitBreaker | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._sleep = sleep
        self._response_times = ResponseTimes()
        self.limits = limits or LateLimits()
        self._counts = counts or NoCounts()
        self._safe = SafeAuthorizer(clock, breaker or CircuitBreaker(clock, self.limits, report), self._counts)
        self._authorizers = list(authorizers)
        self._clock = clock
        self._cache = AuthorizationCache(clock, seconds=self.limits.cache_seconds, entries=self.limits.cache_entries)
        sizes = [THREADS_FOR_SEARCHES * authorizer.rule.parallel for authorizer in self._authorizers]
        self._threads = [ThreadPoolExecutor(size, "authorization") for size in sizes]
        self._places = threading.BoundedSemaphore(MAX_SEARCHES)

    def allow(self, access: AccessFilter, find_classes: Callable[[], Set[int]], login: Login | None) -> AccessFilter:
        """Returns the access filter with the classes that late binding may decide, for one request that begins now."""
        if not self._authorizers or not access.current_user.users:
            return access.only_public() if self.limits.confirms else access
        classes, until = find_classes(), self._clock() + self.limits.seconds
        if self.limits.confirms:
            # a permit of ACLs and policies counts only if a server confirms it; a denial stays a denial
            classes, access = unite(classes, access.only_secure().permitted), access.only_public()
        return replace(access, late=LateAccess(classes=classes, until=until, login=login, confirms=self.limits.confirms))

    def is_over(self, late: LateAccess) -> bool:
        """Whether the time of a request is over."""
        return self._clock() >= late.until

    def select(self, urls: Sequence[str], access: AccessFilter) -> frozenset[str]:
        """Returns the URLs that the user is permitted to see."""
        late = access.late
        if late is None or not urls:
            return frozenset()
        found: dict[str, Verdict] = {}
        for url in dict.fromkeys(urls):
            cached = self._cache.find_verdict(access.current_user, url)
            if cached is not None:
                found[url] = cached
        self._count_cached(found)
        pending = [url for url in dict.fromkeys(urls) if url not in found]
        if pending:
            begun = self._clock()
            answered = self._ask_in_place(pending, access.current_user, late)
            self._response_times.note(self._find_rule(pending[0]), len(pending), self._clock() - begun, is_decided=bool(answered))
            found |= answered
        return frozenset(url for url, verdict in found.items() if verdict is Verdict.PERMIT)

    def imitate(self, url: str, access: AccessFilter) -> None:
        """Waits as long for a URL that no server is consulted about as a recent request to an authorization server took.

        The response time therefore does not reveal whether there is such a document. No server is contacted. The URL is cached as denied
        if the imitated request returned a decision.
        """
        late = access.late
        if late is None or self._cache.find_verdict(access.current_user, url) is not None:
            return
        answer = self._response_times.choose(self._find_rule(url))
        if answer is not None:
            with waiting():
                self._sleep(min(answer.seconds, max(late.until - self._clock(), 0.0)))
            if answer.is_decided:
                self._cache.put(access.current_user, url, Verdict.DENY)

    def _find_rule(self, url: str) -> str | None:
        return next((authorizer.rule.label for authorizer in self._authorizers if authorizer.matches(url)), None)

    def close(self) -> None:
        """Sends no more requests; does not wait for those that are running."""
        for threads in self._threads:
            threads.shutdown(wait=False, cancel_futures=True)

    def _count_cached(self, found: dict[str, Verdict]) -> None:
        if found:
            self._count_by_rule(list(found), LateOutcome.CACHED)

    def _count_by_rule(self, urls: Sequence[str], outcome: LateOutcome) -> None:
        """Counts each document for the first rule that matches it."""
        for url in urls:
            authorizer = next((each for each in self._authorizers if each.matches(url)), None)
            if authorizer is not None:
                self._counts.count(authorizer.rule.mechanism, outcome, 1)

    def _ask_in_place(self, urls: Sequence[str], current_user: Identity, late: LateAccess) -> dict[str, Verdict]:
        # Refused at once instead of queued: a server that does not answer must not collect the threads of searches.
        if not self._places.acquire(blocking=False):
            log.warning("authorization_busy", documents=len(urls), searches=MAX_SEARCHES)
            self._count_by_rule(urls, LateOutcome.BUSY)
            return {}
        try:
            return self._ask_in_turn(urls, current_user, late)
        finally:
            self._places.release()

    def _ask_in_turn(self, urls: Sequence[str], current_user: Identity, late: LateAccess) -> dict[str, Verdict]:
        """Runs the first matching rule on each URL, the second on the URLs that are still undecided, and so on."""
        decided: dict[str, Verdict] = {}
        remaining = {url: deque(authorizer for authorizer in self._authorizers if authorizer.matches(url)) for url in urls}
        while remaining and not self.is_over(late):
            chosen: dict[int, list[str]] = {}
            for url, authorizers in list(remaining.items()):
                if authorizers:
                    chosen.setdefault(self._authorizers.index(authorizers.popleft()), []).append(url)
                else:
                    del remaining[url]
            for url, verdict in self._ask_at_once(chosen, current_user, late).items():
                if verdict is not Verdict.INDETERMINATE:
                    self._cache.put(current_user, url, verdict)
                    decided[url] = verdict
                    del remaining[url]
        return decided

    def _ask_at_once(self, chosen: dict[int, list[str]], current_user: Identity, late: LateAccess) -> dict[str, Verdict]:
        """Runs each rule on its URLs, all in parallel, until the time is over."""
        rounds: list[_Round] = []
        futures: list[Future[None]] = []
        for place, urls in chosen.items():
            authorizer = self._authorizers[place]
            one = _Round(authorizer, deque(authorizer.split(urls)))
            rounds.append(one)
            # Each lane takes the next batch when it is free, so one slow answer does not delay the others.
            lanes = min(authorizer.rule.parallel, len(one.batches))
            futures += [self._threads[place].submit(self._work, one, current_user, late) for _ in range(lanes)]
        with waiting():
            wait(futures, timeout=max(late.until - self._clock(), 0.0))
        for future in futures:
            # Those that have not begun. A request that runs is abandoned; its answer comes too late.
            future.cancel()
        found: dict[str, Verdict] = {}
        for one in rounds:
            with one.lock:
                found |= one.found
                undone = sum(len(batch) for batch in one.batches)
                # Lanes that still run find no more batches.
                one.batches.clear()
            if undone:
                log.warning("authorization_out_of_time", rule=one.authorizer.rule.label, documents=undone)
                self._counts.count(one.authorizer.rule.mechanism, LateOutcome.LATE, undone)
        return found

    def _work(self, one: _Round, current_user: Identity, late: LateAccess) -> None:
        """Decides about one batch after the other while there are batches and time is left."""
        while True:
            seconds = late.until - self._clock()
            with one.lock:
                if not one.batches or seconds <= 0:
                    return
                batch = one.batches.popleft()
            found = self._safe.ask(one.authorizer, batch, current_user, late.login, seconds)
            with one.lock:
                # A server decides only about what it was sent, whatever its answer names.
                one.found |= {url: verdict for url, verdict in found.items() if url in batch}
