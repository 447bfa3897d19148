"""Reads a sitemap, or an index of sitemaps: URLs with the dates of their last changes.

Source: sitemaps.org, "Sitemaps XML format".
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath, PurePosixPath
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.errors import BadRequest, FeedmillError
from feedmill.wire.recordsources.record import ReadRecord, SkippedRecord, SourceRecord
from feedmill.wire.sitemaps.reader import ROOTS, SitemapElement, SitemapReader
from feedmill.wire.xmlstream.errors import NotWellFormed

MAX_SITEMAPS: Final = 50_000


def iter_sitemap(pieces: Iterable[bytes]) -> Iterator[SitemapElement]:
    """Yields the elements of a sitemap as its bytes arrive. Errors: BadRequest with the line."""
    reader = SitemapReader()
    try:
        for piece in pieces:
            reader.read_piece(piece)
            _check_root(reader)
            yield from reader.take_complete()
        reader.read_piece(b"", is_last=True)
    except NotWellFormed as exc:
        _check_root(reader)
        place = f"line {exc.line}, column {exc.column}" if exc.column else f"line {exc.line}"
        raise BadRequest(f"{place}: {exc.reason}") from exc
    _check_root(reader)


def _check_root(reader: SitemapReader) -> None:
    if reader.root and reader.root not in ROOTS:
        raise BadRequest(f"line {reader.root_line}: this is no sitemap: the root is <{reader.root}>")


def iter_sitemap_records(
    origin: str, open_pieces: Callable[[str], Iterable[bytes]], is_file: Callable[[str], bool]
) -> Iterator[ReadRecord]:
    """Yields the pages of a sitemap, or of all sitemaps of an index. ``origin`` is a path or a URL.

    Sitemaps of an index must be on the same server. For an index on this disk, the files of the same names beside it are read.
    Errors: BadRequest if the first one cannot be read.
    """
    waiting, seen = [origin], {origin}
    while waiting:
        place = waiting.pop(0)
        try:
            for entry in iter_sitemap(open_pieces(place)):
                found = _read_entry(entry, place, is_file)
                if not isinstance(found, str):
                    yield found
                elif found not in seen:
                    if len(seen) >= MAX_SITEMAPS:
                        raise BadRequest(f"{origin}: the index leads to more than {MAX_SITEMAPS} sitemaps")
                    seen.add(found)
                    waiting.append(found)
        except (FeedmillError, OSError) as exc:
            if place == origin:
                raise BadRequest(f"{origin}: {exc}") from exc
            yield SkippedRecord(place=place, reason=str(exc))


def _read_entry(entry: SitemapElement, place: str, is_file: Callable[[str], bool]) -> ReadRecord | str:
    """Returns a page, or the place of a further sitemap."""
    where = f"{place}, line {entry.line}"
    if not entry.url:
        return SkippedRecord(place=where, reason="<loc> is missing or empty")
    if len(entry.url) > MAX_URL_CHARACTERS:
        return SkippedRecord(place=where, reason=f"<loc> has more than {MAX_URL_CHARACTERS} characters")
    if not entry.is_sitemap:
        return SourceRecord(url=entry.url, mimetype="text/html", attributes={"last-modified": entry.last_modified})
    if "://" not in place:
        name = PurePosixPath(unquote(urlsplit(entry.url).path)).name
        beside = str(PurePath(place).with_name(name)) if name else ""
        return (
            beside if beside and is_file(beside) else SkippedRecord(place=where, reason=f"the sitemap {entry.url} is not beside this file")
        )
    url = urljoin(place, entry.url)
    if urlsplit(url)[:2] != urlsplit(place)[:2]:
        return SkippedRecord(place=where, reason=f"the sitemap {url} is on another server")
    return url
