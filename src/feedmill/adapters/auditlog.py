"""The audit log as files of the data folder: ``audit/NUMBER.jsonl``, each named by its first entry.

Several processes write it. Each takes the lock, finds the end of the log, appends one line and syncs it. ``head.json`` names the last
entry, so that missing lines at the end are detected. A new file begins each day, and when the current one is large. Files older than the
retention are then removed, one at a time, after an entry that records it. ``audit-begun.json`` next to the folder names the first entry
of the newest file, so that a missing or replaced folder is detected too.
"""

import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from feedmill.adapters.syncing import sync_folder
from feedmill.core.audit.hashchain import FIRST, check_lines, read_line, write_line
from feedmill.model.audit import AuditEntry, AuditEvent, AuditKind
from feedmill.model.errors import Corrupt, DiskFull

MAX_FILE_BYTES = 16_000_000
MAX_LINE_BYTES = 64_000_000
_HEAD = "head.json"


class FolderAuditLog:
    """Implements ``ports.signin.AuditLog``. Several threads and processes may use it. ``keep`` None retains entries for ever."""

    def __init__(self, folder: Path, keep: timedelta | None = None, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self._folder = folder
        self._begun = folder.with_name(f"{folder.name}-begun.json")
        self._keep = keep
        self._max_file_bytes = max_file_bytes
        self._threads = threading.Lock()

    def append(self, event: AuditEvent) -> AuditEntry:
        """Stores an event. Errors: DiskFull, Corrupt when the log's end cannot be read."""
        try:
            with self._locked():
                return self._append(event)
        except OSError as exc:
            raise DiskFull(f"the audit log in '{self._folder}' cannot be written: {exc.strerror or exc}") from exc

    def iter_entries(self) -> Iterator[AuditEntry]:
        """Yields the entries. Errors: Corrupt."""
        last: AuditEntry | None = None
        head, begun = self._read_head(), self._read_begun()
        is_met = begun is None
        for last in check_lines(self._iter_lines()):
            is_met = is_met or (last.number, last.digest) == begun
            yield last
        if head is not None and (last is None or last.number < head[0]):
            raise Corrupt(f"entries are missing at the end: the last one should be {head[0]}")
        if head is not None and last is not None and last.number == head[0] and last.digest != head[1]:
            raise Corrupt(f"entry {last.number} is not the one that was written last")
        if begun is not None and not is_met:
            raise Corrupt(f"entry {begun[0]} is not there as '{self._begun}' has it: the log was removed, or another one put in its place")

    def _iter_lines(self) -> Iterator[tuple[str, bytes]]:
        for path in self._list_files():
            try:
                file = path.open("rb")
            except FileNotFoundError:
                continue  # removed meanwhile by the retention, which a later entry records
            with file:
                for place, line in enumerate(file, 1):
                    if not line.endswith(b"\n"):
                        return  # being written now, or left by a crash: no caller got a success for it
                    yield f"{path.name}:{place}", line[:-1]

    def _list_files(self) -> list[Path]:
        return sorted(self._folder.glob("[0-9]*.jsonl"))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Other processes wait for the lock of the file. Threads of this one wait for ``_threads`` before they open it.
        with self._threads, (self._folder / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _append(self, event: AuditEvent) -> AuditEntry:
        files = self._list_files()
        last = self._find_last(files, event)
        path = files[-1] if files else None
        if path is None or last is None or last.event.at.date() != event.at.date() or path.stat().st_size > self._max_file_bytes:
            path = self._name_of((last.number if last else 0) + 1)
        entry = self._write(path, event, last)
        # Old files are removed only when a new one begins, so once a day or after a large file.
        if path not in files and files:
            entry = self._trim([*files, path], event, entry)
        return entry

    def _find_last(self, files: list[Path], event: AuditEvent) -> AuditEntry | None:
        """Returns the entry to continue from. If it was cut off or damaged, the head has its number and hash; so the gap stays visible."""
        head = self._find_head()
        try:
            last = _read_last(files)
        except Corrupt:
            if head is None:
                raise
            last = None
        if head is not None and (last is None or last.number < head[0]):
            return AuditEntry(number=head[0], event=event, previous=FIRST, digest=head[1])
        return last

    def _find_head(self) -> tuple[int, str] | None:
        try:
            return self._read_head() or self._read_begun()
        except Corrupt:
            return None

    def _write(self, path: Path, event: AuditEvent, last: AuditEntry | None) -> AuditEntry:
        line, entry = write_line(last.number + 1 if last else 1, event, last.digest if last else FIRST)
        is_new = not path.exists()
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(self._folder)
        _write_place(self._folder / _HEAD, entry)
        if is_new:
            _write_place(self._begun, entry)
        return entry

    def _trim(self, files: list[Path], event: AuditEvent, entry: AuditEntry) -> AuditEntry:
        """Removes the files whose last entry is older than the retention. An entry in the log records it first."""
        if self._keep is None:
            return entry
        cutoff = event.at - self._keep
        gone: list[Path] = []
        last_gone: AuditEntry | None = None
        for path in files[:-1]:
            last = _read_last([path])
            if last is None or last.event.at >= cutoff:
                break
            gone.append(path)
            last_gone = last
        if last_gone is None:
            return entry
        trimmed = AuditEvent(kind=AuditKind.TRIMMED, at=event.at, details={"through": last_gone.number, "hash": last_gone.digest})
        self._write(files[-1], trimmed, entry)
        for path in gone:
            path.unlink(missing_ok=True)
        return entry

    def _name_of(self, number: int) -> Path:
        return self._folder / f"{number:012}.jsonl"

    def _read_head(self) -> tuple[int, str] | None:
        head = _read_place(self._folder / _HEAD)
        if head is None and self._list_files():
            raise Corrupt(f"'{self._folder / _HEAD}' is missing, which names the last entry")
        return head

    def _read_begun(self) -> tuple[int, str] | None:
        return _read_place(self._begun)


def _write_place(path: Path, entry: AuditEntry) -> None:
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w") as file:
        file.write(json.dumps({"number": entry.number, "hash": entry.digest}))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _read_place(path: Path) -> tuple[int, str] | None:
    try:
        held = json.loads(path.read_text())
        return int(held["number"]), str(held["hash"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise Corrupt(f"'{path}' cannot be read: {exc}") from exc


def _read_last(files: list[Path]) -> AuditEntry | None:
    """Returns the last entry of the last file that has one, and removes an unfinished line that a crash left."""
    for path in reversed(files):
        line = _read_last_line(path)
        if line:
            try:
                return read_line(line)
            except Corrupt as exc:
                raise Corrupt(f"the audit log's last entry, in '{path.name}', cannot be read: {exc}") from exc
    return None


def _read_last_line(path: Path) -> bytes:
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        length = 4_096
        while True:
            start = max(size - length, 0)
            file.seek(start)
            data = file.read(size - start)
            whole, newline, rest = data.rpartition(b"\n")
            # What follows the last line end is a line that a crash cut off. No caller got a success for it.
            if rest and (newline or start == 0):
                file.truncate(size - len(rest))
                size -= len(rest)
            if newline and (b"\n" in whole or start == 0):
                return whole.rpartition(b"\n")[2]
            if start == 0 or length > MAX_LINE_BYTES:
                return b""
            length *= 8
