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
from feedmill.adapters.extract.readers.pdflinks import LINK, list_page_links, mark_links
from feedmill.adapters.extract.structure import END, mark, mark_heading, without_structure
from feedmill.core.text.structure import Kind
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits, Link

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
        links: list[Link] = []
        pages, text, reason = _read_pages(document, deadline, limits, links)
    finally:
        document.close()
    if reason is None and not text.strip():
        reason = "the PDF has no text, its pages are images" if pages else "the PDF has no pages"
    title = next((value for name, value in metadata if name == "Title"), None)
    headings = "\n".join(title for title, _ in outline)
    marked = _mark_lines(text, dict(reversed(outline)))
    return Content(text=marked, title=title, metadata=metadata, links=tuple(links), headings=headings, reason=reason)


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
    plain = list(map(without_structure, lines)) if LINK in text else lines
    lengths = sorted(map(len, plain))
    usual = lengths[len(lengths) * 7 // 8]
    marked: list[str] = []
    is_open = False
    for whole, (line, following) in zip(lines, pairwise([*plain, ""]), strict=True):
        heading = levels.get(line, levels.get(_NUMBER.sub("", line))) if levels else None
        if heading is not None:
            marked.append(f"{END if is_open else ''}{mark_heading(heading + 1)}{whole}{END}")
            is_open = False
            continue
        is_joined = _goes_on(line, following, usual)
        marked.append(f"{_JOINED if is_joined and not is_open else ''}{whole}{END if is_open and not is_joined else ''}")
        is_open = is_joined
    return "\n".join(marked)


def _goes_on(line: str, following: str, usual: int) -> bool:
    """Returns whether the paragraph of a line goes on: if the line is nearly as long as most, or the next begins with a small letter."""
    if not following or len(line) < _LEAST_CHARACTERS or _LEADERS.search(line):
        return False
    return len(line) >= _FULL * usual or (following[0].islower() and len(line) >= usual / 2)


def _read_pages(document: PdfDocument, deadline: float, limits: ExtractionLimits, links: list[Link]) -> tuple[int, str, str | None]:
    """Returns the number of pages, their text and what is missing of it. Shape: adds the links of the text in its order."""
    count = len(document)
    parts: list[str] = []
    characters, broken = 0, 0
    for number in range(count):
        # At least one page is read, however late it is.
        if parts and (time.monotonic() > deadline or characters > limits.text_characters):
            return count, _PAGE.join(parts), f"cut after page {number} of {count}"
        try:
            text = _read_page(document, number, limits.links - len(links), links)
        except PdfiumError:
            broken += 1
            continue
        characters += len(text)
        parts.append(text)
    reason = f"{broken} of {count} pages cannot be read" if broken else None
    return count, _PAGE.join(parts), reason


def _read_page(document: PdfDocument, number: int, most_links: int, links: list[Link]) -> str:
    page = document[number]
    try:
        textpage = page.get_textpage()
        try:
            text: str = textpage.get_text_range(errors="ignore")
            found = list_page_links(page, textpage, most_links)
            if found:
                text, of_page = mark_links(text, found)
                links += of_page
            # pdfium marks a hyphen at the end of a line with U+FFFE or U+0002; the word goes on
            return text.replace("\ufffe\r\n", "").replace("\x02\r\n", "").replace("\ufffe", "").replace("\r\n", "\n").replace("\f", " ")
        finally:
            textpage.close()
    finally:
        page.close()


def warm_up() -> None:
    """Initializes the library before workers are forked."""
    pypdfium2.PdfDocument.new().close()
