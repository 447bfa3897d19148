"""Caches query results of one commit of the index, for repeated queries and for further pages of the same query.

A result is valid for all users who may see exactly the same classes, as long as the commit is the newest. Each document is still
checked once more before it leaves the server.

The memory is limited in bytes. A key is a digest of the query and the classes, so its size does not depend on what a user sends.
"""

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, TypeVar

from cachetools import LRUCache

from feedmill.model.access import AccessFilter, ClassMap

CACHE_BYTES: Final = 16_000_000
"""How many bytes the keys and the results may take together."""

ENTRY_BYTES: Final = 300
"""The size of an entry without its result: the digest, the tuple and its share of the table."""

FEW_CLASSES: Final = 100

_Result = TypeVar("_Result")


class QueryResultCache:
    """The most recently used results. Several threads may use it; two that need the same result at the same time both compute it."""

    def __init__(self, cache_bytes: int = CACHE_BYTES) -> None:
        self._lock = threading.Lock()
        # pairs of a result and its size in bytes
        self._results: LRUCache[bytes, tuple[Any, int]] = LRUCache(cache_bytes, getsizeof=itemgetter(1))

    @property
    def size_bytes(self) -> int:
        """Returns how many bytes the keys and the results take together."""
        return int(self._results.currsize)

    def get(self, request: object, find: Callable[[], _Result], count_bytes: Callable[[_Result], int]) -> _Result:
        """Returns the cached result, or computes it with ``find`` and caches it.

        Shape: requests whose ``repr`` is the same are the same. Errors: those of ``find``, after which nothing is cached.
        """
        key = hashlib.blake2b(repr(request).encode("utf-8", "surrogatepass"), digest_size=32).digest()
        with self._lock:
            cached = self._results.get(key)
            if cached is not None:
                result: _Result = cached[0]
                return result
        result = find()
        self._store_result(key, result, count_bytes(result) + ENTRY_BYTES)
        return result

    def _store_result(self, key: bytes, result: object, size_bytes: int) -> None:
        # a result that is larger than the whole cache is refused, and the others stay
        with self._lock, suppress(ValueError):
            self._results[key] = result, size_bytes


def name_classes(access: AccessFilter) -> object:
    """Returns what identifies the classes of a filter, or None for a filter that is too large to be cached."""
    permitted = access.permitted
    if isinstance(permitted, ClassMap):
        return _digest_table(permitted.table)
    return sorted(permitted) if len(permitted) <= FEW_CLASSES else None


@lru_cache(maxsize=16)
def _digest_table(table: bytes) -> bytes:
    return hashlib.blake2b(table, digest_size=32).digest()
