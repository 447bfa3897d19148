"""Finds the links of a PDF page in its text: rectangles on the page whose action opens a URL.

A link on two lines is two rectangles. The text of a rectangle is searched for in the text of the page, behind that of the link before it,
since programs write links in the order of the text; else from the beginning. A rectangle without a text of its own is no link here.
Source: ISO 32000-1, 12.5.6.5 and 12.6.4.7.
"""

import ctypes
from collections.abc import Sequence

from pypdfium2 import PdfPage, PdfTextPage, raw

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.structure import END, SIGN, mark
from feedmill.core.text.structure import Kind
from feedmill.model.extraction import Link

MAX_LINKS_ON_PAGE = 300
"""The text of each takes a look at the whole page."""

_URL_BYTES = 2_048
_TEXT_CHARACTERS = 300
LINK = mark(Kind.LINK)


def list_page_links(page: PdfPage, textpage: PdfTextPage, most: int) -> list[tuple[str, str]]:
    """Returns the texts of the links of a page, each with its URL, in the order of the page's annotations."""
    found: list[tuple[str, str]] = []
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(min(most, MAX_LINKS_ON_PAGE)):
        if not raw.FPDFLink_Enumerate(page.raw, position, link):
            break
        url = _read_url(page, link)
        if url and (text := _read_text(textpage, link)):
            found.append((text, url))
    return found


def mark_links(text: str, found: Sequence[tuple[str, str]]) -> tuple[str, list[Link]]:
    """Returns the text of a page with the marks of its links, and these links in the order of the text."""
    places: list[tuple[int, int, str]] = []
    last = 0
    for words, url in found:
        place = text.find(words, last)
        if place < 0:
            place = text.find(words)
        if place >= 0:
            last = place + len(words)
            places.append((place, last, url))
    parts: list[str] = []
    links: list[Link] = []
    end = 0
    for first, behind, url in sorted(places):
        if first < end or SIGN in text[first:behind]:
            continue
        parts += (text[end:first], LINK, text[first:behind], END)
        links.append(Link(url=url, text=clean_line(text[first:behind], _TEXT_CHARACTERS)))
        end = behind
    return "".join([*parts, text[end:]]), links


def _read_url(page: PdfPage, link: raw.FPDF_LINK) -> str:
    action = raw.FPDFLink_GetAction(link)
    if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
        return ""
    buffer = ctypes.create_string_buffer(_URL_BYTES)
    size = raw.FPDFAction_GetURIPath(page.pdf.raw, action, buffer, _URL_BYTES)
    return buffer.value.decode("utf-8", "replace").strip() if 1 < size <= _URL_BYTES else ""


def _read_text(textpage: PdfTextPage, link: raw.FPDF_LINK) -> str:
    """Returns the words in the rectangle of a link, "" if they are none, or more than a line."""
    area = raw.FS_RECTF()
    if not raw.FPDFLink_GetAnnotRect(link, area):
        return ""
    text: str = textpage.get_text_bounded(area.left, area.bottom, area.right, area.top, errors="ignore").strip()
    return text if len(text) <= _TEXT_CHARACTERS and not {"\n", "\r"} & set(text) else ""
