"""What the maker of feeds reads, and how large its feeds become."""

from enum import StrEnum

DEFAULT_MAX_BYTES = 1_000_000_000
"""A larger feed is split into several."""


class RecordFormat(StrEnum):
    """The formats of files that hold documents."""

    CSV = "csv"
    JSONL = "jsonl"
    MBOX = "mbox"
    SITEMAP = "sitemap"
