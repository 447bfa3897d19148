"""How many wrong passwords are let through before somebody has to wait.

Failures are counted three ways, since each alone can be got round or turned against others: by name and address together (somebody
guesses), by address (somebody tries many names), by name (many addresses guess one name; generous, since it also keeps out whoever has
the name, but for an address from which he signed in before). A count that reached its bound refuses without looking at the password, until
its window is over. Counts live in this process and are bounded in number: the ones that were touched longest ago go first.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedmill.core.networks import name_network

MAX_COUNTS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How many failures are let through in one window. Units: seconds."""

    by_both: int = 10
    by_address: int = 100
    by_name: int = 200
    window_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Whether an attempt is let through: how long to wait, 0.0 where not at all. ``is_first``: this is the first one refused."""

    wait_seconds: float = 0.0
    is_first: bool = False


@dataclass(slots=True)
class _Count:
    failures: int
    until: float
    is_told: bool = False


class Throttle:
    """Counts failures. May be used from several threads. Units: ``clock`` counts seconds from anywhere."""

    def __init__(self, bounds: Bounds, clock: Callable[[], float], max_counts: int = MAX_COUNTS) -> None:
        self._bounds = bounds
        self._clock = clock
        self._max_counts = max_counts
        self._counts: OrderedDict[tuple[str, str], _Count] = OrderedDict()
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, name: str, address: str) -> Passage:
        """Counts an attempt as failed, where it is let through, so that attempts at once are all counted.

        Shape: ``address`` is "" for a peer that many share, which is counted by name alone.
        """
        with self._lock:
            now = self._clock()
            keys = self._keys(name, address)
            full = self._list_full(keys, now)
            if full:
                is_first = not all(count.is_told for count in full)
                for count in full:
                    count.is_told = True
                return Passage(wait_seconds=max(count.until for count in full) - now, is_first=is_first)
            for key, _ in keys:
                self._add(key, now)
            return Passage()

    def is_refusing(self, name: str, address: str) -> bool:
        """Whether an attempt would be refused; counts none."""
        with self._lock:
            return bool(self._list_full(self._keys(name, address), self._clock()))

    def take_back(self, name: str, address: str, *, has_succeeded: bool) -> None:
        """Counts an attempt no longer; one that succeeded also clears what was counted of this name from this address."""
        with self._lock:
            if has_succeeded and address:
                self._remember((name, name_network(address)))
            for place, (key, _) in enumerate(self._keys(name, address)):
                count = self._counts.get(key)
                if count is not None:
                    count.failures = 0 if has_succeeded and place == 0 else max(count.failures - 1, 0)

    def count(self) -> int:
        """Counts what is remembered."""
        return len(self._counts)

    def _remember(self, key: tuple[str, str]) -> None:
        self._known[key] = None
        self._known.move_to_end(key)
        while len(self._known) > self._max_counts:
            self._known.popitem(last=False)

    def _keys(self, name: str, address: str) -> list[tuple[tuple[str, str], int]]:
        network = name_network(address)
        keys = [((name, network), self._bounds.by_both), ((name, "*"), self._bounds.by_name)]
        return [*keys, (("*", network), self._bounds.by_address)] if network else keys

    def _list_full(self, keys: Sequence[tuple[tuple[str, str], int]], now: float) -> list[_Count]:
        name = keys[0][0][0]
        is_known = keys[0][0] in self._known
        held = [(key, bound) for key, bound in keys if not (is_known and key == (name, "*"))]
        return [count for key, bound in held if (count := self._find_full(key, bound, now)) is not None]

    def _find_full(self, key: tuple[str, str], bound: int, now: float) -> _Count | None:
        count = self._counts.get(key)
        return count if count is not None and count.until > now and count.failures >= bound else None

    def _add(self, key: tuple[str, str], now: float) -> None:
        count = self._counts.pop(key, None)
        if count is None or count.until <= now:
            count = _Count(0, now + self._bounds.window_seconds)
        count.failures += 1
        self._counts[key] = count
        while len(self._counts) > self._max_counts:
            self._counts.popitem(last=False)
