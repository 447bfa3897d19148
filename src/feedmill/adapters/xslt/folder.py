"""The stylesheets of front ends as files in a folder of their own."""

import hashlib
import os
from pathlib import Path

from feedmill.adapters.localfiles import read_bounded
from feedmill.ports.stylesheets import MAX_STYLESHEET_BYTES


class StylesheetFolder:
    """Implements ``ports.stylesheets.StylesheetRepository``. It also reads stylesheets outside its folder, which the settings name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, path: str) -> bool:
        """Returns whether there is a file at a path."""
        return os.path.isfile(path)

    def read_stylesheet(self, path: str, named: str) -> bytes:
        """Returns a file that may be a stylesheet. Errors: Corrupt if it cannot be read or is too large; the text calls it ``named``."""
        return read_bounded(path, MAX_STYLESHEET_BYTES, named)

    def write_stylesheet(self, name: str, data: bytes) -> str:
        """Stores a version of a front end's stylesheet durably and returns its path. Errors: OSError."""
        self._folder.mkdir(exist_ok=True, mode=0o700)
        path = self._folder.absolute() / f"{name}.{hashlib.sha256(data).hexdigest()[:16]}.xsl"
        fresh = path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        return str(path)

    def delete_others(self, name: str, path: str) -> None:
        """Deletes all versions of a front end's stylesheet except that at ``path``. Errors: OSError."""
        current = Path(path)
        for other in current.parent.glob(f"{name}.*.xsl"):
            if other != current:
                other.unlink(missing_ok=True)
