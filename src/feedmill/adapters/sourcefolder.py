"""A folder of files to feed. Implements ``ports.feedmaking.SourceFolder``."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from feedmill.adapters.feedparts import identity_of
from feedmill.model.errors import NotFound
from feedmill.ports.feedmaking import FileIdentity, FoundFile, SourceFile

LeftOut = Callable[[Path, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSourceFolder:
    """A folder on a disk. With ``follow_links`` links are followed, and each folder is entered once."""

    folder: Path
    follow_links: bool = False

    def exists(self) -> bool:
        """Returns whether it is a folder."""
        return self.folder.is_dir()

    def iter_files(self, is_excluded: Callable[[bytes], bool], on_left_out: LeftOut) -> Iterator[FoundFile]:
        """Yields regular files in the order of their names. Anything else is skipped without a report."""
        entered: set[FileIdentity] = set()
        waiting = [self.folder]
        while waiting:
            folder = waiting.pop()
            folders: list[Path] = []
            for entry in self._list_folder(folder, entered, on_left_out):
                relative = os.fsencode(entry.path)[len(os.fsencode(self.folder)) :].lstrip(b"/")
                if is_excluded(relative):
                    continue
                if entry.is_dir(follow_symlinks=self.follow_links):
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=self.follow_links):
                    yield FoundFile(path=Path(entry.path), relative=relative, size_bytes=_size(entry))
            waiting += reversed(folders)

    def open(self, file: FoundFile) -> SourceFile:
        """Opens a file. Errors: NotFound."""
        flags = os.O_RDONLY | os.O_NONBLOCK | (0 if self.follow_links else os.O_NOFOLLOW)
        try:
            stream = os.fdopen(os.open(file.path, flags), "rb")
        except OSError as exc:
            raise NotFound(f"cannot be read: {exc.strerror}") from exc
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            stream.close()
            raise NotFound("no longer a file")
        return SourceFile(stream=stream, size_bytes=status.st_size, changed_at=status.st_mtime, identity=identity_of(status))

    def _list_folder(self, folder: Path, entered: set[FileIdentity], on_left_out: LeftOut) -> Sequence[os.DirEntry[str]]:
        try:
            if self.follow_links:
                identity = identity_of(folder.stat())
                if identity in entered:
                    return []
                entered.add(identity)
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: os.fsencode(entry.name))
        except OSError as exc:
            on_left_out(folder, f"cannot be read: {exc.strerror}")
            return []


def _size(entry: os.DirEntry[str]) -> int:
    with suppress(OSError):
        return entry.stat().st_size
    return 0
