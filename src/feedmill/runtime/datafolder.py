"""Restricts the data folder to its owner, because it holds documents, sessions and secrets."""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
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


def check_account(data: Path) -> None:
    """Refuses to let root serve the data of another user, whose own server could not open the files that root's would make.

    Errors: Denied.
    """
    other = _find_other_owner(data)
    if other is not None:
        name = find_account(other.st_uid) or other.st_uid
        raise Denied(f"the data in '{data}' belong to user {name}, who could not open files of root's; start the server as that user")


@contextmanager
def handing_over(data: Path) -> Iterator[None]:
    """Gives all files that root makes in the data folder of another user to that user, at the end of the block."""
    other = _find_other_owner(data)
    try:
        yield
    finally:
        if other is not None:
            for _, folders, files, place in os.fwalk(data):
                for name in (*folders, *files):
                    _hand_over(name, place, other)


def _hand_over(name: str, place: int, other: os.stat_result) -> None:
    with suppress(FileNotFoundError):
        known = os.stat(name, dir_fd=place, follow_symlinks=False)
        # a second name of a file may be one outside the folder, which the user must not get
        if known.st_uid == 0 and (known.st_nlink == 1 or stat.S_ISDIR(known.st_mode)):
            os.chown(name, other.st_uid, other.st_gid, dir_fd=place, follow_symlinks=False)


def _find_other_owner(data: Path) -> os.stat_result | None:
    """Returns user and group of the data, or of an empty folder for them, if root makes files there that would not be theirs.

    Some file systems, as those of virtual machines, give all new files to one user; there root's are theirs already.
    """
    if os.geteuid() != 0:
        return None
    with suppress(OSError):
        known = next((data / sign for sign in _SIGNS if (data / sign).exists()), data).stat()
        with TemporaryFile(dir=data) as probe:
            return None if os.fstat(probe.fileno()).st_uid == known.st_uid else known
    return None


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
