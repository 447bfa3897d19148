"""The files of a feed that is made: a new part begins when the current one would become too large.

Only the first part of a full feed is full: it replaces the old documents, the others add to it.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape

from feedmill.model.feed import FeedKind

_TAIL = b"</group>\n</gsafeed>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFile:
    """A feed file that was written."""

    path: Path
    kind: FeedKind
    records: int
    size_bytes: int


@dataclass(slots=True)
class FeedParts:
    """The feed files, one open at a time; a file gets its name only when it is complete. Units: ``max_bytes`` of one."""

    output: Path
    datasource: str
    kind: FeedKind
    max_bytes: int
    done: list[MadeFile] = field(default_factory=list)
    stream: BinaryIO | None = None
    records: int = 0
    earlier: set[tuple[int, int]] = field(default_factory=set)

    def __enter__(self) -> "FeedParts":
        output = self.output
        mine = re.compile(rf"{re.escape(output.stem)}(-\d+)?{re.escape(output.suffix)}(\.part)?")
        with os.scandir(output.parent) as entries:
            self.earlier |= {_identity(entry.stat()) for entry in entries if mine.fullmatch(entry.name)}
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.close()
            self._unfinished.unlink(missing_ok=True)

    def room_for(self, size_bytes: int) -> BinaryIO:
        """Returns the stream for a record of at most that size; it belongs to a new part if the open one has too little space."""
        if self._written() + size_bytes + len(_TAIL) > self.max_bytes and self.records:
            self._close()
            self._open()
        self.records += 1
        return self._opened()

    def take_back(self, begin: int) -> None:
        """Removes the record that was begun last."""
        stream = self._opened()
        stream.seek(begin)
        stream.truncate()
        self.records -= 1

    def is_own(self, about: os.stat_result) -> bool:
        """Returns whether a file is one of the parts: in progress, just written, or from an earlier run."""
        return _identity(about) in self.earlier

    def finish(self) -> tuple[MadeFile, ...]:
        """Closes the last part and returns all parts."""
        self._close()
        return tuple(self.done)

    @property
    def _path(self) -> Path:
        number = len(self.done) + 1
        return self.output if number == 1 else self.output.with_name(f"{self.output.stem}-{number}{self.output.suffix}")

    @property
    def _unfinished(self) -> Path:
        return self._path.with_name(self._path.name + ".part")

    @property
    def _kind(self) -> FeedKind:
        return FeedKind.INCREMENTAL if self.done else self.kind

    def _opened(self) -> BinaryIO:
        assert self.stream is not None
        return self.stream

    def _written(self) -> int:
        return self._opened().tell()

    def _open(self) -> None:
        self.stream, self.records = self._unfinished.open("wb"), 0
        self.earlier.add(_identity(os.fstat(self.stream.fileno())))
        self.stream.write(_head(self.datasource, self._kind))

    def _close(self) -> None:
        stream = self._opened()
        stream.write(_TAIL)
        size_bytes = stream.tell()
        stream.close()
        path, kind = self._path, self._kind
        self._unfinished.replace(path)
        self.stream = None
        self.done.append(MadeFile(path=path, kind=kind, records=self.records, size_bytes=size_bytes))


def _identity(about: os.stat_result) -> tuple[int, int]:
    return about.st_dev, about.st_ino


def _head(datasource: str, kind: FeedKind) -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">\n'
        f"<gsafeed>\n<header><datasource>{escape(datasource)}</datasource><feedtype>{kind.value}</feedtype></header>\n<group>\n"
    ).encode()
