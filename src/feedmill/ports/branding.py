"""The port of the files by which an owner brands the pages: a logo and a style sheet, which the settings name."""

from typing import Final, Protocol

MAX_BRANDING_BYTES: Final = 1_000_000


class BrandingFiles(Protocol):
    """Reads the files of front ends.

    Example::

        data = files.read_file(logo)
    """

    def read_file(self, path: str) -> bytes:
        """Returns a file. Errors: Corrupt if it cannot be read, or has more than ``MAX_BRANDING_BYTES``."""
