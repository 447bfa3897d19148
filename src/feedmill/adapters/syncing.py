"""Syncs folders, whose entries the file system writes late."""

import os
from pathlib import Path


def sync_folder(path: Path) -> None:
    """Makes a folder's entries durable: files that were created in it, renamed or removed. Errors: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
