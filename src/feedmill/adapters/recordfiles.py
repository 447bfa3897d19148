"""Reads the files of other programs for ``make-feed``, compressed or not, sitemaps also over HTTP."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.http.client import ClientOptions, allow_all
from feedmill.model.errors import BadRequest

PIECE_BYTES: Final = 65_536
FETCH_SECONDS: Final = 120.0
MAX_REDIRECTS: Final = 5
MAX_LINE_CHARACTERS: Final = 64 << 20
MAX_SITEMAP_BYTES: Final = 52_428_800
"""The limit of sitemaps.org."""
_GZIP: Final = b"\x1f\x8b"


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Opens a file, unpacked if it is gzip. Errors: BadRequest for gzip that is damaged, OSError."""
    with path.open("rb") as raw:
        is_packed = raw.read(2) == _GZIP
        raw.seek(0)
        try:
            if is_packed:
                with gzip.open(raw) as unpacked:
                    yield io.BufferedReader(unpacked)
            else:
                yield raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
            raise BadRequest(f"{path}: the gzip data is damaged: {exc}") from exc


def iter_lines(stream: BinaryIO) -> Iterator[str]:
    """Yields lines with their ends, without a byte order mark: UTF-8, or UTF-16 if such a mark says so.

    Errors: BadRequest for a line that is too long or cannot be decoded.
    """
    beginning = stream.read(2)
    is_wide = beginning in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    stream.seek(0)
    with io.TextIOWrapper(stream, encoding="utf-16" if is_wide else "utf-8-sig", newline="") as text:
        number = 0
        try:
            while line := text.readline(MAX_LINE_CHARACTERS):
                number += 1
                if len(line) == MAX_LINE_CHARACTERS:
                    raise BadRequest(f"line {number} has more than {MAX_LINE_CHARACTERS} characters")
                yield line
        except UnicodeDecodeError as exc:
            raise BadRequest(f"after line {number}: this is no {'UTF-16' if is_wide else 'UTF-8'}: {exc.reason}") from exc


def iter_sitemap(place: str) -> Iterator[bytes]:
    """Yields the bytes at a path or a URL, unpacked. Errors: BadRequest, UpstreamFailure, OSError."""
    if "://" in place:
        client = BlockingHttpClient(ClientOptions(allows_private=allow_all, uses_environment_proxy=True, max_redirects=MAX_REDIRECTS))
        headers = {"Accept-Encoding": "gzip"}
        response = client.fetch("GET", place, headers=headers, max_bytes=MAX_SITEMAP_BYTES, seconds=FETCH_SECONDS).response
        if response.status != 200:
            raise BadRequest(f"the server answers with status {response.status}")
        packed = io.BytesIO(response.body)
        yield from _iter_bounded(gzip.GzipFile(fileobj=packed) if response.body.startswith(_GZIP) else packed)
        return
    with open_unpacked(Path(place)) as stream:
        yield from _iter_bounded(stream)


def _iter_bounded(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    size = 0
    try:
        while piece := stream.read(PIECE_BYTES):
            size += len(piece)
            if size > MAX_SITEMAP_BYTES:
                raise BadRequest(f"a sitemap has at most {MAX_SITEMAP_BYTES} bytes")
            yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
        raise BadRequest(f"the gzip data is damaged: {exc}") from exc
