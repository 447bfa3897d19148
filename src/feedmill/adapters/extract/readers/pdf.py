"""Reads PDF with pdfium, page by page, so that a document that takes too long is cut and the pages read so far count.

The library is not thread-safe and written in C++: it runs only here, in a worker process.
"""

import re
import time
from collections.abc import Mapping
from itertools import islice, pairwise

import pypdfium2
from pypdfium2 import PdfDocument, PdfiumError

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.adapters.extract.structure import END, mark, mark_heading
from feedmill.core.text.structure import Kind
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits

# The process is ended when all of the time is over, and the pages read until then would be lost.
_SHARE_OF_TIME = 0.7
_MAX_HEADINGS, _OUTLINE_DEPTH = 200, 4
_JOINED = mark(Kind.JOINED)
_NUMBER = re.compile(r"\A(?:\d{1,3}\.)*\d{1,3}\.?\s+")
# white space, as the text of no page has it
_PAGE = "\n\f"
_FULL, _LEAST_CHARACTERS = 0.85, 30
# the dots between an entry of a table of contents and its page
_LEADERS = re.compile(r"(?:\. ?){4}")
_NAMES = ("Title", "Author", "Subject", "Keywords", "Creator", "CreationDate", "ModDate")


def read_pdf(data: bytes, limits: ExtractionLimits) -> Content:
    """Reads a PDF. Errors: Unreadable if it is damaged or needs a password."""
    deadline = time.monotonic() + limits.seconds * _SHARE_OF_TIME
    try:
        document = PdfDocument(data)
    except PdfiumError as exc:
        raise Unreadable(_explain(exc)) from exc
    try:
        metadata = _read_metadata(document)
        outline = _read_outline(document)
        pages, text, reason = _read_pages(document, deadline, limits.text_characters)
    finally:
        document.close()
    if reason is None and not text.strip():
        reason = "the PDF has no text, its pages are images" if pages else "the PDF has no pages"
    title = next((value for name, value in metadata if name == "Title"), None)
    headings = "\n".join(title for title, _ in outline)
    return Content(text=_mark_lines(text, dict(reversed(outline))), title=title, metadata=metadata, headings=headings, reason=reason)


def _explain(exc: PdfiumError) -> str:
    message = str(exc).lower()
    if "password" in message or "security" in message:
        return "the PDF is encrypted and needs a password"
    return "the PDF is damaged or incomplete"


def _read_metadata(document: PdfDocument) -> Metadata:
    found = []
    for name in _NAMES:
        try:
            value = clean_line(document.get_metadata_value(name))
        except (PdfiumError, UnicodeDecodeError):
            continue
        if value:
            found.append((name, value))
    return tuple(found)


def _read_outline(document: PdfDocument) -> list[tuple[str, int]]:
    """Returns the titles of the outline that viewers show beside the pages, with their levels. In most documents they are the headings."""
    try:
        marks = islice(document.get_toc(max_depth=_OUTLINE_DEPTH), _MAX_HEADINGS)
        return [(clean_line(each.get_title(), 300), each.level) for each in marks]
    except (PdfiumError, UnicodeDecodeError):
        return []


def _mark_lines(text: str, levels: Mapping[str, int]) -> str:
    """Marks headings, and lines that are one paragraph. Shape: the levels of headings, from 0, by their titles."""
    return _PAGE.join(_mark_page(page, levels) for page in text.split(_PAGE))


def _mark_page(text: str, levels: Mapping[str, int]) -> str:
    lines = [line.strip() for line in text.split("\n")]
    lengths = sorted(map(len, lines))
    usual = lengths[len(lengths) * 7 // 8]
    marked: list[str] = []
    is_open = False
    for line, following in pairwise([*lines, ""]):
        heading = levels.get(line, levels.get(_NUMBER.sub("", line))) if levels else None
        if heading is not None:
            marked.append(f"{END if is_open else ''}{mark_heading(heading + 1)}{line}{END}")
            is_open = False
            continue
        is_joined = _goes_on(line, following, usual)
        marked.append(f"{_JOINED if is_joined and not is_open else ''}{line}{END if is_open and not is_joined else ''}")
        is_open = is_joined
    return "\n".join(marked)


def _goes_on(line: str, following: str, usual: int) -> bool:
    """Returns whether the paragraph of a line goes on: if the line is nearly as long as most, or the next begins with a small letter."""
    if not following or len(line) < _LEAST_CHARACTERS or _LEADERS.search(line):
        return False
    return len(line) >= _FULL * usual or (following[0].islower() and len(line) >= usual / 2)


def _read_pages(document: PdfDocument, deadline: float, limit: int) -> tuple[int, str, str | None]:
    count = len(document)
    parts: list[str] = []
    characters, broken = 0, 0
    for number in range(count):
        # At least one page is read, however late it is.
        if parts and (time.monotonic() > deadline or characters > limit):
            return count, _PAGE.join(parts), f"cut after page {number} of {count}"
        try:
            text = _read_page(document, number)
        except PdfiumError:
            broken += 1
            continue
        characters += len(text)
        parts.append(text)
    reason = f"{broken} of {count} pages cannot be read" if broken else None
    return count, _PAGE.join(parts), reason


def _read_page(document: PdfDocument, number: int) -> str:
    page = document[number]
    try:
        textpage = page.get_textpage()
        try:
            # pdfium marks a hyphen at the end of a line with U+FFFE or U+0002; the word goes on
            text: str = textpage.get_text_range(errors="ignore")
            return text.replace("\ufffe\r\n", "").replace("\x02\r\n", "").replace("\ufffe", "").replace("\r\n", "\n").replace("\f", " ")
        finally:
            textpage.close()
    finally:
        page.close()


def warm_up() -> None:
    """Initializes the library before workers are forked."""
    pypdfium2.PdfDocument.new().close()
