"""The files in which a process counts; their disk space is reserved before the first count.

The metrics library maps sparse files into memory. On a full disk the first count would end the process by a signal that it cannot
catch. A process without disk space counts in its own memory, and works.
"""

import os
from pathlib import Path

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The variable in which the metrics library looks for the folder."""

RESERVED_BYTES = 65_536
_KINDS = ("counter", "histogram")


def reserve_metric_files() -> bool:
    """Reserves the disk space of this process's files, and returns whether there was any. Call it before ``metrics.count_in_files``."""
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
