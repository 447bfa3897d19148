"""Limits how far compressed data may inflate: to a multiple of its size, plus a fixed amount for every feed.

Texts that people write shrink to a tenth; a stream of zeros shrinks to a thousandth. The fixed amounts permit any ratio for
contents that are small or few.
"""

from typing import Final

SETTING: Final = "gate.max_inflation"
DEFAULT_RATIO: Final = 100
FREE_BYTES_OF_CONTENT: Final = 33_554_432
FREE_BYTES_OF_FEED: Final = 67_108_864


class InflationLimitExceeded(Exception):
    """Data inflate beyond the limit; the message says how."""


class Inflation:
    """Counts compressed bytes and what they inflate to. The ratio does not apply to the first ``free_bytes``."""

    def __init__(self, ratio: int, free_bytes: int, what: str) -> None:
        self._ratio = ratio
        self._free_bytes = free_bytes
        self._what = what
        self._read_bytes = 0
        self._inflated_bytes = 0

    def count_read(self, read_bytes: int) -> None:
        """Counts compressed bytes."""
        self._read_bytes += read_bytes

    def count_inflated(self, inflated_bytes: int) -> None:
        """Counts inflated bytes. Errors: InflationLimitExceeded."""
        self._inflated_bytes += inflated_bytes
        # The bound grows with what was read, so a body is refused in its middle, before it fills the disk.
        if self._inflated_bytes > self._free_bytes + self._ratio * self._read_bytes:
            raise InflationLimitExceeded(f"{self._what} to more than {self._ratio} times the size (setting {SETTING})")

    def take_back(self, inflated_bytes: int) -> None:
        """Subtracts inflated bytes that were dropped."""
        self._inflated_bytes -= inflated_bytes


def inflation_of_feed(ratio: int) -> Inflation:
    """Returns the count of all compressed contents of one feed."""
    return Inflation(ratio, FREE_BYTES_OF_FEED, "the compressed contents of the feed inflate")


def inflation_of_content(ratio: int) -> Inflation:
    """Returns the count of one compressed content."""
    return Inflation(ratio, FREE_BYTES_OF_CONTENT, "it inflates")


def inflation_of_body(ratio: int) -> Inflation:
    """Returns the count of one compressed request body."""
    return Inflation(ratio, FREE_BYTES_OF_FEED, "the compressed body inflates")
