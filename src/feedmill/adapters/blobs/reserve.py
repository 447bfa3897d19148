"""Reserved space on the data folder's disk: contents of feeds wait for space while the store and the index still have some."""

import errno
import os
from pathlib import Path
from typing import Final

_STEP_BYTES: Final = 4_194_304
"""How many bytes are written between two checks of the disk."""


class Reserve:
    """Checks the reserved space. Units: ``reserve_bytes`` that must stay free, 0 checks nothing."""

    def __init__(self, folder: Path, reserve_bytes: int) -> None:
        self._folder = folder
        self._reserve_bytes = reserve_bytes
        self._known_bytes = 0

    def reserve_space(self, size_bytes: int) -> None:
        """Reserves space before a write. Errors: OSError as of a full disk, if less than the reserve would be left."""
        if self._reserve_bytes <= 0:
            return
        # Asks the file system once for several small writes; they share what was free then.
        if self._known_bytes < size_bytes:
            status = os.statvfs(self._folder)
            free_bytes = status.f_bavail * status.f_frsize - self._reserve_bytes
            if free_bytes < size_bytes:
                raise OSError(errno.ENOSPC, f"less than {self._reserve_bytes} bytes would stay free", str(self._folder))
            self._known_bytes = min(free_bytes, size_bytes + _STEP_BYTES)
        self._known_bytes -= size_bytes
