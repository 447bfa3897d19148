"""The files by which an owner brands the pages, on the disk."""

from pathlib import Path

from feedmill.adapters.localfiles import read_bounded
from feedmill.model.errors import Corrupt
from feedmill.ports.branding import MAX_BRANDING_BYTES


class LocalBrandingFiles:
    """Implements ``ports.branding.BrandingFiles``."""

    def read_file(self, path: str) -> bytes:
        """Returns a file. Errors: Corrupt."""
        # Opening a pipe would wait for its other end.
        if not Path(path).is_file():
            raise Corrupt(f"there is no file '{path}'")
        return read_bounded(path, MAX_BRANDING_BYTES, f"the file '{path}'")
