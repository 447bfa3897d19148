"""Reads a sitemap, or an index of sitemaps: URLs with the dates of their last changes.

Source: sitemaps.org, "Sitemaps XML format".
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit
from xml.parsers import expat

from feedmill.model.errors import BadRequest, FeedmillError
from feedmill.wire.recordsources.record import ReadRecord, SkippedRecord, SourceRecord

MAX_SITEMAPS: Final = 50_000
MAX_LOC_CHARACTERS: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """A page, or with ``is_sitemap`` a sitemap of an index."""

    line: int
    url: str
    last_modified: str = ""
    is_sitemap: bool = False


class _Reading:
    """One reading: collects the entries that are complete."""

    def __init__(self) -> None:
        self.ready: list[SitemapEntry] = []
        self.root = ""
        self._entry: dict[str, str] | None = None
        self._name = ""
        self._text: list[str] = []
        self._line = 0
        self._depth = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add
        self.parser.EntityDeclHandler = self._refuse

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        self._depth += 1
        if self._depth == 1:
            self.root = name
            if name not in ("urlset", "sitemapindex"):
                raise BadRequest(f"line {self.parser.CurrentLineNumber}: this is no sitemap: the root is <{name}>")
        elif self._depth == 2 and name in ("url", "sitemap"):
            self._entry, self._line = {}, self.parser.CurrentLineNumber
        elif self._depth == 3:
            self._name, self._text = name, []

    def _add(self, text: str) -> None:
        if self._depth == 3 and self._name in ("loc", "lastmod"):
            self._text.append(text)
            if sum(map(len, self._text)) > MAX_LOC_CHARACTERS:
                raise BadRequest(f"line {self.parser.CurrentLineNumber}: <{self._name}> has more than {MAX_LOC_CHARACTERS} characters")

    def _end(self, _tag: str) -> None:
        if self._depth == 3 and self._entry is not None:
            self._entry.setdefault(self._name, "".join(self._text).strip())
        elif self._depth == 2 and self._entry is not None:
            url, changed = self._entry.get("loc", ""), self._entry.get("lastmod", "")
            is_sitemap = self.root == "sitemapindex"
            self.ready.append(SitemapEntry(line=self._line, url=url, last_modified=changed, is_sitemap=is_sitemap))
            self._entry = None
        self._depth -= 1

    def _refuse(self, *_: object) -> None:
        raise BadRequest(f"line {self.parser.CurrentLineNumber}: a sitemap declares no entities")


def iter_sitemap(pieces: Iterable[bytes]) -> Iterator[SitemapEntry]:
    """Yields the entries of a sitemap as its bytes arrive. Errors: BadRequest with the line."""
    reading = _Reading()
    try:
        for piece in pieces:
            reading.parser.Parse(piece, False)
            ready, reading.ready = reading.ready, []
            yield from ready
        reading.parser.Parse(b"", True)
    except expat.ExpatError as exc:
        raise BadRequest(f"line {exc.lineno}, column {exc.offset + 1}: this is no XML: {expat.ErrorString(exc.code)}") from exc


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


def _read_entry(entry: SitemapEntry, place: str, is_file: Callable[[str], bool]) -> ReadRecord | str:
    """Returns a page, or the place of a further sitemap."""
    where = f"{place}, line {entry.line}"
    if not entry.url:
        return SkippedRecord(place=where, reason="<loc> is missing or empty")
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
