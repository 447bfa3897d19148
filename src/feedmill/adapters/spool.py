"""Files without a name, for contents that are too large to stay in memory between two steps.

They are on the disk of the data folder, because the system's folder for temporary files is often small, or in memory. The kernel removes
them with their process, so ``kill -9`` leaves nothing behind.
"""

import io
import os
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

from feedmill.adapters.blobs.files import translate
from feedmill.adapters.blobs.reserve import Reserve


class FolderSpool:
    """Opens such files in a folder, which it creates."""

    def __init__(self, folder: Path, *, reserve_bytes: int = 0) -> None:
        self._folder = folder
        self._reserve_bytes = reserve_bytes

    def open(self) -> BinaryIO:
        """Opens a file to write and then read. Errors: DiskFull, Busy, Corrupt; each write can raise them too."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            return cast(
                BinaryIO, _SpoolFile(tempfile.TemporaryFile(dir=self._folder, buffering=0), Reserve(self._folder, self._reserve_bytes))
            )
        except OSError as exc:
            raise translate(exc, "opening a file for a large content") from exc


class _SpoolFile(io.RawIOBase):
    """A file without a buffer: a buffered write could fail later, where no caller handles it."""

    def __init__(self, file: io.FileIO, reserve: Reserve) -> None:
        self._file = file
        self._reserve = reserve

    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # type: ignore[override]
        view = memoryview(data)
        try:
            self._reserve.reserve_space(len(view))
            while view:
                view = view[os.write(self._file.fileno(), view) :]
        except OSError as exc:
            raise translate(exc, "writing a large content") from exc
        return len(data)

    def readinto(self, buffer: bytearray, /) -> int:  # type: ignore[override]
        return self._file.readinto(buffer)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        super().close()
        self._file.close()
