"""Limits how many wrong passwords are checked before an attempt has to wait.

Failures are counted in three ways, since each alone can be bypassed or turned against other users: by name and address together (an
attacker guesses), by address (an attacker tries many names), and by name (many addresses guess one name). The bound by name is generous,
since it also locks out the owner of the name, except at an address from which they signed in before. A count that has reached its bound
refuses attempts unchecked until its window is over. Counts exist in this process only and are limited in number: the least recently counted
are dropped first.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachetools import FIFOCache

from feedmill.core.urls.networks import name_network

MAX_COUNTS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleLimits:
    """How many failures are allowed in one window. Units: seconds."""

    by_both: int = 10
    by_address: int = 100
    by_name: int = 200
    window_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleDecision:
    """The decision about an attempt. ``wait_seconds`` is 0.0 if it is allowed.

    ``is_first``: this is the first refused attempt.
    """

    wait_seconds: float = 0.0
    is_first: bool = False


@dataclass(slots=True)
class _Count:
    failures: int
    until: float
    is_reported: bool = False


class Throttle:
    """Counts failures. May be used from several threads. Units: ``clock`` counts seconds from any origin."""

    def __init__(self, bounds: ThrottleLimits, clock: Callable[[], float], max_counts: int = MAX_COUNTS) -> None:
        self._bounds = bounds
        self._clock = clock
        self._counts: FIFOCache[tuple[str, str], _Count] = FIFOCache(max_counts)
        self._known: FIFOCache[tuple[str, str], None] = FIFOCache(max_counts)
        self._lock = threading.Lock()

    def begin(self, name: str, address: str) -> ThrottleDecision:
        """Counts an allowed attempt as failed before it is checked, so that concurrent attempts are all counted.

        Shape: ``address`` is "" for a peer that many users share, which is counted by name alone.
        """
        with self._lock:
            now = self._clock()
            keys = self._keys(name, address)
            full = self._list_full(keys, now)
            if full:
                is_first = not all(count.is_reported for count in full)
                for count in full:
                    count.is_reported = True
                return ThrottleDecision(wait_seconds=max(count.until for count in full) - now, is_first=is_first)
            for key, _ in keys:
                self._add_count(key, now)
            return ThrottleDecision()

    def is_refusing(self, name: str, address: str) -> bool:
        """Whether an attempt would be refused. Does not count as an attempt."""
        with self._lock:
            return bool(self._list_full(self._keys(name, address), self._clock()))

    def take_back(self, name: str, address: str, *, has_succeeded: bool) -> None:
        """Removes an attempt from the counts. A successful one also resets the count of this name from this address."""
        with self._lock:
            if has_succeeded and address:
                self._known[name, name_network(address)] = None
            for place, (key, _) in enumerate(self._keys(name, address)):
                count = self._counts.get(key)
                if count is not None:
                    # The first key is that of name and address together. The other
                    # two belong to other users as well, and lose this attempt only.
                    count.failures = 0 if has_succeeded and place == 0 else max(count.failures - 1, 0)

    def count(self) -> int:
        """Returns the number of counts in memory."""
        return len(self._counts)

    def _keys(self, name: str, address: str) -> list[tuple[tuple[str, str], int]]:
        network = name_network(address)
        keys = [((name, network), self._bounds.by_both), ((name, "*"), self._bounds.by_name)]
        return [*keys, (("*", network), self._bounds.by_address)] if network else keys

    def _list_full(self, keys: Sequence[tuple[tuple[str, str], int]], now: float) -> list[_Count]:
        name = keys[0][0][0]
        is_known = keys[0][0] in self._known
        # Otherwise anyone could lock a user out by guessing at the user's name.
        held = [(key, bound) for key, bound in keys if not (is_known and key == (name, "*"))]
        return [count for key, bound in held if (count := self._find_full(key, bound, now)) is not None]

    def _find_full(self, key: tuple[str, str], bound: int, now: float) -> _Count | None:
        count = self._counts.get(key)
        return count if count is not None and count.until > now and count.failures >= bound else None

    def _add_count(self, key: tuple[str, str], now: float) -> None:
        count = self._counts.get(key)
        if count is None or count.until <= now:
            count = _Count(0, now + self._bounds.window_seconds)
        count.failures += 1
        self._counts[key] = count  # the key that was counted least recently is evicted first
