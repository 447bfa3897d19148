"""Numbers by digest, millions of them, in memory: added many at a time, found many at a time.

They lie sorted in a few segments of which each newer one is much smaller; what is added becomes a segment, and neighbours of like size are
merged, so that adding costs little whatever is there already. A digest may have many numbers, a number many digests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Halves = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DIGEST_BYTES = 16
_MERGED_BELOW = 2
_MANY_SEGMENTS = 4


def split_digests(digests: bytes) -> tuple[Halves, Halves]:
    """Gives the first and the second halves of digests that stand one behind the other."""
    both = np.frombuffer(digests, np.uint64).reshape(-1, 2)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    """Digests in halves, sorted by the first, and the number of each."""

    high: Halves
    low: Halves
    numbers: Numbers

    def find(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        first = np.searchsorted(self.high, high, "left")
        # most of what is asked for is not there, and is not looked for twice
        there = np.flatnonzero(self.high[np.minimum(first, self.high.size - 1)] == high)
        first = first[there]
        counts = np.searchsorted(self.high, high[there], "right") - first
        asked = np.repeat(there, counts)
        within = np.arange(asked.size) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(first, counts) + within
        is_same = self.low[places] == low[asked]
        return asked[is_same], self.numbers[places[is_same]]


class DigestTable:
    """Pairs of digest and number. Not for several threads at a time."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []

    def add(self, high: Halves, low: Halves, numbers: Numbers, *, is_kept: Callable[[Numbers], Flags] | None = None) -> None:
        """Takes pairs up. ``is_kept`` says of numbers whether they are still wanted; others are left behind where segments are merged."""
        if not numbers.size:
            return
        segment, segments = _sorted(high, low, numbers), list(self._segments)
        while segments and segments[-1].high.size < _MERGED_BELOW * segment.high.size:
            segment = _merge_all([segments.pop(), segment], is_kept)
        self._segments = [*segments, segment]

    def absorb(self, other: "DigestTable", renumber: Callable[[Numbers], Numbers]) -> None:
        """Takes up all pairs of another table under other numbers, at once and unmerged."""
        added = [_Segment(each.high, each.low, renumber(each.numbers)) for each in other._segments]
        self._segments = [*self._segments, *added]

    def tidied(self, is_kept: Callable[[Numbers], Flags]) -> Callable[[], None] | None:
        """Merges what lies in too many segments, beside whoever looks up; gives what puts it in their place, None where all is well."""
        before = self._segments
        if len(before) <= _MANY_SEGMENTS:
            return None
        merged = _merge_all(before, is_kept)

        def put() -> None:
            if self._segments[: len(before)] == before:
                self._segments = [merged, *self._segments[len(before) :]]

        return put

    def find(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        """Gives the places of the digests asked for that have numbers, each with its numbers."""
        found = [segment.find(high, low) for segment in self._segments]
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        asked, numbers = (np.concatenate(each) for each in zip(*found, strict=True))
        return asked, numbers


def _merge_all(segments: Sequence[_Segment], is_kept: Callable[[Numbers], Flags] | None) -> _Segment:
    high, low, numbers = (np.concatenate([getattr(one, name) for one in segments]) for name in ("high", "low", "numbers"))
    if is_kept is None:
        return _sorted(high, low, numbers)
    kept = is_kept(numbers)
    return _sorted(high[kept], low[kept], numbers[kept])


def _sorted(high: Halves, low: Halves, numbers: Numbers) -> _Segment:
    order = np.argsort(high, kind="stable")
    return _Segment(high[order], low[order], numbers[order])
