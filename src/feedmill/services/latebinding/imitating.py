"""Remembers how long answers of other servers took, so that what nobody is asked about can take as long."""

import random
import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

REMEMBERED: Final = 50


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """How long a question took, and whether anything was decided by it."""

    seconds: float
    is_decided: bool


class Imitating:
    """The last answers by rule. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._single: dict[str, deque[PastAnswer]] = {}
        self._several: dict[str, deque[PastAnswer]] = {}

    def note(self, rule: str | None, documents: int, seconds: float, *, is_decided: bool) -> None:
        """Notes how long a question about so many documents took; ``rule`` is the one that means the first of them, None for none."""
        if rule is None:
            return
        with self._lock:
            kept = self._single if documents == 1 else self._several
            kept.setdefault(rule, deque(maxlen=REMEMBERED)).append(PastAnswer(seconds, is_decided))

    def choose(self, rule: str | None) -> PastAnswer | None:
        """Chooses by lot one of the last answers of a rule, about one document where there is one; None where there was none yet."""
        if rule is None:
            return None
        with self._lock:
            kept = self._single.get(rule) or self._several.get(rule)
            return random.choice(kept) if kept else None  # noqa: S311 - nobody gains by knowing which
