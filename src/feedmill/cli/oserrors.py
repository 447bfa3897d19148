"""Describes errors of the operating system for people: which file or folder, which user, and what to do."""

import errno
import grp
import os
import stat
from contextlib import suppress
from pathlib import Path


def describe_os_error(exc: OSError) -> str:
    """Returns what failed and what to do, in lower case without a full stop."""
    if exc.filename is None:
        return _describe_without_path(exc)
    path = Path(os.fsdecode(exc.filename))
    match exc.errno:
        case errno.EACCES | errno.EPERM:
            return _describe_permission(path)
        case errno.ENOENT:
            return f"'{path}' does not exist, and cannot be created there" if not path.parent.exists() else f"'{path}' does not exist"
        case errno.ENOSPC | errno.EDQUOT:
            return f"the disk of '{path}' is full; free some of its space, nothing was written"
        case errno.EROFS:
            return f"'{path}' is on a file system that is mounted read-only"
        case _:
            return f"'{path}': {(exc.strerror or str(exc)).lower()}"


def _describe_without_path(exc: OSError) -> str:
    """Returns what failed in the middle of reading or writing, where the system no longer says which file it is."""
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return "a disk is full: that of the data folder, of the temporary files, or of the file for the output; free some of its space"
    return (exc.strerror or str(exc)).lower()


def _describe_permission(path: Path) -> str:
    """Returns which file or folder refuses this user, and whom it belongs to."""
    user = _name_user(os.geteuid())
    shown = next((each for each in (path, *path.parents) if _is_reachable(each)), path)
    with suppress(OSError):
        known = shown.stat()
        kind = "folder" if stat.S_ISDIR(known.st_mode) else "file"
        owner = f"{_name_user(known.st_uid)}:{_name_group(known.st_gid)}"
        mode = f"{stat.S_IMODE(known.st_mode):04o}"
        advice = f"run the command as {_name_user(known.st_uid)}, or give {user} access"
        return f"user {user} has no permission for '{path}'; the {kind} '{shown}' belongs to {owner}, mode {mode}; {advice}"
    return f"user {user} has no permission for '{path}'"


def _is_reachable(path: Path) -> bool:
    """Whether the entry exists and this user may look at it."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def _name_user(number: int) -> str:
    from feedmill.runtime.datafolder import find_account

    return find_account(number) or str(number)


def _name_group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
