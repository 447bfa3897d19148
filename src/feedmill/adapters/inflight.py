"""The item that a process works on, in a mapped file, which outlives a killed process.

When a process dies, the kernel retains what it wrote to a shared mapping, without any system call at the time of writing. If the machine
itself stops, the entry is lost, and no item is suspected. Shape: two bytes of length, then the key; a length of 0 means that nothing is in
flight. The length is written last, so that a partly written key is never read.
"""

import mmap
from pathlib import Path

_SIZE = 1024
_HEAD = 2


class MappedInFlight:
    """Implements ``ports.InFlight`` with a file that only one process of a kind uses at a time."""

    def __init__(self, folder: Path, role: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (folder / role).open("a+b") as file:
            file.truncate(_SIZE)
            self._map = mmap.mmap(file.fileno(), _SIZE)

    def find_left(self) -> str | None:
        """Returns the item that the previous process had in flight when it ended."""
        return _parse_slot(self._map[:])

    def begin(self, key: str) -> None:
        """Stores an item as in flight."""
        data = key.encode("utf-8", "replace")[: _SIZE - _HEAD]
        self._map[:_HEAD] = b"\0\0"
        self._map[_HEAD : _HEAD + len(data)] = data
        self._map[:_HEAD] = len(data).to_bytes(_HEAD, "big")

    def end(self) -> None:
        """Clears the item in flight."""
        self._map[:_HEAD] = b"\0\0"


def read_left(folder: Path, role: str) -> str | None:
    """Returns the item that a role had in flight when it ended; None also if that cannot be read. Errors: none."""
    try:
        return _parse_slot((folder / role).read_bytes())
    except OSError:
        return None


def _parse_slot(data: bytes) -> str | None:
    length = int.from_bytes(data[:_HEAD], "big")
    return data[_HEAD : _HEAD + length].decode("utf-8", "replace") if 0 < length <= _SIZE - _HEAD else None
