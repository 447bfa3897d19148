"""Maps digests to numbers, millions of them, in memory. Adding and finding work on many digests at a time.

The pairs lie sorted in a few segments, and each newer segment is much smaller than the one before. Added pairs become a new segment.
Neighbours of similar size are merged, so adding costs little however many pairs the table holds. Only ``absorb`` adds segments unmerged;
``prepare_merge`` joins them. A digest may have many numbers, and a number many digests.
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
    """Returns the first and the second halves of digests that are concatenated."""
    # In the byte order of this machine: the halves are compared only with each other and never stored.
    both = np.frombuffer(digests, np.uint64).reshape(-1, 2)
    # A column is a view of every second item. Copies without these gaps are searched faster.
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


# segments are compared by identity (eq=False): comparing their arrays would raise
@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    """Digests in halves, sorted by the first half, and the number of each.

    Digests spread evenly, so their first bits choose a bucket of a few digests. ``starts`` holds where each bucket
    begins and, as its last item, where the last bucket ends. A binary search would read some twenty distant places among millions.
    """

    high: Halves
    low: Halves
    numbers: Numbers
    starts: Numbers

    def find_pairs(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        # the bucket of each wanted digest, and how many stored digests lie in that bucket
        buckets = _buckets_of(high, _bucket_bits(self.high.size))
        begins = self.starts[buckets]
        counts = self.starts[buckets + 1] - begins
        # One candidate for each pair of a wanted digest and a digest in its bucket. ``positions`` is the place of the wanted digest.
        positions = np.repeat(np.arange(high.size), counts)
        # Numbers the candidates of one wanted digest 0, 1, 2...: cumsum(counts) - counts is where its run of candidates begins.
        within = np.arange(positions.size) - np.repeat(np.cumsum(counts) - counts, counts)
        # the place of each candidate in the segment: the start of the bucket plus the number within it
        places = np.repeat(begins, counts) + within
        # compare first halves, and second halves only where the first ones are equal
        near = np.flatnonzero(self.high[places] == high[positions])
        positions, places = positions[near], places[near]
        is_same = self.low[places] == low[positions]
        return positions[is_same], self.numbers[places[is_same]]


def _bucket_bits(size: int) -> int:
    """Returns how many first bits choose a bucket, which then holds two to four digests."""
    return max(size.bit_length() - 2, 0)


def _buckets_of(high: Halves, bits: int) -> Numbers:
    # With bits = 0 this shifts by 64, for which NumPy returns 0: the only bucket.
    return (high >> np.uint64(64 - bits)).astype(np.int64)


def _segment(high: Halves, low: Halves, numbers: Numbers) -> _Segment:
    """Builds a segment from digests that are sorted by their first halves."""
    bits = _bucket_bits(high.size)
    # the buckets of sorted digests are sorted too, so a bucket begins at the first place with its number
    starts = np.searchsorted(_buckets_of(high, bits), np.arange((1 << bits) + 1))
    return _Segment(high, low, numbers, starts)


class DigestTable:
    """Pairs of digest and number. Not safe for use from several threads at a time."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []

    def add_pairs(self, high: Halves, low: Halves, numbers: Numbers, *, is_wanted: Callable[[Numbers], Flags] | None = None) -> None:
        """Adds pairs. ``is_wanted`` returns which numbers are still wanted; a merge of segments drops pairs of other numbers."""
        if not numbers.size:
            return
        segment, segments = _sorted(high, low, numbers), list(self._segments)
        # merge while the last segment is less than twice as large as the new one; sizes then fall by half or more, so segments are few
        while segments and segments[-1].high.size < _MERGED_BELOW * segment.high.size:
            segment = _merge_all([segments.pop(), segment], is_wanted)
        self._segments = [*segments, segment]

    def absorb(self, other: "DigestTable", renumber: Callable[[Numbers], Numbers]) -> None:
        """Adds all pairs of another table under other numbers, at once and without merging."""
        added = [replace(each, numbers=renumber(each.numbers)) for each in other._segments]
        self._segments = [*self._segments, *added]

    def prepare_merge(self, is_wanted: Callable[[Numbers], Flags]) -> Callable[[], None] | None:
        """Merges too many segments while other threads look up. Returns a function that puts the result in place, None if there is no
        need.
        """
        before = self._segments
        if len(before) <= _MANY_SEGMENTS:
            return None
        merged = _merge_all(before, is_wanted)

        def put() -> None:
            # put the result in place only if the merged segments are still the first ones; segments added meanwhile stay behind it
            if self._segments[: len(before)] == before:
                self._segments = [merged, *self._segments[len(before) :]]

        return put

    def copy(self) -> "DigestTable":
        """Returns a table of the same pairs that can be extended independently."""
        other = DigestTable()
        other._segments = self._segments
        return other

    def renumbered(self, is_wanted: Callable[[Numbers], Flags], renumber: Callable[[Numbers], Numbers]) -> "DigestTable":
        """Returns a table of the pairs whose numbers are wanted, under other numbers."""
        other = DigestTable()
        if self._segments:
            merged = _merge_all(self._segments, is_wanted)
            other._segments = [replace(merged, numbers=renumber(merged.numbers))]
        return other

    def find_pairs(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        """Returns the pairs of the place of a wanted digest and a number that the table holds for it."""
        found = [segment.find_pairs(high, low) for segment in self._segments]
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        positions, numbers = (np.concatenate(each) for each in zip(*found, strict=True))
        return positions, numbers


def _merge_all(segments: Sequence[_Segment], is_wanted: Callable[[Numbers], Flags] | None) -> _Segment:
    high, low, numbers = (np.concatenate([getattr(one, name) for one in segments]) for name in ("high", "low", "numbers"))
    if is_wanted is None:
        return _sorted(high, low, numbers)
    found = is_wanted(numbers)
    return _sorted(high[found], low[found], numbers[found])


def _sorted(high: Halves, low: Halves, numbers: Numbers) -> _Segment:
    # The second halves need no order: ``find_pairs`` compares every digest of a bucket.
    order = np.argsort(high)
    return _segment(high[order], low[order], numbers[order])
