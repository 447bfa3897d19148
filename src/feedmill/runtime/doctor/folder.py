"""Checks the data folder, the space on its disk, the clock, and the administrator's token."""

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from feedmill.core.text.times import write_time
from feedmill.model.errors import NotFound
from feedmill.runtime.admintoken import TOKEN_FILE, read_token
from feedmill.runtime.datafolder import OTHERS, find_account
from feedmill.runtime.doctor.findings import Finding, State
from feedmill.runtime.runstate import RunState

FULL_BYTES: Final = 200_000_000
SCARCE_BYTES: Final = 2_000_000_000
_FEWEST_FILES: Final = 10_000
_TOLERANCE: Final = timedelta(seconds=5)
_SHOWN: Final = 3
"""How many files of another user are named."""


def check_folder(data: Path) -> Iterator[Finding]:
    """Checks that the folder exists or can be created, and that this user may read and write what is in it."""
    # unlike ``Path.exists`` this raises nothing for a folder that this user may not look into
    if not os.path.exists(data):
        yield _check_parent(data)
    else:
        found = list(_check_rights(data))
        yield from found or [Finding("folder", State.OK, f"'{data}' belongs to {_own_name()}, who alone can access it")]


def _check_parent(data: Path) -> Finding:
    parent = _find_existing(data)
    beside = next(path for path in (data.absolute(), *data.absolute().parents) if path.parent == parent)
    if os.path.lexists(beside):
        text = f"'{data}' cannot be created, because '{beside}' is no folder"
        return Finding("folder", State.FAULT, f"{text}; remove it, or name another one with --data")
    if os.access(parent, os.W_OK | os.X_OK):
        return Finding("folder", State.OK, f"'{data}' does not exist yet; 'feedmill serve' creates it")
    text = f"'{data}' does not exist or cannot be reached, and {_own_name()} may not create it in '{parent}'"
    return Finding("folder", State.FAULT, f"{text}; create it and give it to this user, or name another one with --data")


def _check_rights(data: Path) -> Iterator[Finding]:
    known = data.stat()
    mode, owner = f"{stat.S_IMODE(known.st_mode):04o}", _name_user(known.st_uid)
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        text = f"{_own_name()} may not read and write '{data}' (owner {owner}, mode {mode})"
        yield Finding("folder", State.FAULT, f"{text}; run the command as {owner}, or change the owner: chown -R {_own_name()} '{data}'")
        return
    closed = [path.name for path in sorted(data.iterdir()) if not path.is_symlink() and not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        names = ", ".join(closed[:_SHOWN]) + (", ..." if len(closed) > _SHOWN else "")
        text = f"{_own_name()} may not read and write files in '{data}': {names}"
        yield Finding("folder", State.FAULT, f"{text}; another user has run the server here; change the owner: chown -R {owner} '{data}'")
    if known.st_uid != os.geteuid():
        text = f"'{data}' belongs to {owner}, and this is {_own_name()}"
        yield Finding("folder", State.WARNING, f"{text}; run all commands as {owner}, so that the server can read what they write")
    if known.st_mode & OTHERS:
        yield Finding("folder", State.WARNING, f"'{data}' is open to other accounts (mode {mode}); the start closes it, or chmod -R go= it")


def check_disk(data: Path) -> Iterator[Finding]:
    """Checks the free space and the free files of the disk that holds the folder."""
    folder = _find_existing(data)
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    text = f"{free / 1e9:.1f} GB of {status.f_blocks * status.f_frsize / 1e9:.1f} GB are free at '{folder}'"
    if free < FULL_BYTES:
        yield Finding("disk", State.FAULT, f"{text}; feeds are refused; remove something, or move the data folder to a larger disk")
    elif free < SCARCE_BYTES:
        yield Finding("disk", State.WARNING, f"{text}; a rebuild of the index needs space for a second one")
    else:
        yield Finding("disk", State.OK, text)
    # file systems without a fixed number of files report 0 of 0
    if status.f_files and status.f_favail < _FEWEST_FILES:
        yield Finding("disk", State.WARNING, f"only {status.f_favail} more files fit on the disk of '{folder}'; it has no more inodes")


def check_clock(data: Path, server: RunState | None, newest: datetime | None) -> Iterator[Finding]:
    """Checks the clock against the file system, the start of the server, and the newest feed of the store."""
    now = datetime.now(UTC)
    past = {"the program was installed": _read_change(Path(__file__)), "the newest feed was received": newest}
    if server is not None:
        past["the server started"] = datetime.fromisoformat(server.started_at)
    late = [what for what, moment in past.items() if moment is not None and moment > now + _TOLERANCE]
    offset = _measure_file_clock(data)
    for what in late:
        yield Finding("clock", State.FAULT, f"it is {write_time(now)}, before {what}; set the clock, and keep it by NTP")
    if abs(offset) > _TOLERANCE:
        text = f"the file system of '{data}' is {offset.total_seconds():.0f} s ahead of this machine"
        yield Finding("clock", State.WARNING, f"{text}; keep both clocks by NTP")
    elif not late:
        yield Finding("clock", State.OK, f"it is {write_time(now)}")


def check_token(data: Path) -> Iterator[Finding]:
    """Checks that this user can read the administrator's token, and that no other can."""
    path = data / TOKEN_FILE
    if (os.access(data, os.X_OK) and not path.exists()) or not os.path.exists(data):
        yield Finding("token", State.OK, f"there is no {TOKEN_FILE} yet; 'feedmill serve' creates it")
        return
    try:
        read_token(data)
    except NotFound as exc:
        yield Finding("token", State.FAULT, f"{exc}; run the command as the user of the server")
        return
    if path.stat().st_mode & OTHERS:
        yield Finding("token", State.WARNING, f"other accounts may read '{path}', and administer the server with it: chmod go= it")
    else:
        yield Finding("token", State.OK, f"'{path}' can be read by its owner alone")


def _measure_file_clock(data: Path) -> timedelta:
    """Returns how far the clock of the file system is ahead, 0 if nothing can be written there."""
    with suppress(OSError), tempfile.TemporaryFile(dir=data) as file:
        before = time.time()
        file.write(b"\n")
        file.flush()
        return timedelta(seconds=os.fstat(file.fileno()).st_mtime - before)
    return timedelta()


def _read_change(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _find_existing(path: Path) -> Path:
    """Returns the folder, or the nearest one above it that exists."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if os.path.isdir(folder))


def _own_name() -> str:
    return _name_user(os.geteuid())


def _name_user(number: int) -> str:
    return find_account(number) or f"user {number}"
