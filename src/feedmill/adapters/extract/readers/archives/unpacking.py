"""The bounds within which a document may unpack: bytes, files, depth and time, shared by all archives that are inside of one another.

An archive of a few bytes may claim, or really hold, more than any machine has: by its ratio, by files that share the same bytes, by
archives in archives, by millions of empty files. Real bytes count, never those that a header declares.
"""

import time
from dataclasses import dataclass

from feedmill.adapters.extract.readers.content import Unreadable

MAX_DEPTH = 4
MAX_FILES = 20_000
MAX_TOTAL_BYTES = 200_000_000
MAX_RATIO = 400
FREE_BYTES = 10_000_000
"""A document may unpack to so much at any ratio: nearly empty tables and logs compress extremely well."""
CHUNK = 1 << 16
TIME_SHARE = 0.7
"""The part of a document's time after which no further file is read, so that there is time for those that were."""


class Exhausted(Exception):
    """A document is at one of its bounds. The message says which, in plain words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file of an archive. Shape: ``reason`` says why its bytes are missing; ``is_cut`` if there are more than those."""

    name: str
    data: bytes = b""
    is_cut: bool = False
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class Unpacking:
    """What one document may still unpack. Units: ``deadline`` on the monotonic clock, None for no bound of time."""

    bytes_left: int
    file_bytes: int
    deadline: float | None = None
    files_left: int = MAX_FILES
    depth: int = 0

    def enter(self) -> None:
        """Goes into an archive. Errors: Unreadable if it is in too many others."""
        if self.depth >= MAX_DEPTH:
            raise Unreadable(f"it is an archive inside of {MAX_DEPTH} others")
        self.depth += 1

    def leave(self) -> None:
        """Goes out of an archive."""
        self.depth -= 1

    def take_file(self) -> None:
        """Counts a file, whether its bytes are read or only its name. Errors: Exhausted."""
        self.files_left -= 1
        if self.files_left < 0:
            raise Exhausted(f"there are more than {MAX_FILES} files")
        self.check_time()

    def take(self, chunk: bytes) -> bytes:
        """Counts unpacked bytes, and returns them. Errors: Exhausted."""
        self.bytes_left -= len(chunk)
        if self.bytes_left < 0:
            raise Exhausted("it unpacks to more bytes than are allowed for its size")
        self.check_time()
        return chunk

    def seconds_left(self, most: float) -> float:
        """Returns the time for the next file. Units: seconds, at most ``most``, and always a little."""
        return most if self.deadline is None else min(most, max(0.1, self.deadline - time.monotonic()))

    def check_time(self) -> None:
        """Errors: Exhausted if the time is over."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Exhausted("reading all of its files takes too long")


def begin_unpacking(size_bytes: int, file_bytes: int, seconds: float) -> Unpacking:
    """Returns the bounds for a document of ``size_bytes``, whose files may have ``file_bytes`` each."""
    total = min(MAX_TOTAL_BYTES, max(FREE_BYTES, size_bytes * MAX_RATIO))
    return Unpacking(bytes_left=total, file_bytes=file_bytes, deadline=time.monotonic() + seconds * TIME_SHARE)
