"""Blobs in a folder: small ones appended to packs, each large one in its own file.

Rules: only the process that created a pack writes to it, and only at its end, so no process waits for another. What ``kill -9`` leaves
incomplete at the end of a pack has no reference, because references are committed only after ``sync``. A write that finds the disk full
is undone. After a failed sync it is unknown what is on the disk, and the kernel would report success for the next sync. So a failed sync,
and from then on every write, raises ``Broken``; a new process writes to its own packs.

A caller that knows all references may clean up ``packs`` and ``files``, but only what is older than the longest transaction, since a
reference may still wait for its commit.
"""

import io
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from feedmill.adapters.blobs.files import AppendFile, ReadFile, ReadFiles, is_in_use, translate
from feedmill.adapters.blobs.refs import BlobLocation, is_name, new_name, packed_ref, parse_ref, single_ref
from feedmill.adapters.blobs.reserve import Reserve
from feedmill.adapters.syncing import sync_folder
from feedmill.model.document import BlobRef
from feedmill.model.errors import Broken, Conflict, Corrupt, FeedmillError

_CHUNK_BYTES = 1 << 18
_WAITING_FILES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PackLimits:
    """What is small enough for a pack, and how large a pack grows. Units: bytes."""

    small_bytes: int = 1 << 20
    pack_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A pack or a single file as it lies in the folder. Units: seconds since the last change."""

    name: str
    size_bytes: int
    age_seconds: float
    is_in_use: bool
    is_pack: bool


class PackedBlobs:
    """Implements ``ports.BlobStore``. Threads may share it; each process opens its own. ``role`` names the process in file names."""

    def __init__(self, folder: Path, *, role: str = "any", limits: PackLimits | None = None, reserve_bytes: int = 0) -> None:
        self._packs, self._files = folder / "packs", folder / "files"
        self._role = role
        self._limits = limits or PackLimits()
        self._reserve = Reserve(folder, reserve_bytes)
        self._reads = ReadFiles(lambda name: self._packs / name)
        self._lock = threading.Lock()
        self._syncing = threading.Lock()
        self._pack: AppendFile | None = None
        self._waiting: list[AppendFile] = []
        self._changed_folders: set[Path] = set()
        self._failure: FeedmillError | None = None
        try:
            for path in (self._packs, self._files):
                path.mkdir(parents=True, exist_ok=True)
            # A reference must not outlive the folder that it leads to, also after a power failure.
            for path in (folder, folder.parent):
                sync_folder(path)
        except OSError as exc:
            raise translate(exc, f"making the blob folder {folder}") from exc

    # --- writing ---

    def put(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        """Writes the next ``size_bytes`` of a stream. Errors: DiskFull; Corrupt when the stream ends before; Broken after a failed sync."""
        try:
            self._reserve.reserve_space(size_bytes)
        except OSError as exc:
            raise translate(exc, "writing a blob") from exc
        return self._put_blob(stream, size_bytes)

    def put_copy(self, data: bytes) -> BlobRef:
        """Writes a copy of a blob, even into the reserve, because the caller then removes the original. Errors: DiskFull, Broken."""
        return self._put_blob(io.BytesIO(data), len(data))

    def _put_blob(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        self._refuse_after_failure()
        try:
            if size_bytes <= self._limits.small_bytes:
                return self._put_small(_read_exactly(stream, size_bytes))
            return self._put_large(stream, size_bytes)
        except OSError as exc:
            raise translate(exc, "writing a blob") from exc

    def _refuse_after_failure(self) -> None:
        if self._failure is not None:
            raise Broken(str(self._failure)) from self._failure

    def _put_small(self, data: bytes) -> BlobRef:
        with self._lock:
            pack = self._pack
            if pack is None or (pack.end > 0 and pack.end + len(data) > self._limits.pack_bytes):
                pack = self._begin_pack()
            return packed_ref(pack.name, pack.append(data), len(data))

    def _begin_pack(self) -> AppendFile:
        pack = AppendFile(self._packs / new_name(self._role))
        # The full pack may hold blobs that are not durable yet. ``sync`` closes it.
        if self._pack is not None:
            self._waiting.append(self._pack)
        self._pack = pack
        self._changed_folders.add(self._packs)
        return pack

    def _put_large(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        file = AppendFile(self._files / new_name(self._role))
        try:
            while file.end < size_bytes:
                file.append(_read_exactly(stream, min(_CHUNK_BYTES, size_bytes - file.end)))
        except BaseException:
            file.close()
            (self._files / file.name).unlink(missing_ok=True)
            raise
        with self._lock:
            self._waiting.append(file)
            self._changed_folders.add(self._files)
            # Each waiting file holds a descriptor open.
            is_crowded = len(self._waiting) > _WAITING_FILES
        if is_crowded:
            self.sync()
        return single_ref(file.name, size_bytes)

    def sync(self) -> None:
        """Makes everything put so far durable, files first, then their folder entries. Errors: Broken."""
        # Order of locks: ``_syncing``, then ``_lock``. ``_lock`` is free during the syncs, so other threads go on writing.
        with self._syncing:
            self._refuse_after_failure()
            with self._lock:
                waiting, self._waiting = self._waiting, []
                folders, self._changed_folders = self._changed_folders, set()
                pack = self._pack
                # What is appended after this line belongs to the next sync, even if this one happens to write it.
                pack_end = 0 if pack is None else pack.end
            try:
                for file in waiting:
                    os.fsync(file.fd)
                # The pack stays open for more. Its end is remembered, so that a sync without new blobs costs nothing.
                if pack is not None and pack.durable_end < pack_end:
                    os.fsync(pack.fd)
                    pack.durable_end = pack_end
                for folder in folders:
                    sync_folder(folder)
            except OSError as exc:
                self._failure = translate(exc, "making blobs durable")
                raise Broken(str(self._failure)) from exc
            finally:
                for file in waiting:
                    file.close()

    # --- reading ---

    def read(self, ref: BlobRef) -> bytes:
        """Reads all bytes of a blob."""
        place = parse_ref(ref)
        try:
            data = self._read_location(place)
        except OSError as exc:
            raise translate(exc, f"reading the blob {ref}") from exc
        if data is None:
            raise Corrupt(f"the blob {ref} is cut off")
        return data

    def _read_location(self, place: BlobLocation) -> bytes | None:
        if place.offset is None:
            return ReadFile(self._files / place.name).read(0, place.length)
        return self._reads.get(place.name).read(place.offset, place.length)

    def size(self, ref: BlobRef) -> int:
        """Returns the size of a blob from its reference alone."""
        return parse_ref(ref).length

    def path(self, ref: BlobRef) -> str | None:
        """Returns the path of a blob that is a file of its own, None for a packed one."""
        place = parse_ref(ref)
        return str(self._files / place.name) if place.offset is None else None

    # --- upkeep ---

    def list_objects(self) -> list[StoredFile]:
        """Lists packs and then single files by name, those of other processes too."""
        return [*_list_files(self._packs, are_packs=True), *_list_files(self._files, are_packs=False)]

    def find_object(self, ref: BlobRef) -> str:
        """Returns the name of the pack or single file that a blob is in. Errors: Corrupt."""
        return parse_ref(ref).name

    def remove_object(self, name: str) -> None:
        """Removes a pack or a single file if it exists. Errors: Conflict while its process writes to it."""
        self._reads.forget(name)
        for folder in (self._packs, self._files):
            _remove(folder, name)

    def remove(self, ref: BlobRef) -> None:
        """Removes a blob that is a file of its own, if it exists; a packed one stays until its pack is removed.

        Errors: Conflict, as above.
        """
        place = parse_ref(ref)
        if place.offset is None:
            _remove(self._files, place.name)

    def close(self) -> None:
        """Closes the files; what was not synced may be lost."""
        self._reads.clear()
        with self._syncing, self._lock:
            for file in (*self._waiting, *([self._pack] if self._pack else [])):
                file.close()
            self._waiting, self._pack = [], None


def _read_exactly(stream: BinaryIO, size_bytes: int) -> bytes:
    data = stream.read(size_bytes)
    while len(data) < size_bytes:
        more = stream.read(size_bytes - len(data))
        if not more:
            raise Corrupt(f"the bytes to keep ended {size_bytes - len(data)} too early")
        data += more
    return data


def _list_files(folder: Path, *, are_packs: bool) -> list[StoredFile]:
    remaining = []
    now = time.time()
    for name in sorted(name for name in os.listdir(folder) if is_name(name)):
        with suppress(FileNotFoundError):
            path = folder / name
            found = path.stat()
            age = max(0.0, now - found.st_mtime)
            remaining.append(StoredFile(name=name, size_bytes=found.st_size, age_seconds=age, is_in_use=is_in_use(path), is_pack=are_packs))
    return remaining


def _remove(folder: Path, name: str) -> None:
    if not is_name(name):
        raise Corrupt(f"'{name[:100]}' is no name of a blob file")
    try:
        if is_in_use(folder / name):
            raise Conflict(f"the blob file {name} is being written, remove it after its process has ended")
        (folder / name).unlink()
    except FileNotFoundError:
        return
    except OSError as exc:
        raise translate(exc, f"removing the blob file {name}") from exc
