"""The files that a process counts in, whose room is taken before anything is counted.

The metrics library maps sparse files into memory: where the disk is full, the first count would end the process by a signal that nothing
can catch. A process that finds no room counts for itself alone, and works.
"""

import os
from pathlib import Path

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder to the metrics library."""

RESERVED_BYTES = 65_536
_KINDS = ("counter", "histogram")


def reserve_metric_files() -> bool:
    """Takes the room of this process's files; whether there was any. Called before ``metrics.count_in_files``."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return False
    files = [Path(folder) / f"{kind}_{os.getpid()}.db" for kind in _KINDS]
    try:
        for file in files:
            _reserve(file)
    except OSError:
        for file in files:
            file.unlink(missing_ok=True)
        del os.environ[FOLDER_VARIABLE]
        return False
    return True


def _reserve(file: Path) -> None:
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, RESERVED_BYTES)
    finally:
        os.close(descriptor)
