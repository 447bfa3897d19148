"""Reads files that the settings name, of bounded size."""

from pathlib import Path

from feedmill.model.errors import Corrupt


def read_bounded(path: str, max_bytes: int, named: str) -> bytes:
    """Returns a file. Errors: Corrupt if it cannot be read or is too large; the text calls it ``named``."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as exc:
        raise Corrupt(f"{named} cannot be read: {exc.strerror}") from exc
    if len(data) > max_bytes:
        raise Corrupt(f"{named} has more than {max_bytes} bytes")
    return data
