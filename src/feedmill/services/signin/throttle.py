"""Limits how many wrong passwords are checked before an attempt has to wait.

Failures are counted in three ways, since each alone can be bypassed or turned against other users: by name and address together (an
attacker guesses), by address (an attacker tries many names), and by name (many addresses guess one name). The bound by name is generous,
since it also locks out the owner of the name, except at an address from which they signed in before. A count that has reached its bound
refuses attempts unchecked until its window is over. The processes of all ports share the counts, so that no name is guessed twice as often
by asking two ports. Their number is limited: the least recently counted are dropped first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedmill.core.urls.networks import name_network
from feedmill.ports.counts import Count, Counts, LocalCounts


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


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of an attempt with their bounds, and the key under which a successful one is remembered."""

    both: str
    by_name: str
    bounds: Sequence[tuple[str, int]]
    known: str


class Throttle:
    """Counts failures. May be used from several threads. Units: ``clock`` counts seconds, from the same origin in all processes."""

    def __init__(self, bounds: ThrottleLimits, clock: Callable[[], float], counts: Counts | None = None) -> None:
        self._bounds = bounds
        self._clock = clock
        self._counts = LocalCounts() if counts is None else counts

    def begin(self, name: str, address: str) -> ThrottleDecision:
        """Counts an allowed attempt as failed before it is checked, so that concurrent attempts are all counted.

        Shape: ``address`` is "" for a peer that many users share, which is counted by name alone.
        """
        with self._counts.locked():
            now = self._clock()
            keys = self._keys(name, address)
            full = self._find_full(keys, now)
            if full:
                is_first = not all(count.is_reported for count in full.values())
                for key, count in full.items():
                    count.is_reported = True
                    self._counts.put(key, count)
                return ThrottleDecision(wait_seconds=max(count.until for count in full.values()) - now, is_first=is_first)
            for key, _ in keys.bounds:
                self._add_count(key, now)
            return ThrottleDecision()

    def is_refusing(self, name: str, address: str) -> bool:
        """Whether an attempt would be refused. Does not count as an attempt."""
        with self._counts.locked():
            return bool(self._find_full(self._keys(name, address), self._clock()))

    def take_back(self, name: str, address: str, *, has_succeeded: bool) -> None:
        """Removes an attempt from the counts. A successful one also resets the count of this name from this address."""
        with self._counts.locked():
            keys = self._keys(name, address)
            if has_succeeded and address:
                self._counts.put(keys.known, Count())
            for key, _ in keys.bounds:
                count = self._counts.find(key)
                if count is not None:
                    # The other two belong to other users as well, and lose this attempt only.
                    count.amount = 0 if has_succeeded and key == keys.both else max(count.amount - 1, 0)
                    self._counts.put(key, count)

    def _keys(self, name: str, address: str) -> _Keys:
        network = name_network(address)
        both, by_name = f"both {len(name)} {name} {network}", f"name {name}"
        bounds = [(both, self._bounds.by_both), (by_name, self._bounds.by_name)]
        if network:
            bounds.append((f"address {network}", self._bounds.by_address))
        return _Keys(both, by_name, bounds, f"known {both}")

    def _find_full(self, keys: _Keys, now: float) -> dict[str, Count]:
        is_known = self._counts.find(keys.known) is not None
        # Otherwise anyone could lock a user out by guessing at the user's name.
        held = [(key, bound) for key, bound in keys.bounds if not (is_known and key == keys.by_name)]
        found = ((key, bound, self._counts.find(key)) for key, bound in held)
        return {key: count for key, bound, count in found if count is not None and count.until > now and count.amount >= bound}

    def _add_count(self, key: str, now: float) -> None:
        count = self._counts.find(key)
        if count is None or count.until <= now:
            count = Count(until=now + self._bounds.window_seconds)
        count.amount += 1
        self._counts.put(key, count)
