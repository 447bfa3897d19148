"""Records how long answers of authorization servers took.

A request for one URL that needs no server waits as long as one that does. So the time of a response does not tell whether a hidden
document exists.
"""

import random
import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

REMEMBERED: Final = 50


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """How long a request took, and whether it brought a decision."""

    seconds: float
    is_decided: bool


class ResponseTimes:
    """The last answers of each rule. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._single: dict[str, deque[PastAnswer]] = {}
        self._several: dict[str, deque[PastAnswer]] = {}

    def note(self, rule: str | None, documents: int, seconds: float, *, is_decided: bool) -> None:
        """Records how long a request about so many documents took. ``rule`` is the one that matches the first of them, None for none."""
        if rule is None:
            return
        with self._lock:
            times = self._single if documents == 1 else self._several
            times.setdefault(rule, deque(maxlen=REMEMBERED)).append(PastAnswer(seconds, is_decided))

    def choose(self, rule: str | None) -> PastAnswer | None:
        """Returns one of the last answers of a rule at random, of requests about one document if there are any; None if there are no
        answers.
        """
        if rule is None:
            return None
        with self._lock:
            times = self._single.get(rule) or self._several.get(rule)
            return random.choice(times) if times else None  # noqa: S311 - the choice need not be unpredictable
