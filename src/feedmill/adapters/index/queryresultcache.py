"""Answers of one commit of the index, kept for whoever asks the same again: turns the page, comes back, or asks what many ask.

An answer holds for everybody who may see exactly the same classes, and for as long as the commit is the newest. Whatever leaves is
decided once more all the same.

The memory is bounded in bytes. A key is a digest of the question and of the classes, so that it takes the same room whatever a user sends.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

from feedmill.model.access import AccessFilter, ClassMap

KEPT_BYTES: Final = 16_000_000
"""How many bytes the keys and the answers take together."""

ENTRY_BYTES: Final = 300
"""What one entry takes beside its answer: the digest, the tuple and its share of the table."""

FEW_CLASSES: Final = 100

_Answer = TypeVar("_Answer")


class QueryResultCache:
    """The answers that were asked for last. May be used from several threads; two that ask the same at once both find it out."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._bound = kept_bytes
        self._lock = threading.Lock()
        self._answers: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """How many bytes the keys and the answers take together."""
        return self._size_bytes

    def get(self, question: object, find: Callable[[], _Answer], count_bytes: Callable[[_Answer], int]) -> _Answer:
        """Returns the answer that is kept, else finds it and keeps it.

        Shape: questions whose ``repr`` is the same are the same. Errors: those of ``find``, after which nothing is kept.
        """
        key = hashlib.blake2b(repr(question).encode("utf-8", "surrogatepass"), digest_size=32).digest()
        with self._lock:
            kept = self._answers.get(key)
            if kept is not None:
                self._answers.move_to_end(key)
                answer: _Answer = kept[0]
                return answer
        answer = find()
        self._keep(key, answer, count_bytes(answer) + ENTRY_BYTES)
        return answer

    def _keep(self, key: bytes, answer: object, size_bytes: int) -> None:
        with self._lock:
            _, before = self._answers.pop(key, (None, 0))
            self._answers[key] = answer, size_bytes
            self._size_bytes += size_bytes - before
            while self._size_bytes > self._bound:
                self._size_bytes -= self._answers.popitem(last=False)[1][1]


def name_classes(access: AccessFilter) -> object:
    """Returns what tells the classes of one set from those of another, None for a set that is too large to be kept as it is."""
    permitted = access.permitted
    if isinstance(permitted, ClassMap):
        return _digest_table(permitted.table)
    return sorted(permitted) if len(permitted) <= FEW_CLASSES else None


@lru_cache(maxsize=16)
def _digest_table(table: bytes) -> bytes:
    return hashlib.blake2b(table, digest_size=32).digest()
