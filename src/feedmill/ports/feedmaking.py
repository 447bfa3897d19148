"""The ports of making feeds from a folder of files: what reads the folder, and what writes the feed files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

FileIdentity = tuple[int, int]
"""Two paths with the same identity are the same file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file to feed. Units: bytes; ``relative`` is its path below the folder, in the bytes of the file system."""

    path: Path
    relative: bytes
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that is open for reading. Units: ``size_bytes`` when it was opened; ``changed_at`` in seconds since 1970."""

    stream: BinaryIO
    size_bytes: int
    changed_at: float
    identity: FileIdentity


class SourceFolder(Protocol):
    """The folder whose files are fed."""

    def exists(self) -> bool:
        """Returns whether it is a folder."""

    def iter_files(self, is_excluded: Callable[[bytes], bool], on_left_out: Callable[[Path, str], None]) -> Iterator[FoundFile]:
        """Yields regular files in the order of their names. Excluded folders are not entered; unreadable ones are reported."""

    def open(self, file: FoundFile) -> SourceFile:
        """Opens a file. Errors: NotFound, with the reason, for one that is no longer a readable file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPart:
    """A feed file that is complete."""

    path: Path
    records: int
    size_bytes: int


class FeedParts(Protocol):
    """The files of a feed that is made, one open at a time. A file gets its name only when it is complete."""

    def begin_record(self, size_bytes: int) -> BinaryIO:
        """Returns the stream for a record of at most that size; it belongs to a new part if the open one has too little space."""

    def remove_record(self, begin: int) -> None:
        """Removes the record that was begun last, at a position of its stream."""

    def has_written(self, identity: FileIdentity) -> bool:
        """Returns whether a file is one of the parts: in progress, just written, or from an earlier run."""

    def finish(self) -> tuple[WrittenPart, ...]:
        """Closes the last part and returns all parts."""


class OpenFeedParts(Protocol):
    """Opens the files of a feed. ``head_of`` returns the beginning of a part by its number from 1, ``tail`` is the end of every part.

    Example::

        with open_parts(lambda number: b"<gsafeed>", b"</gsafeed>") as parts:
            parts.begin_record(len(record)).write(record)
            written = parts.finish()
    """

    def __call__(self, head_of: Callable[[int], bytes], tail: bytes) -> AbstractContextManager[FeedParts]:
        """Opens the first part. Leaving the context removes a part that is not complete."""


class FeedWriter(Protocol):
    """Writes the XML of a feed of documents, piece by piece."""

    END_FEED: str
    END_CONTENT: str
    END_RECORD: str

    def begin_feed(self, datasource: str, feedtype: str) -> str:
        """Returns the beginning of a feed."""

    def begin_record(self, url: str, mimetype: str, attributes: dict[str, str]) -> str:
        """Returns the beginning of a record."""

    def begin_content(self, encoding: str) -> str:
        """Returns the beginning of a content."""
