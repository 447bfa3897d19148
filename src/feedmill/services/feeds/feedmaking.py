"""Makes feeds from a folder of files.

Rules:

- Files are read in the order of their names, folder by folder, so that the same folder always makes the same feed. Links are followed only
  on request, and then each folder is entered once. Anything but a regular file is left out; an unreadable file is left out and reported.
- The URL of a file is the base URL plus its path, percent-encoded byte by byte, so that any name makes a URL that leads back to the file.
- Content streams through base64. A file that grows meanwhile is cut at the size that it had when it was opened.
- A feed that would be too large is split. Only the first part of a full feed is full: it replaces the old documents, the others add to it.

Source: Feeds Protocol Developer's Guide, "Writing Applications".
"""

import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from fnmatch import fnmatchcase
from mimetypes import MimeTypes
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, urlsplit
from xml.sax.saxutils import quoteattr

from pybase64 import b64encode

from feedmill.model.errors import BadRequest
from feedmill.model.feed import FeedKind
from feedmill.services.feeds.feedparts import FeedParts, MadeFile

DEFAULT_MAX_BYTES = 1_000_000_000
PIECE_BYTES = 3 * 262_144
_RECORD_BYTES = 1_000
_MORE_TYPES = {
    ".md": "text/markdown",
    ".rst": "text/plain",
    ".log": "text/plain",
    ".rtf": "application/rtf",
    ".msg": "application/vnd.ms-outlook",
    ".epub": "application/epub+zip",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odp": "application/vnd.oasis.opendocument.presentation",
}
_TYPES = MimeTypes()
for _extension, _type in _MORE_TYPES.items():
    _TYPES.add_type(_type, _extension)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPlan:
    """What to make. Units: ``max_bytes`` of one feed file; patterns are shell patterns, matched against the name and the path of a file."""

    folder: Path
    output: Path
    datasource: str
    kind: FeedKind
    base_url: str
    compress: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    follow_links: bool = False
    max_bytes: int = DEFAULT_MAX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file to feed. Units: bytes; ``relative`` is its path below the folder, in the bytes of the file system."""

    path: Path
    relative: bytes
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFeed:
    """All files that were written, and the files that were left out with their reasons."""

    files: tuple[MadeFile, ...]
    left_out: tuple[tuple[Path, str], ...]


LeftOut = Callable[[Path, str], None]
OnFile = Callable[[FoundFile], None]


def make_feeds(plan: FeedPlan, on_file: OnFile = lambda _: None) -> MadeFeed:
    """Writes the feed files of a folder; a folder without files makes one empty feed. Errors: BadRequest for an impossible plan."""
    _check(plan)
    left_out: list[tuple[Path, str]] = []
    with FeedParts(output=plan.output, datasource=plan.datasource, kind=plan.kind, max_bytes=plan.max_bytes) as parts:
        for found in find_files(plan, lambda path, reason: left_out.append((path, reason))):
            on_file(found)
            reason = _put_file(found, plan, parts)
            if reason:
                left_out.append((found.path, reason))
        files = parts.finish()
    return MadeFeed(files=files, left_out=tuple(left_out))


def find_files(plan: FeedPlan, on_left_out: LeftOut) -> Iterator[FoundFile]:
    """Yields the files to feed. Excluded files and anything but regular files are skipped without a report."""
    entered: set[tuple[int, int]] = set()
    waiting = [plan.folder]
    while waiting:
        folder = waiting.pop()
        folders: list[Path] = []
        for entry in _list_folder(folder, plan.follow_links, entered, on_left_out):
            relative = os.fsencode(entry.path)[len(os.fsencode(plan.folder)) :].lstrip(b"/")
            if _is_excluded(relative, plan.exclude):
                continue
            if entry.is_dir(follow_symlinks=plan.follow_links):
                folders.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=plan.follow_links) and _is_included(relative, plan.include):
                yield FoundFile(path=Path(entry.path), relative=relative, size_bytes=_size(entry))
        waiting += reversed(folders)


def url_of(base_url: str, relative: bytes) -> str:
    """Returns the URL of a file."""
    return base_url.rstrip("/") + "/" + quote(relative, safe="/")


def mimetype_of(relative: bytes) -> str:
    """Returns the MIME type for a file's extension; the same on every machine."""
    kind, encoding = _TYPES.guess_type(os.fsdecode(relative).lower(), strict=False)
    if encoding is not None:
        return "application/gzip" if encoding == "gzip" else "application/octet-stream"
    return kind or "application/octet-stream"


def _check(plan: FeedPlan) -> None:
    parts = urlsplit(plan.base_url)
    if not parts.scheme or not parts.netloc:
        raise BadRequest(f"'{plan.base_url}' is no base URL; give scheme and host, such as http://files.example.com/share/")
    if not plan.folder.is_dir():
        raise BadRequest(f"'{plan.folder}' is no folder")


def _list_folder(folder: Path, follow_links: bool, entered: set[tuple[int, int]], on_left_out: LeftOut) -> Sequence[os.DirEntry[str]]:
    try:
        if follow_links:
            about = folder.stat()
            if (about.st_dev, about.st_ino) in entered:
                return []
            entered.add((about.st_dev, about.st_ino))
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except OSError as exc:
        on_left_out(folder, f"cannot be read: {exc.strerror}")
        return []


def _size(entry: os.DirEntry[str]) -> int:
    with suppress(OSError):
        return entry.stat().st_size
    return 0


def _is_excluded(relative: bytes, patterns: Sequence[str]) -> bool:
    return any(_matches(relative, pattern) for pattern in patterns)


def _is_included(relative: bytes, patterns: Sequence[str]) -> bool:
    return not patterns or any(_matches(relative, pattern) for pattern in patterns)


def _matches(relative: bytes, pattern: str) -> bool:
    path = os.fsdecode(relative)
    return fnmatchcase(path, pattern.rstrip("/")) or fnmatchcase(path.rpartition("/")[2], pattern.rstrip("/"))


# --- writing --------------------------------------------------------------------------------------------------------------------


class _Unreadable(Exception):
    """A file could not be read to its end."""


def _put_file(found: FoundFile, plan: FeedPlan, parts: FeedParts) -> str:
    """Writes the record of a file. Returns the reason if the file cannot be fed, else an empty text. Errors: OSError from writing."""
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if plan.follow_links else os.O_NOFOLLOW)
    try:
        source = os.fdopen(os.open(found.path, flags), "rb")
    except OSError as exc:
        return f"cannot be read: {exc.strerror}"
    with source:
        about = os.fstat(source.fileno())
        if not stat.S_ISREG(about.st_mode):
            return "no longer a file"
        if parts.is_own(about):
            return ""
        url = url_of(plan.base_url, found.relative)
        most_bytes = about.st_size * 4 // 3 + about.st_size // 500 + len(url) * 2 + _RECORD_BYTES
        if most_bytes > plan.max_bytes:
            return f"too large for a feed of at most {plan.max_bytes} bytes"
        stream = parts.room_for(most_bytes)
        begin = stream.tell()
        try:
            stream.write(_record_head(url, found.relative, about.st_mtime, plan.compress))
            _write_content(stream, source, about.st_size, plan.compress)
            stream.write(b"</content></record>\n")
        except _Unreadable as exc:
            parts.take_back(begin)
            return f"cannot be read: {exc}"
    return ""


def _record_head(url: str, relative: bytes, changed_at: float, compress: bool) -> bytes:
    encoding = "base64compressed" if compress else "base64binary"
    date = ""
    with suppress(OverflowError, ValueError, OSError):
        date = f' last-modified="{formatdate(changed_at, usegmt=True)}"'
    return f'<record url={quoteattr(url)} mimetype="{mimetype_of(relative)}"{date}><content encoding="{encoding}">'.encode()


def _write_content(stream: BinaryIO, source: BinaryIO, size_bytes: int, compress: bool) -> None:
    """Writes base64 in pieces. Each piece encodes a multiple of three bytes, so that the pieces join without padding between them."""
    rest = b""
    for piece in _iter_compressed(source, size_bytes) if compress else _iter_pieces(source, size_bytes):
        rest += piece
        whole = len(rest) - len(rest) % 3
        stream.write(b64encode(rest[:whole]))
        rest = rest[whole:]
    stream.write(b64encode(rest))


def _iter_pieces(source: BinaryIO, size_bytes: int) -> Iterator[bytes]:
    left = size_bytes
    while left > 0:
        try:
            piece = source.read(min(PIECE_BYTES, left))
        except OSError as exc:
            raise _Unreadable(exc.strerror) from exc
        if not piece:
            return
        left -= len(piece)
        yield piece


def _iter_compressed(source: BinaryIO, size_bytes: int) -> Iterator[bytes]:
    deflater = zlib.compressobj(6)
    for piece in _iter_pieces(source, size_bytes):
        yield deflater.compress(piece)
    yield deflater.flush()
