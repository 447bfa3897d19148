"""Makes feeds from a folder of files.

Rules:

- Files are read in the order of their names, folder by folder, so that the same folder always makes the same feed. Links are followed only
  on request, and then each folder is entered once. Anything but a regular file is left out; an unreadable file is left out and reported.
- The URL of a file is the base URL plus its path, percent-encoded byte by byte, so that any name makes a URL that leads back to the file.
- Content streams through base64. A file that grows meanwhile is cut at the size that it had when it was opened.
- A feed that would be too large is split. Only the first part of a full feed is full: it replaces the old documents, the others add to it.

Source: Feeds Protocol Developer's Guide, "Writing Applications".
"""

import sys
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

from pybase64 import b64encode

from feedmill.model.errors import BadRequest, Denied, NotFound
from feedmill.model.feed import FeedKind
from feedmill.model.feedmaking import DEFAULT_MAX_BYTES
from feedmill.ports.feedmaking import FeedParts, FeedWriter, FoundFile, OpenFeedParts, SourceFolder

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
    """What to make. Units: ``max_bytes`` of one feed file; patterns are shell patterns, matched against the name and the path of a file.

    Shape: ``acl`` is the ACL of every record as XML, "" for none.
    """

    folder: Path
    output: Path
    datasource: str
    kind: FeedKind
    base_url: str
    acl: str = ""
    compress: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    follow_links: bool = False
    max_bytes: int = DEFAULT_MAX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A feed file that was written."""

    path: Path
    kind: FeedKind
    records: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFeed:
    """All files that were written, and the files that were left out with their reasons."""

    files: tuple[WrittenFile, ...]
    left_out: tuple[tuple[str, str], ...]


LeftOut = Callable[[Path, str], None]
OnFile = Callable[[FoundFile], None]


def make_feeds(plan: FeedPlan, folder: SourceFolder, open_parts: OpenFeedParts, writer: FeedWriter, on_file: OnFile) -> WrittenFeed:
    """Writes the feed files of a folder; a folder without files makes one empty feed.

    Errors: BadRequest for an impossible plan, Denied for a folder that cannot be read.
    """
    _check_plan(plan, folder)
    left_out: list[tuple[str, str]] = []

    def leave_out(path: Path, reason: str) -> None:
        if path == plan.folder:
            # an empty full feed would delete what the data source has
            raise Denied(f"'{path}' {reason}")
        left_out.append((str(path), reason))

    def head_of(number: int) -> bytes:
        return writer.begin_feed(plan.datasource, _kind_of(plan, number).value).encode()

    with open_parts(head_of, writer.END_FEED.encode()) as parts:
        for found in find_files(plan, folder, leave_out):
            on_file(found)
            reason = _put_file(found, plan, folder, parts, writer)
            if reason:
                left_out.append((str(found.path), reason))
        written = parts.finish()
    files = [
        WrittenFile(path=part.path, kind=_kind_of(plan, number), records=part.records, size_bytes=part.size_bytes)
        for number, part in enumerate(written, start=1)
    ]
    return WrittenFeed(files=tuple(files), left_out=tuple(left_out))


def find_files(plan: FeedPlan, folder: SourceFolder, on_left_out: LeftOut) -> Iterator[FoundFile]:
    """Yields the files to feed. Excluded files and anything but regular files are skipped without a report."""
    for found in folder.iter_files(lambda relative: _matches_any(relative, plan.exclude), on_left_out):
        if not plan.include or _matches_any(found.relative, plan.include):
            yield found


def _kind_of(plan: FeedPlan, number: int) -> FeedKind:
    """Returns the kind of a part: only the first part of a full feed is full."""
    return plan.kind if number == 1 else FeedKind.INCREMENTAL


def url_of(base_url: str, relative: bytes) -> str:
    """Returns the URL of a file."""
    return base_url.rstrip("/") + "/" + quote(relative, safe="/")


def mimetype_of(relative: bytes) -> str:
    """Returns the MIME type for a file's extension; the same on every machine."""
    kind, encoding = _TYPES.guess_type(_decode(relative).lower(), strict=False)
    if encoding is not None:
        return "application/gzip" if encoding == "gzip" else "application/octet-stream"
    return kind or "application/octet-stream"


def _decode(path: bytes) -> str:
    return path.decode(sys.getfilesystemencoding(), "surrogateescape")


def _check_plan(plan: FeedPlan, folder: SourceFolder) -> None:
    parts = urlsplit(plan.base_url)
    if not parts.scheme or not parts.netloc:
        raise BadRequest(f"'{plan.base_url}' is no base URL; give scheme and host, such as http://files.example.com/share/")
    if not folder.exists():
        raise BadRequest(f"'{plan.folder}' is no folder")


def _matches_any(relative: bytes, patterns: Sequence[str]) -> bool:
    return any(_matches(relative, pattern) for pattern in patterns)


def _matches(relative: bytes, pattern: str) -> bool:
    path = _decode(relative)
    return fnmatchcase(path, pattern.rstrip("/")) or fnmatchcase(path.rpartition("/")[2], pattern.rstrip("/"))


# --- writing --------------------------------------------------------------------------------------------------------------------


class _Unreadable(Exception):
    """A file could not be read to its end."""


def _put_file(found: FoundFile, plan: FeedPlan, folder: SourceFolder, parts: FeedParts, writer: FeedWriter) -> str:
    """Writes the record of a file. Returns the reason if the file cannot be fed, else an empty text. Errors: OSError from writing."""
    try:
        source = folder.open(found)
    except NotFound as exc:
        return str(exc)
    with source.stream:
        if parts.has_written(source.identity):
            return ""
        url = url_of(plan.base_url, found.relative)
        most_bytes = source.size_bytes * 4 // 3 + source.size_bytes // 500 + len(url) * 2 + len(plan.acl.encode()) + _RECORD_BYTES
        if most_bytes > plan.max_bytes:
            return f"too large for a feed of at most {plan.max_bytes} bytes"
        stream = parts.begin_record(most_bytes)
        begin = stream.tell()
        try:
            stream.write(_record_head(writer, url, found.relative, source.changed_at, plan))
            _write_content(stream, source.stream, source.size_bytes, plan.compress)
            stream.write((writer.END_CONTENT + writer.END_RECORD).encode())
        except _Unreadable as exc:
            parts.remove_record(begin)
            return f"cannot be read: {exc}"
    return ""


def _record_head(writer: FeedWriter, url: str, relative: bytes, changed_at: float, plan: FeedPlan) -> bytes:
    attributes = {}
    with suppress(OverflowError, ValueError, OSError):
        attributes["last-modified"] = formatdate(changed_at, usegmt=True)
    encoding = "base64compressed" if plan.compress else "base64binary"
    return (writer.begin_record(url, mimetype_of(relative), attributes) + plan.acl + writer.begin_content(encoding)).encode()


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
