"""Reads PDF with pdfium, page by page, so that a document that takes too long is cut and the pages read so far count.

The library is not thread-safe and written in C++: it runs only here, in a worker process.
"""

import time
from itertools import islice

import pypdfium2
from pypdfium2 import PdfBookmark, PdfDocument, PdfiumError

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.adapters.extract.readers.pdflines import OutlineTitle, arrange
from feedmill.adapters.extract.readers.pdflinks import list_page_links, mark_links
from feedmill.adapters.extract.readers.pdfsizes import Measure, measure_lines
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits, Link

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
        outline = _read_outline(document)
        links: list[Link] = []
        measures: list[list[Measure]] = []
        count, pages, reason = _read_pages(document, deadline, limits, links, measures, with_sizes=not outline)
    finally:
        document.close()
    if reason is None and not any(map(str.strip, pages)):
        reason = "the PDF has no text, its pages are images" if count else "the PDF has no pages"
    title = next((value for name, value in metadata if name == "Title"), None)
    arranged = arrange(pages, outline, measures)
    return Content(
        text=arranged.text,
        navigation=arranged.navigation,
        title=title or arranged.title,
        metadata=metadata,
        links=tuple(links),
        headings="\n".join(arranged.headings or (each.title for each in outline)),
        reason=reason,
    )


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


def _read_outline(document: PdfDocument) -> list[OutlineTitle]:
    """Returns the titles of the outline that viewers show beside the pages. In most documents they are the headings."""
    try:
        return list(map(_read_title, islice(document.get_toc(max_depth=_OUTLINE_DEPTH), _MAX_HEADINGS)))
    except (PdfiumError, UnicodeDecodeError):
        return []


def _read_title(bookmark: PdfBookmark) -> OutlineTitle:
    target = bookmark.get_dest()
    return OutlineTitle(clean_line(bookmark.get_title(), 300), bookmark.level, None if target is None else target.get_index())


def _read_pages(
    document: PdfDocument, deadline: float, limits: ExtractionLimits, links: list[Link], measures: list[list[Measure]], *, with_sizes: bool
) -> tuple[int, list[str], str | None]:
    """Returns the number of pages, the text of each, and what is missing of them.

    Shape: adds the links of the text in its order, and the measures of the lines of each page.
    """
    count = len(document)
    parts: list[str] = []
    characters, broken = 0, 0
    for number in range(count):
        # At least one page is read, however late it is.
        if parts and (time.monotonic() > deadline or characters > limits.text_characters):
            return count, parts, f"cut after page {number} of {count}"
        try:
            text, measured = _read_page(document, number, limits.links - len(links), links, with_sizes=with_sizes)
        except PdfiumError:
            broken += 1
            text, measured = "", []
        characters += len(text)
        parts.append(text)
        measures.append(measured)
    reason = f"{broken} of {count} pages cannot be read" if broken else None
    return count, parts, reason


def _read_page(document: PdfDocument, number: int, most_links: int, links: list[Link], *, with_sizes: bool) -> tuple[str, list[Measure]]:
    page = document[number]
    try:
        textpage = page.get_textpage()
        try:
            text: str = textpage.get_text_range(errors="ignore")
            measures = measure_lines(textpage, text, with_sizes=with_sizes)
            found = list_page_links(page, textpage, most_links)
            if found:
                text, of_page = mark_links(text, found)
                links += of_page
            # pdfium marks a hyphen at the end of a line with U+FFFE or U+0002; the word goes on
            text = text.replace("\ufffe\r\n", "").replace("\x02\r\n", "").replace("\ufffe", "").replace("\r\n", "\n").replace("\f", " ")
            return text, measures
        finally:
            textpage.close()
    finally:
        page.close()


def warm_up() -> None:
    """Initializes the library before workers are forked."""
    pypdfium2.PdfDocument.new().close()
