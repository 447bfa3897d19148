"""What a case is, and how cases are run.

A case is a promise of a protocol: what a server must do, the documents that say so, and a function that checks it. The function returns
if the server keeps the promise and raises ``Unmet`` if it does not. Cases share nothing, so several run at once.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Generic, Protocol, TypeVar

from feedmill.model.errors import FeedmillError, UpstreamFailure

MAX_FAILURES_IN_A_ROW: Final = 6


class Unmet(Exception):
    """The server did something else than the case expects. The text says what."""


class Outcome(Enum):
    """How a case ended."""

    HELD = "held"
    FAILED = "failed"
    NOT_TRIED = "not tried"


class Trial(Protocol):
    """What a case needs of the server under test: helpers that send requests under a prefix of their own."""

    def find_obstacle(self, needs: frozenset[str]) -> str:
        """Returns why a case with these needs cannot be tried, "" if it can."""

    def clean_up(self) -> None:
        """Removes what the case left on the server. Errors: Unmet, UpstreamFailure."""


T = TypeVar("T", bound=Trial)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Generic[T]):
    """A promise of a protocol. Shape: ``name`` is unique in its list; ``sources`` name a document and its section each."""

    name: str
    expectation: str
    sources: tuple[str, ...]
    check: Callable[[T], None]
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a case. ``detail``: what the server did instead, or why the case was not tried."""

    name: str
    expectation: str
    sources: tuple[str, ...]
    outcome: Outcome
    detail: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class CaseList(Generic[T]):
    """The cases of a protocol, in the order in which they are reported.

    Example::

        CASES: CaseList[FeedTrial] = CaseList()

        @CASES.add("success", "A stored feed is answered with Success", "Feeds Protocol Developer's Guide, ...")
        def check_success(trial: FeedTrial) -> None: ...
    """

    cases: list[Case[T]] = field(default_factory=list)

    def add(
        self, name: str, expectation: str, *sources: str, needs: Sequence[str] = ()
    ) -> Callable[[Callable[[T], None]], Callable[[T], None]]:
        """Returns a decorator that adds a check as a case."""

        def add_check(check: Callable[[T], None]) -> Callable[[T], None]:
            self.cases.append(Case(name=name, expectation=expectation, sources=sources, check=check, needs=frozenset(needs)))
            return check

        return add_check


def run_cases(
    cases: Sequence[Case[T]], open_trial: Callable[[Case[T]], T], *, at_once: int, on_result: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """Runs cases, several at once, and returns their results in the order of the cases.

    A server that answered none of several requests in a row gets no more requests: each would wait for its time limit.
    """
    silence = _Silence()

    def run(case: Case[T]) -> Result:
        result = _run_case(case, open_trial(case), silence)
        on_result(result)
        return result

    with ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="case") as pool:
        return list(pool.map(run, cases))


class _Silence:
    """Counts cases in a row that ended because the server did not answer. The count need not be exact."""

    def __init__(self) -> None:
        self._failures = 0

    def record(self, *, is_failure: bool) -> None:
        self._failures = self._failures + 1 if is_failure else 0

    def describe(self) -> str:
        return "the server stopped answering" if self._failures >= MAX_FAILURES_IN_A_ROW else ""


def _run_case(case: Case[T], trial: T, silence: _Silence) -> Result:
    began = time.monotonic()
    outcome, detail = Outcome.HELD, trial.find_obstacle(case.needs)
    if detail:
        outcome = Outcome.NOT_TRIED
    elif silence.describe():
        outcome, detail = Outcome.FAILED, silence.describe()
    else:
        problem = _try(lambda: case.check(trial), silence)
        complaints = [text for text in (problem, _prefix("cleaning up: ", _try(trial.clean_up, silence))) if text]
        if complaints:
            outcome, detail = Outcome.FAILED, "; ".join(complaints)
    return Result(
        name=case.name,
        expectation=case.expectation,
        sources=case.sources,
        outcome=outcome,
        detail=detail,
        seconds=time.monotonic() - began,
    )


def _try(step: Callable[[], None], silence: _Silence) -> str:
    """Runs a step, and returns what is wrong with the server, "" if nothing is."""
    detail, is_silent = "", False
    try:
        step()
    except UpstreamFailure as exc:
        detail, is_silent = str(exc), True
    except (Unmet, FeedmillError) as exc:
        detail = str(exc)
    silence.record(is_failure=is_silent)
    return detail


def _prefix(prefix: str, text: str) -> str:
    return prefix + text if text else ""


def expect(condition: object, complaint: str) -> None:
    """Raises Unmet with the complaint unless the condition holds."""
    if not condition:
        raise Unmet(complaint)


def iter_polls(seconds: float, pause: float = 0.1, longest: float = 1.0) -> Iterator[bool]:
    """Yields False for every poll until the time is over, then True once, for the last one. Pauses in between, longer each time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() + pause < deadline:
        yield False
        time.sleep(pause)
        pause = min(pause * 1.5, longest)
    yield True
