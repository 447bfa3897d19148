"""The files by which an owner brands the pages, on the disk."""

from pathlib import Path

from feedmill.model.errors import Corrupt
from feedmill.ports.branding import MAX_BRANDING_BYTES


class LocalBrandingFiles:
    """Implements ``ports.branding.BrandingFiles``."""

    def read_file(self, path: str) -> bytes:
        """Returns a file. Errors: Corrupt."""
        # Opening a pipe would wait for its other end.
        if not Path(path).is_file():
            raise Corrupt(f"there is no file '{path}'")
        try:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BRANDING_BYTES + 1)
        except OSError as exc:
            raise Corrupt(f"the file '{path}' cannot be read: {exc.strerror}") from exc
        if len(data) > MAX_BRANDING_BYTES:
            raise Corrupt(f"the file '{path}' has more than {MAX_BRANDING_BYTES} bytes")
        return data
