"""Restricts the data folder to its owner, because it holds documents, sessions and secrets."""

import os
import pwd
import stat
from pathlib import Path

import structlog

from feedmill.model.errors import Denied

OTHERS = 0o077
"""The bits of a mode by which accounts other than the owner's have access."""

log = structlog.get_logger(__name__)


def prepare_folder(data: Path) -> None:
    """Creates the data folder if it is missing. Restricts an open one, with all that it contains, to its owner.

    Errors: Denied for an open folder of another user.
    """
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = data.stat()
    if not known.st_mode & OTHERS:
        return
    mode = f"{stat.S_IMODE(known.st_mode):04o}"
    if os.geteuid() not in (0, known.st_uid):
        raise Denied(
            f"the data folder '{data}' is open to others (mode {mode}) and belongs to another user;"
            " name a folder that belongs to the user of this process, for example a new one within it"
        )
    closed = _close_content(data)
    # comes last, so that the next start finds an interrupted change again
    os.chmod(data, stat.S_IMODE(known.st_mode) & ~OTHERS)
    log.warning("data_folder_closed", data=str(data), mode=mode, files=closed, reason="it was open to others; now to its owner alone")


def _close_content(folder: Path) -> int:
    """Restricts all files and folders in a folder, without following links, and returns how many were open."""
    closed = 0
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            closed += _restrict_mode(os.path.join(path, name))
    return closed


def _restrict_mode(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode) or not mode & OTHERS:
            return False
        os.chmod(path, stat.S_IMODE(mode) & ~OTHERS)
    except FileNotFoundError:
        return False
    return True


def find_account(number: int) -> str | None:
    """Returns the name of an account of this machine, None if it has none."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return None
