"""Listings as files in a folder, one folder for each source.

A listing is written under another name first, so one that exists is complete, also after ``kill -9`` or a power failure.
"""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from feedmill.adapters.blobs.files import translate
from feedmill.model.errors import NotFound

RETAINED: Final = 2
"""How many older listings stay: those of interrupted runs."""
PIECE_BYTES: Final = 262_144
_SUFFIX: Final = ".listing"


class FolderListings:
    """Implements ``ports.Listings`` in a folder, which it creates."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, fill: Callable[[Callable[[bytes], object]], object]) -> str:
        """Writes a listing."""
        name = f"{time.time_ns():020}-{secrets.token_hex(4)}{_SUFFIX}"
        unfinished = self._folder / f"{name}.unfinished"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._remove_older()
            with unfinished.open("wb", PIECE_BYTES) as file:
                fill(lambda line: file.write(line + b"\n"))
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(self._folder / name)
        except OSError as exc:
            raise translate(exc, "writing a listing") from exc
        return name

    def iter_lines(self, name: str, position: int) -> Iterator[tuple[bytes, int]]:
        """Yields the lines of a listing."""
        if Path(name).name != name or not name.endswith(_SUFFIX):
            raise NotFound("there is no such listing")
        try:
            file = (self._folder / name).open("rb", PIECE_BYTES)
        except FileNotFoundError as exc:
            raise NotFound("this listing is no longer there") from exc
        with file:
            file.seek(position)
            for line in file:
                position += len(line)
                yield line.removesuffix(b"\n"), position

    def _remove_older(self) -> None:
        complete = sorted(self._folder.glob(f"*{_SUFFIX}"))
        for path in (*complete[:-RETAINED], *self._folder.glob("*.unfinished")):
            path.unlink(missing_ok=True)
