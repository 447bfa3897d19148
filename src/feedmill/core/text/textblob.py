"""The storage format of an extracted text: one blob with its links, headings and structure.

line 1      absolute URLs of the links, separated by tabs
line 2      their anchor texts, in the same order; then, if there are headings or a structure, a unit separator (U+001F) and the headings,
            with tabs for newlines; then, if there is one, a unit separator and the structure of the main text (``structure``)
the rest    the text in UTF-8, and after a marker character the navigation of the page if there is any; a passage that is searched but
            never quoted is enclosed by two marker characters
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from feedmill.model.errors import Corrupt
from feedmill.model.extraction import Link

# noncharacters, which Unicode reserves for internal use, so that no text needs them
UNQUOTED, QUOTED = "\ufdd0", "\ufdd1"
"""The markers for the beginning and the end of a passage that is never quoted."""

_NAVIGATION = "\ufdd2"
"""The marker between the main text and the navigation."""

MARKERS = UNQUOTED + QUOTED + _NAVIGATION
"""All markers. They are no part of the text that is read."""

_MARKS = (UNQUOTED.encode(), QUOTED.encode())
_BETWEEN = _NAVIGATION.encode()
_LEAD = _BETWEEN[:1]
"""The first byte of every marker. A single byte is looked for thirty times as fast as a marker, and most texts have none."""

_PASSAGE = re.compile(f"{UNQUOTED}[^{QUOTED}]*{QUOTED}?")
_APART = str.maketrans("\t\n\x1f", "   ")


Range = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotableText:
    """A whole text, and which ranges of it may be quoted: of its main text, and of the navigation of its page. Units: characters."""

    text: str
    main: tuple[Range, ...] = ()
    navigation: tuple[Range, ...] = ()


def encode_text(text: str, links: Sequence[Link], headings: str = "", navigation: str = "", structure: str = "") -> bytes:
    """Returns the bytes that store a text, its links, its headings and its structure, and the navigation of its page."""
    anchors = _join([link.text for link in links])
    if headings or structure:
        anchors += "\x1f" + headings.replace("\n", "\t")
    if structure:
        anchors += "\x1f" + structure
    if _NAVIGATION in text:
        text = text.replace(_NAVIGATION, "")
    if navigation:
        text += _NAVIGATION + navigation.replace(_NAVIGATION, "")
    return "\n".join((_join([link.url for link in links]), anchors, text)).encode("utf-8", "ignore")


def without_markers(text: str) -> str:
    """Returns a text without all markers."""
    for marker in MARKERS:
        text = text.replace(marker, "")
    return text


def decode_text(data: bytes) -> str:
    """Returns the whole text: the main text, then the navigation. Errors: Corrupt."""
    main, navigation = decode_main_and_navigation(data)
    return f"{main}\n{navigation}" if main and navigation else main or navigation


def decode_whole(data: bytes) -> QuotableText:
    """Returns the text that ``decode_text`` returns, and what of it may be quoted. Errors: Corrupt."""
    main, navigation = (part.decode("utf-8", "replace") for part in _split(data))
    pieces = list(_iter_pieces(main))
    main_ranges = tuple(_place(pieces, 0))
    text = "".join(piece for piece, _ in pieces)
    pieces = list(_iter_pieces(navigation))
    beside = "".join(piece for piece, _ in pieces)
    between = "\n" if text and beside else ""
    ranges = tuple(_place(pieces, len(text) + len(between)))
    return QuotableText(text=text + between + beside, main=main_ranges, navigation=ranges)


def _iter_pieces(marked: str) -> Iterable[tuple[str, bool]]:
    """Yields the pieces of a text without their markers, and whether each may be quoted."""
    end = 0
    for passage in _PASSAGE.finditer(marked):
        yield marked[end : passage.start()].replace(QUOTED, ""), True
        yield passage[0].replace(UNQUOTED, "").replace(QUOTED, ""), False
        end = passage.end()
    yield marked[end:].replace(QUOTED, ""), True


def _place(pieces: Iterable[tuple[str, bool]], start: int) -> Iterable[Range]:
    for piece, is_quotable in pieces:
        if is_quotable and piece:
            yield start, start + len(piece)
        start += len(piece)


def decode_main_and_navigation(data: bytes) -> tuple[str, str]:
    """Returns the text without the navigation of its page, and that navigation. Errors: Corrupt."""
    main, navigation = _split(data)
    return _drop_marks(main), _drop_marks(navigation)


def decode_main_text(data: bytes) -> str:
    """Returns the text without the navigation of its page. Errors: Corrupt."""
    return _drop_marks(_split(data)[0])


def decode_quotable_text(data: bytes) -> str:
    """Returns the main text without the passages that are never quoted. Errors: Corrupt."""
    return _drop_unquoted(_split(data)[0])


def decode_quotable_navigation(data: bytes) -> str:
    """Returns the navigation without the passages that are never quoted. Errors: Corrupt."""
    return _drop_unquoted(_split(data)[1])


def _split(data: bytes) -> tuple[bytes, bytes]:
    stored = data[_find_end(data, _find_end(data)) :]
    # The marker stands once at most, and mostly near the end, where a search from there finds it in a fifth of the time.
    main, between, navigation = stored.rpartition(_BETWEEN)
    return (main, navigation) if between else (stored, b"")


def _drop_marks(text: bytes) -> str:
    if _LEAD in text:
        for mark in _MARKS:
            text = text.replace(mark, b"")
    return text.decode("utf-8", "replace")


def _drop_unquoted(text: bytes) -> str:
    if _LEAD not in text or _MARKS[0] not in text:
        return text.decode("utf-8", "replace")
    return _PASSAGE.sub(" ", text.decode("utf-8", "replace")).replace(QUOTED, "")


def decode_link_urls(data: bytes) -> list[str]:
    """Returns the URLs of the links. Errors: Corrupt."""
    return _split_urls(data[: _find_end(data) - 1])


def decode_link_texts(data: bytes) -> list[str]:
    """Returns the anchor texts of the links, in their order. Errors: Corrupt."""
    end = _find_end(data)
    return data[end : _find_end(data, end) - 1].partition(b"\x1f")[0].decode("utf-8", "replace").split("\t")


def decode_links(data: bytes) -> list[Link]:
    """Returns the links. Errors: Corrupt."""
    return list(map(Link, decode_link_urls(data), decode_link_texts(data)))


def decode_headings(data: bytes) -> str:
    """Returns the headings, each on its lines. Errors: Corrupt."""
    return _decode_part(data, 1).replace("\t", "\n")


def decode_stored_structure(data: bytes) -> str:
    """Returns the structure of the main text in its storage format, "" if there is none. Errors: Corrupt."""
    return _decode_part(data, 2)


def _decode_part(data: bytes, number: int) -> str:
    """Returns a part of the line of the anchor texts, "" if there is none."""
    start = _find_end(data)
    parts = data[start : _find_end(data, start) - 1].split(b"\x1f", 2)
    return parts[number].decode("utf-8", "replace") if number < len(parts) else ""


def _join(parts: Sequence[str]) -> str:
    joined = "\t".join(parts)
    # Counting is faster than translating each part, and hardly any part contains a separator.
    if joined.count("\t") >= max(len(parts), 1) or "\n" in joined or "\x1f" in joined:
        return "\t".join(part.translate(_APART) for part in parts)
    return joined


def _split_urls(urls: bytes) -> list[str]:
    return urls.decode("utf-8", "replace").split("\t") if urls else []


def _find_end(data: bytes, start: int = 0) -> int:
    """Returns the position after the next line end. Errors: Corrupt."""
    end = data.find(b"\n", start)
    if end < 0:
        raise Corrupt("a stored text lacks a line of its links; extract the document again")
    return end + 1
