"""Room that stays free on the data folder's disk: contents of feeds wait for room before the store and the index have none left."""

import errno
import os
from pathlib import Path
from typing import Final

_STEP_BYTES: Final = 4_194_304
"""How much is written between two looks at the disk."""


class Reserve:
    """Watches over the room that is left to others. Units: ``reserve_bytes`` that must stay free, 0 watches over nothing."""

    def __init__(self, folder: Path, reserve_bytes: int) -> None:
        self._folder = folder
        self._reserve_bytes = reserve_bytes
        self._known_bytes = 0

    def take(self, size_bytes: int) -> None:
        """Takes room before it is written to. Errors: OSError as of a full disk, when less than the reserve would be left."""
        if self._reserve_bytes <= 0:
            return
        if self._known_bytes < size_bytes:
            status = os.statvfs(self._folder)
            room = status.f_bavail * status.f_frsize - self._reserve_bytes
            if room < size_bytes:
                raise OSError(errno.ENOSPC, f"less than {self._reserve_bytes} bytes would stay free", str(self._folder))
            self._known_bytes = min(room, size_bytes + _STEP_BYTES)
        self._known_bytes -= size_bytes
