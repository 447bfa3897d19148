"""Answers of one commit of the index, kept for whoever asks the same again: turns the page, comes back, or asks what many ask.

An answer holds for everybody who may see exactly the same classes, and for as long as the commit is the newest. Whatever leaves is
decided once more all the same.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Final, TypeVar

from feedmill.model.access import ClassMap, ClassSet

KEPT_PARTS: Final = 50_000
"""How many hits and counted values are kept in all; one takes some hundred bytes."""

FEW_CLASSES: Final = 100

_Answer = TypeVar("_Answer")


class KeptAnswers:
    """The answers that were asked for last. May be used from several threads; two that ask the same at once both find it out."""

    def __init__(self, parts: int = KEPT_PARTS) -> None:
        self._bound = parts
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._parts = 0

    def get(self, question: Hashable, find: Callable[[], _Answer], count_parts: Callable[[_Answer], int]) -> _Answer:
        """Gives the answer that is kept, else finds it and keeps it. Errors: those of ``find``, after which nothing is kept."""
        with self._lock:
            kept = self._answers.get(question)
            if kept is not None:
                self._answers.move_to_end(question)
                answer: _Answer = kept[0]
                return answer
        answer = find()
        self._keep(question, answer, count_parts(answer) + 1)
        return answer

    def _keep(self, question: Hashable, answer: object, parts: int) -> None:
        with self._lock:
            _, before = self._answers.pop(question, (None, 0))
            self._answers[question] = answer, parts
            self._parts += parts - before
            while self._parts > self._bound:
                self._parts -= self._answers.popitem(last=False)[1][1]


def name_classes(access: ClassSet) -> Hashable:
    """Gives what tells the classes of one set from those of another, None for a set that is too large to be kept as it is."""
    permitted = access.permitted
    if isinstance(permitted, ClassMap):
        return _digest_table(permitted.table)
    return frozenset(permitted) if len(permitted) <= FEW_CLASSES else None


@lru_cache(maxsize=16)
def _digest_table(table: bytes) -> bytes:
    return hashlib.blake2b(table, digest_size=32).digest()
