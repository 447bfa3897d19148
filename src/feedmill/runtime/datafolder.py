"""Keeps the data folder to its owner: it holds documents, sessions and secrets."""

import os
import stat
from pathlib import Path

import structlog

from feedmill.model.errors import Denied

UMASK = 0o077
"""Of every command: what it writes is its owner's alone."""

_OTHERS = 0o077

log = structlog.get_logger(__name__)


def prepare_folder(data: Path) -> None:
    """Makes the data folder when it is not there, and closes one that is open to others, with all that is in it.

    Errors: Denied for an open folder of another user.
    """
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = data.stat()
    if not known.st_mode & _OTHERS:
        return
    mode = f"{stat.S_IMODE(known.st_mode):04o}"
    if os.geteuid() not in (0, known.st_uid):
        raise Denied(
            f"the data folder '{data}' is open to others (mode {mode}) and belongs to another user;"
            " name a folder that belongs to the user of this process, for example a new one within it"
        )
    closed = _close_content(data)
    # the last, so that one that was interrupted is found open again
    os.chmod(data, stat.S_IMODE(known.st_mode) & ~_OTHERS)
    log.warning("data_folder_closed", data=str(data), mode=mode, files=closed, reason="it was open to others; now to its owner alone")


def _close_content(folder: Path) -> int:
    """Closes what is in a folder, links not followed, and returns how many files and folders were open."""
    closed = 0
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            closed += _close(os.path.join(path, name))
    return closed


def _close(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode) or not mode & _OTHERS:
            return False
        os.chmod(path, stat.S_IMODE(mode) & ~_OTHERS)
    except FileNotFoundError:
        return False
    return True
