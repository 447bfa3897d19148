"""Backups of a data folder: one tar file with a snapshot of the store and the files that it refers to.

The snapshot and the files belong together: while no process writes the store, a read transaction begins, and every file gets a second
name (a hard link) in a folder ``backup-...`` of the data folder. After this moment, the server goes on, while the snapshot and the linked
files are copied. Files only grow or are replaced by others under the same name, so that a linked file still begins with what the
snapshot refers to. What can be derived, such as the index, is left out.

The first entry of the tar file describes it, and holds the number of the others, so that a file that was cut off is noticed.
"""

import fcntl
import json
import os
import shutil
import sqlite3
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path, PurePosixPath

from feedmill.adapters.syncing import sync_folder
from feedmill.model.errors import BadRequest, Conflict, Corrupt, NotFound

FORMAT = 1
STORE = "store.sqlite"
_DESCRIPTION = "backup.json"
_LINKS = "backup-"
_LOCK = "backup.lock"
_LOCK_OF_SERVER = "feedmill.lock"
_MAX_DESCRIPTION_BYTES = 4_000_000
_LEFT_OUT = frozenset(
    {
        "adaptors",
        "admin.token",
        _LOCK,
        "counts",
        _LOCK_OF_SERVER,
        "index",
        "inflight",
        "metrics",
        "run.json",
        "server.log",
        "settings.json",
        "spool",
        STORE,
        f"{STORE}-shm",
        f"{STORE}-wal",
        "store.door",
        "store.room",
    }
)
"""What a server makes again, what belongs to its processes alone, and the store, of which the snapshot is a copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a backup holds. ``schema`` is that of the store, ``files`` counts the entries after this one. Units: bytes of these.

    ``outside`` names what the server used and the backup does not hold: files elsewhere, and environment variables.
    """

    format: int
    version: str
    schema: str
    made_at: str
    files: int = 0
    size_bytes: int = 0
    outside: tuple[str, ...] = ()


@contextmanager
def hold_links(data: Path) -> Iterator[Path]:
    """Makes an empty folder for links, and removes it after the block. Errors: Conflict while another backup is made."""
    with (data / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise Conflict(f"another backup of '{data}' is being made") from exc
        for left in data.glob(f"{_LINKS}*/"):
            shutil.rmtree(left)  # of a backup that was killed
        folder = Path(tempfile.mkdtemp(prefix=_LINKS, dir=data))
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


class StoreSnapshot:
    """A read transaction of an SQLite store, which begins at once."""

    def __init__(self, store: Path) -> None:
        self._connection = sqlite3.connect(store, isolation_level=None)
        self._connection.execute("BEGIN")
        self.schema = str(self._connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])

    def copy(self, target: Path) -> None:
        """Copies the store as it was when the transaction began. Errors: OSError."""
        with _closing(sqlite3.connect(target)) as copy:
            self._connection.backup(copy)

    def close(self) -> None:
        """Ends the transaction."""
        self._connection.close()


@contextmanager
def _closing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    finally:
        connection.close()


def link_files(data: Path, links: Path) -> None:
    """Links all files of a data folder that a backup holds, except the store. Errors: OSError."""
    audit = data / "audit" / "lock"
    # The head of the audit log names its last line, so that both are linked while nobody writes it.
    with audit.open("a") if audit.exists() else open(os.devnull, "a") as lock:
        if audit.exists():
            fcntl.flock(lock, fcntl.LOCK_EX)
        for entry in sorted(data.iterdir()):
            if entry.name not in _LEFT_OUT and not entry.name.startswith(_LINKS):
                _link(entry, links / entry.name)


def _link(source: Path, target: Path) -> None:
    mode = source.lstat().st_mode
    if stat.S_ISDIR(mode):
        target.mkdir(mode=0o700)
        for entry in sorted(source.iterdir()):
            _link(entry, target / entry.name)
    elif stat.S_ISREG(mode):
        with suppress(FileNotFoundError):  # removed meanwhile: nothing refers to it
            os.link(source, target)


def write_backup(links: Path, about: Description, file: Path) -> Description:
    """Writes linked files, and a copy of the store among them, to a tar file, which replaces an earlier one at the end.

    Returns ``about`` with their number and size. Errors: OSError.
    """
    files = [(path, path.stat()) for path in sorted(links.rglob("*")) if path.is_file()]
    description = replace(about, files=len(files), size_bytes=sum(known.st_size for _, known in files))
    handle, name = tempfile.mkstemp(prefix=f".{file.name[:100]}-", dir=file.parent)
    try:
        with open(handle, "wb") as stream:
            with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                text = json.dumps(asdict(description)).encode()
                tar.addfile(_head(_DESCRIPTION, len(text)), BytesIO(text))
                for path, known in files:
                    with path.open("rb") as content:
                        # Only as much as there was: the server appends to the same file.
                        tar.addfile(_head(str(path.relative_to(links)), known.st_size, known.st_mtime), content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, file)
        sync_folder(file.parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    return description


def _head(name: str, size: int, modified: float = 0) -> tarfile.TarInfo:
    head = tarfile.TarInfo(name)
    head.size, head.mtime, head.mode = size, int(modified), 0o600
    return head


def is_empty(data: Path) -> bool:
    """Returns whether a folder is missing or holds nothing but the lock of a process that works on it."""
    return not data.exists() or all(entry.name == _LOCK_OF_SERVER for entry in data.iterdir())


def read_description(file: Path) -> Description:
    """Returns what a backup holds. Errors: BadRequest for another file, or a backup in a newer format; NotFound."""
    with _open_tar(file) as tar:
        return _read_description(tar, file)


def restore_files(file: Path, data: Path) -> None:
    """Writes the files of a backup to an empty folder, and removes them again if one fails. Errors: BadRequest, Corrupt, OSError."""
    try:
        with _open_tar(file) as tar:
            description = _read_description(tar, file)
            count = 0
            while (member := tar.next()) is not None:
                _extract(tar, member, data)
                count += 1
        if count != description.files:
            raise Corrupt(f"'{file}' holds {count} of {description.files} files; it was cut off")
    except BaseException as error:
        _clear(data)
        if isinstance(error, tarfile.TarError | EOFError):
            raise Corrupt(f"'{file}' was cut off or damaged: {error}") from error
        raise


@contextmanager
def _open_tar(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        tar = tarfile.open(file, mode="r|*")  # noqa: SIM115 - closed below, after the errors of opening
    except FileNotFoundError as exc:
        raise NotFound(f"there is no file '{file}'") from exc
    except tarfile.TarError as exc:
        raise BadRequest(f"'{file}' is no backup of a data folder: {exc}") from exc
    with tar:
        yield tar


def _read_description(tar: tarfile.TarFile, file: Path) -> Description:
    member = tar.next()
    stream = tar.extractfile(member) if member is not None and member.name == _DESCRIPTION and member.isfile() else None
    if stream is None:
        raise BadRequest(f"'{file}' is no backup of a data folder")
    try:
        held = json.loads(stream.read(_MAX_DESCRIPTION_BYTES))
        if held["format"] != FORMAT:
            raise BadRequest(f"'{file}' was made by the newer release {held['version']}; restore it with that release")
        return Description(**{**held, "outside": tuple(held.get("outside", ()))})
    except (ValueError, TypeError, KeyError) as exc:
        raise BadRequest(f"'{file}' is no backup of a data folder: its description cannot be read") from exc


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, data: Path) -> None:
    name = PurePosixPath(member.name)
    stream = tar.extractfile(member) if member.isfile() else None
    if stream is None or name.is_absolute() or ".." in name.parts or not name.parts or name.parts[0] in _LEFT_OUT - {STORE}:
        raise Corrupt(f"the backup holds '{member.name}', which is no file of a data folder")
    path = data / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as target:
        shutil.copyfileobj(stream, target)
        target.flush()
        os.fsync(target.fileno())


def _clear(data: Path) -> None:
    for entry in data.iterdir():
        if entry.name == _LOCK_OF_SERVER:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
