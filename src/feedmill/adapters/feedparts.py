"""The feed files that ``make-feed`` writes. Implements ``ports.feedmaking``."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from feedmill.ports.feedmaking import FileIdentity, WrittenPart


@dataclass(slots=True)
class FolderFeedParts:
    """Feed files in a folder. Units: ``max_bytes`` of one; see ``ports.feedmaking.OpenFeedParts`` for the others."""

    output: Path
    max_bytes: int
    head_of: Callable[[int], bytes]
    tail: bytes
    done: list[WrittenPart] = field(default_factory=list)
    stream: BinaryIO | None = None
    records: int = 0
    own: set[FileIdentity] = field(default_factory=set)

    def __enter__(self) -> "FolderFeedParts":
        output = self.output
        names = re.compile(rf"{re.escape(output.stem)}(-\d+)?{re.escape(output.suffix)}(\.part)?")
        with os.scandir(output.parent) as entries:
            self.own |= {identity_of(entry.stat()) for entry in entries if names.fullmatch(entry.name)}
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self._unfinished.unlink(missing_ok=True)
            # what is still to be written may find no space, and its file is gone already
            with suppress(OSError):
                self.stream.close()

    def begin_record(self, size_bytes: int) -> BinaryIO:
        """Returns the stream for a record of at most that size."""
        if self._opened().tell() + size_bytes + len(self.tail) > self.max_bytes and self.records:
            self._close()
            self._open()
        self.records += 1
        return self._opened()

    def remove_record(self, begin: int) -> None:
        """Removes the record that was begun last."""
        stream = self._opened()
        stream.seek(begin)
        stream.truncate()
        self.records -= 1

    def has_written(self, identity: FileIdentity) -> bool:
        """Returns whether a file is one of the parts."""
        return identity in self.own

    def finish(self) -> tuple[WrittenPart, ...]:
        """Closes the last part and returns all parts."""
        self._close()
        return tuple(self.done)

    @property
    def _number(self) -> int:
        return len(self.done) + 1

    @property
    def _path(self) -> Path:
        return self.output if self._number == 1 else self.output.with_name(f"{self.output.stem}-{self._number}{self.output.suffix}")

    @property
    def _unfinished(self) -> Path:
        return self._path.with_name(self._path.name + ".part")

    def _opened(self) -> BinaryIO:
        assert self.stream is not None
        return self.stream

    def _open(self) -> None:
        self.stream, self.records = self._unfinished.open("wb"), 0
        self.own.add(identity_of(os.fstat(self.stream.fileno())))
        self.stream.write(self.head_of(self._number))

    def _close(self) -> None:
        stream = self._opened()
        stream.write(self.tail)
        size_bytes = stream.tell()
        stream.close()
        path = self._path
        self._unfinished.replace(path)
        self.stream = None
        self.done.append(WrittenPart(path=path, records=self.records, size_bytes=size_bytes))


def identity_of(status: os.stat_result) -> FileIdentity:
    """Returns the identity of a file."""
    return status.st_dev, status.st_ino
