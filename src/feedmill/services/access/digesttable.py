"""Numbers by digest, millions of them, in memory: added many at a time, found many at a time.

They lie sorted in a few segments of which each newer one is much smaller; what is added becomes a segment, and neighbours of like size are
merged, so that adding costs little whatever is there already. A digest may have many numbers, a number many digests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Halves = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DIGEST_BYTES = 16
_MERGED_BELOW = 2
_MANY_SEGMENTS = 4


def split_digests(digests: bytes) -> tuple[Halves, Halves]:
    """Returns the first and the second halves of digests that stand one behind the other."""
    both = np.frombuffer(digests, np.uint64).reshape(-1, 2)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    """Digests in halves, sorted by the first, and the number of each.

    Digests spread evenly, so that their first bits lead to a drawer with a few of them: ``starts`` says where each drawer begins, and the
    last one ends. A search by halves would read some twenty far places of millions.
    """

    high: Halves
    low: Halves
    numbers: Numbers
    starts: Numbers

    def find(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        drawers = _drawers_of(high, _drawer_bits(self.high.size))
        begins = self.starts[drawers]
        counts = self.starts[drawers + 1] - begins
        asked = np.repeat(np.arange(high.size), counts)
        within = np.arange(asked.size) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(begins, counts) + within
        near = np.flatnonzero(self.high[places] == high[asked])
        asked, places = asked[near], places[near]
        is_same = self.low[places] == low[asked]
        return asked[is_same], self.numbers[places[is_same]]


def _drawer_bits(size: int) -> int:
    """Returns how many first bits choose a drawer, which then holds two to four digests."""
    return max(size.bit_length() - 2, 0)


def _drawers_of(high: Halves, bits: int) -> Numbers:
    # two shifts, for one by all 64 bits does nothing
    return (high >> np.uint64(63 - bits) >> np.uint64(1)).astype(np.int64)


def _segment(high: Halves, low: Halves, numbers: Numbers) -> _Segment:
    """Makes a segment of digests that are sorted by their first halves."""
    bits = _drawer_bits(high.size)
    starts = np.searchsorted(_drawers_of(high, bits), np.arange((1 << bits) + 1))
    return _Segment(high, low, numbers, starts)


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
        added = [replace(each, numbers=renumber(each.numbers)) for each in other._segments]
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

    def copy(self) -> "DigestTable":
        """Returns another table of the same pairs, to which others may be added."""
        other = DigestTable()
        other._segments = self._segments
        return other

    def renumbered(self, is_kept: Callable[[Numbers], Flags], renumber: Callable[[Numbers], Numbers]) -> "DigestTable":
        """Returns a table of the pairs whose numbers are kept, under other numbers."""
        other = DigestTable()
        if self._segments:
            merged = _merge_all(self._segments, is_kept)
            other._segments = [replace(merged, numbers=renumber(merged.numbers))]
        return other

    def find(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        """Returns the places of the digests asked for that have numbers, each with its numbers."""
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
    order = np.argsort(high)
    return _segment(high[order], low[order], numbers[order])
