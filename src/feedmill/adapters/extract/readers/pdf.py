"""Reads PDF with pdfium, page by page, so that a document that takes too long is cut and the pages read so far count.

The library is not thread-safe and written in C++: it runs only here, in a worker process.
"""

import time
from itertools import islice

import pypdfium2
from pypdfium2 import PdfDocument, PdfiumError

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits

# The process is ended when all of the time is over, and the pages read until then would be lost.
_SHARE_OF_TIME = 0.7
_MAX_HEADINGS, _OUTLINE_DEPTH = 200, 4
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
        headings = _read_outline(document)
        pages, text, reason = _read_pages(document, deadline, limits.text_characters)
    finally:
        document.close()
    if reason is None and not text.strip():
        reason = "the PDF has no text, its pages are images" if pages else "the PDF has no pages"
    title = next((value for name, value in metadata if name == "Title"), None)
    return Content(text=text, title=title, metadata=metadata, headings=headings, reason=reason)


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


def _read_outline(document: PdfDocument) -> str:
    """Returns the titles of the outline that viewers show beside the pages. In most documents they are the headings."""
    try:
        return "\n".join(clean_line(mark.get_title(), 300) for mark in islice(document.get_toc(max_depth=_OUTLINE_DEPTH), _MAX_HEADINGS))
    except (PdfiumError, UnicodeDecodeError):
        return ""


def _read_pages(document: PdfDocument, deadline: float, limit: int) -> tuple[int, str, str | None]:
    count = len(document)
    parts: list[str] = []
    characters, broken = 0, 0
    for number in range(count):
        # At least one page is read, however late it is.
        if parts and (time.monotonic() > deadline or characters > limit):
            return count, "\n".join(parts), f"cut after page {number} of {count}"
        try:
            text = _read_page(document, number)
        except PdfiumError:
            broken += 1
            continue
        characters += len(text)
        parts.append(text)
    reason = f"{broken} of {count} pages cannot be read" if broken else None
    return count, "\n".join(parts), reason


def _read_page(document: PdfDocument, number: int) -> str:
    page = document[number]
    try:
        textpage = page.get_textpage()
        try:
            # pdfium marks a hyphen at the end of a line with U+FFFE or U+0002; the word goes on
            text: str = textpage.get_text_range(errors="ignore")
            return text.replace("\ufffe\r\n", "").replace("\x02\r\n", "").replace("\ufffe", "").replace("\r\n", "\n")
        finally:
            textpage.close()
    finally:
        page.close()


def warm_up() -> None:
    """Initializes the library before workers are forked."""
    pypdfium2.PdfDocument.new().close()
