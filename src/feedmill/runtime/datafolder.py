"""Restricts the data folder to its owner, because it holds documents, sessions and secrets."""

import os
import pwd
import stat
from pathlib import Path
from typing import Final

import structlog

from feedmill.model.errors import Denied

OTHERS = 0o077
"""The bits of a mode by which accounts other than the owner's have access."""

_SIGNS: Final = ("feedmill.lock", "store.sqlite")
"""The files by which a folder is known to be a data folder."""

_OF_THE_SYSTEM: Final = frozenset(
    "/ /bin /boot /dev /dev/shm /etc /home /lib /lib64 /media /opt /run /sbin /srv /sys /tmp /usr /usr/local /var /var/lib /var/tmp".split()
)
"""Folders that must stay open to all accounts. Source: Filesystem Hierarchy Standard 3.0."""

log = structlog.get_logger(__name__)


def prepare_folder(data: Path) -> None:
    """Creates the data folder if it is missing. Restricts an open one to its owner, with its content if it has data already.

    Errors: Denied for an open folder of another user, or of the system.
    """
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = data.stat()
    if not known.st_mode & OTHERS:
        return
    # a file system in memory that was mounted for this program has the mode of /tmp, and is its own
    is_shared = bool(known.st_mode & stat.S_ISVTX) and not os.path.ismount(data)
    if is_shared or str(data.resolve()) in _OF_THE_SYSTEM:
        raise Denied(f"'{data}' is a folder of the system, which others need; name a folder of its own, such as '{data / 'feedmill'}'")
    mode = f"{stat.S_IMODE(known.st_mode):04o}"
    if os.geteuid() not in (0, known.st_uid):
        raise Denied(
            f"the data folder '{data}' is open to others (mode {mode}) and belongs to another user;"
            " name a folder that belongs to the user of this process, for example a new one within it"
        )
    # before the first start, what is in the folder is not of this program
    closed = _close_content(data) if any((data / name).exists() for name in _SIGNS) else 0
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
