"""Reads documents apart from the server, and only as far as there is no doubt: the words that a search must find them by.

A word counts only where it stands between blanks, in one piece of text, in a charset that is certain; so nothing here has to know how the
server takes words apart.
"""

import codecs
import io
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser

import pypdfium2

MOST_CHARACTERS = 1_000_000
"""Words behind are not searched: the server reads more, but how far depends on the format."""

_EDGES = '.,;:!?()[]{}"«»„“”‘…*|'
_WORD = re.compile(r"[^\W\d_]{5,24}")
_HAN = re.compile(r"[぀-ヿ一-鿿]{4,10}")
_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "HANGUL SYLLABLE", "ARMENIAN", "GEORGIAN", "ETHIOPIC")
_ASCII_WORD = re.compile(r"[A-Za-z]{5,24}")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_HTML_START = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--.*?-->\s*)*)(?:<!DOCTYPE\s+html\b|<html\b)", re.IGNORECASE | re.DOTALL)
_MANUAL_START = re.compile(r"\s*(?:[.']\s*\\[\"#]|\.TH\s+\S+\s+\S|\.Dd\s)")
_UNREAD_TAGS = {
    "script",
    "style",
    "noscript",
    "template",
    "iframe",
    "object",
    "head",
    "select",
    "svg",
    "math",
    "noframes",
    "textarea",
    "title",
}
_VOID_TAGS = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
_MARKUP = re.compile(r"<[^>]*>")
_XML_PARTS = {"content.xml", "word/document.xml"}


def is_text(data: bytes) -> bool:
    """Whether bytes are a text beyond doubt: no control characters but those of lines and pages, or a byte order mark."""
    if any(data.startswith(mark) for mark, _ in _BOMS):
        return True
    return not re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", data) and not data.startswith(b"%PDF")


def is_html(data: bytes) -> bool:
    """Whether bytes begin as a page does."""
    return is_text(data) and _HTML_START.match(data[:5_000]) is not None


def words_of(data: bytes) -> set[str]:
    """Returns the words that a document must be found by; none where the format is beyond this reader."""
    if data.startswith(b"%PDF"):
        return set(_words(_pdf_text(data)))
    if data.startswith(b"PK\x03\x04"):
        return set(_words(_zip_text(data)))
    if not is_text(data):
        return set()
    text, certain = _decode(data)
    text = text[:MOST_CHARACTERS]
    if _MANUAL_START.match(text):
        text = _manual_text(text)
        return set(_words(text) if certain else _ascii_words(text))
    if not is_html(data):
        if re.match(r"\s*<(?:\?xml|!DOCTYPE|!--|[A-Za-z])", text):
            text = _MARKUP.sub("  ", re.sub(r"(?s)<!--.*?-->|<!\[CDATA\[.*?\]\]>|<!.*", " ", text)) if "<!ENTITY" not in text else ""
        return set(_words(text) if certain else _ascii_words(text))
    page = _Page()
    page.feed(text)
    return {word for piece in page.pieces for word in (_words(piece) if certain else _ascii_words(piece))}


def _decode(data: bytes) -> tuple[str, bool]:
    """Returns the text, and whether its charset is certain: beyond ASCII only UTF is."""
    for mark, charset in _BOMS:
        if data.startswith(mark):
            return data.decode(charset, "replace"), True
    try:
        return data.decode(), True
    except UnicodeDecodeError:
        return data.decode("latin-1"), False


def _words(text: str) -> Iterator[str]:
    for run in text.split():
        word = run.strip(_EDGES)
        if _WORD.fullmatch(word):
            if _HAN.fullmatch(word):
                yield word
            elif all(unicodedata.name(letter, "").startswith(_SCRIPTS) for letter in word):
                yield word.lower()


def _ascii_words(text: str) -> Iterator[str]:
    """Words between blanks whose neighbours are ASCII too: bytes of other charsets may look like letters."""
    for line in re.split(r"[\r\n]+", text):
        if line.isascii():
            yield from (word.lower() for word in (run.strip(_EDGES) for run in line.split()) if _ASCII_WORD.fullmatch(word))


def _pdf_text(data: bytes) -> str:
    """Returns the text of the first pages."""
    try:
        with pypdfium2.PdfDocument(data) as document:
            return "\n".join(document[number].get_textpage().get_text_range() for number in range(min(len(document), 20)))
    except pypdfium2.PdfiumError:
        return ""


def _manual_text(text: str) -> str:
    """Returns the lines of a manual page that are neither requests nor in definitions, tables or formulas, and have no escapes."""
    kept, is_inside = list[str](), False
    for line in text.partition("\n.S")[2].split("\n"):
        if re.match(r"[.']\s*(?:de|ig|am|EQ|TS)\b", line):
            is_inside = True
        elif line.startswith(("..", ".TE", ".EN")):
            is_inside = False
        elif not is_inside and line[:1] not in (".", "'") and "\\" not in line:
            kept.append(line)
    # the rest of the first request is no line of text
    return "\n".join(kept[1:])


def _zip_text(data: bytes) -> str:
    """Returns the text of paragraphs of OpenDocument and DOCX."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = [archive.read(name).decode() for name in archive.namelist() if name in _XML_PARTS]
    except (zipfile.BadZipFile, UnicodeDecodeError, OSError, RuntimeError, NotImplementedError):
        return ""
    paragraphs = [body for part in parts for body in re.findall(r"<(?:text|w):p[ >][^<]*(.*?)</(?:text|w):p>", part, re.DOTALL)]
    return "\n".join(_MARKUP.sub("", each) for each in paragraphs if "&" not in each and "<text:tracked" not in each)


class _Page(HTMLParser):
    """Gathers pieces of text that stand in plain sight; a piece ends at each tag, and words at its edges do not count."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.pieces: list[str] = []
        self._unread: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name: value or "" for name, value in attrs}
        hides = tag in _UNREAD_TAGS or "hidden" in names or "display" in names.get("style", "") or "aria-hidden" in names
        if tag not in _VOID_TAGS and (self._unread or hides):
            self._unread.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unread:
            while self._unread.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._unread:
            # what touches a tag may be one word with what stands behind it
            whole = re.search(r"\s(.*)\s", data, re.DOTALL)
            if whole:
                self.pieces.append(f" {whole[1]} ")
