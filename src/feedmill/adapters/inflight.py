"""The item that a process works on, kept in a mapped file, which outlives the process that is killed.

The kernel keeps what was written to a shared mapping when a process dies, without any call into the kernel at the time of writing. It
is lost when the machine itself stops, which blames nobody. Shape: two bytes of length, then the key; a length of 0 says that nothing
is in flight. The length is written last, so that a key is never read half.
"""

import mmap
from pathlib import Path

_SIZE = 1024
_HEAD = 2


class MappedInFlight:
    """Fills ``ports.InFlight`` with a file that one process of a kind has at a time."""

    def __init__(self, folder: Path, role: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (folder / role).open("a+b") as file:
            file.truncate(_SIZE)
            self._map = mmap.mmap(file.fileno(), _SIZE)

    def find_left(self) -> str | None:
        """Returns what a predecessor had in flight when it ended."""
        return _parse(self._map[:])

    def begin(self, key: str) -> None:
        """Notes an item as in flight."""
        data = key.encode("utf-8", "replace")[: _SIZE - _HEAD]
        self._map[:_HEAD] = b"\0\0"
        self._map[_HEAD : _HEAD + len(data)] = data
        self._map[:_HEAD] = len(data).to_bytes(_HEAD, "big")

    def end(self) -> None:
        """Notes that nothing is in flight."""
        self._map[:_HEAD] = b"\0\0"


def read_left(folder: Path, role: str) -> str | None:
    """Returns what a role had in flight when it ended, None also where that cannot be read. Errors: none."""
    try:
        return _parse((folder / role).read_bytes())
    except OSError:
        return None


def _parse(data: bytes) -> str | None:
    length = int.from_bytes(data[:_HEAD], "big")
    return data[_HEAD : _HEAD + length].decode("utf-8", "replace") if 0 < length <= _SIZE - _HEAD else None
