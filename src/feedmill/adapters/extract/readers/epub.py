"""Reads EPUB: the pages of a book in the order of its spine, each as a page of HTML, and its contents as navigation.

A book without a usable package document is read as the pages that are in its file, in order of their names. Source: EPUB 3.3, sections
5.6 to 5.8 and 7; OPF 2.0.1, section 2.6.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from lxml import etree

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.adapters.extract.readers.html import read_html
from feedmill.adapters.extract.readers.officexml import find_title, parse_optional_part
from feedmill.adapters.extract.readers.zips import ZipArchive
from feedmill.adapters.extract.structure import mark, without_structure
from feedmill.core.text.structure import Kind
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits, Link

# as in ``pdf``: the process is ended when all of the time is over
_SHARE_OF_TIME = 0.7
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PROPERTIES = {
    "title": "title", "creator": "author", "subject": "subject", "description": "description", "publisher": "publisher", "date": "date",
}  # fmt: skip
_PAGE_TYPES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_PAGE_NAME = re.compile(r".+\.x?html?", re.IGNORECASE)
# in XML any element may end itself; to a parser of HTML what follows such a ``title`` or ``script`` would be its text
_ENDED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)[\s/])([A-Za-z][A-Za-z0-9:-]{0,40})(\s[^<>]*)?/>"
)
_LINK = mark(Kind.LINK)
_NOWHERE = "#"
_REASONS_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Book:
    """What the package document says. Shape: names of files in the container; the pages, also those of the contents, are in order."""

    pages: Sequence[str]
    contents: frozenset[str] = frozenset()
    metadata: Metadata = ()
    reason: str | None = None


def read_epub(data: bytes, limits: ExtractionLimits) -> Content:
    """Reads a book. Errors: Unreadable."""
    deadline = time.monotonic() + limits.seconds * _SHARE_OF_TIME
    container = ZipArchive(data)
    book = _read_package(container)
    encrypted = frozenset(_iter_encrypted(container))
    if encrypted.issuperset(book.pages):
        raise Unreadable("the book is encrypted")
    texts: list[str] = []
    navigation: list[str] = []
    headings: list[str] = []
    links: list[Link] = []
    reasons = [book.reason] if book.reason else []
    characters = 0
    for number, name in enumerate(book.pages):
        if texts and (time.monotonic() > deadline or characters > limits.text_characters):
            reasons.append(f"cut after page {number} of {len(book.pages)}")
            break
        if name in encrypted:
            reasons.append(f"page {name[:80]} is encrypted")
            continue
        try:
            page = _read_page(container, name, replace(limits, links=limits.links - len(links)))
        except Unreadable as exc:
            reasons.append(str(exc))
            continue
        characters += len(page.text) + len(page.navigation)
        reasons += [page.reason] if page.reason else []
        if name in book.contents:
            navigation += [without_structure(page.text), page.navigation]
            continue
        texts.append(page.text)
        navigation.append(page.navigation)
        headings.append(page.headings)
        links += _tell_links(page)
    return Content(
        text="\n".join(texts),
        navigation="\n".join(filter(None, navigation)),
        title=find_title(book.metadata),
        metadata=book.metadata,
        links=tuple(links),
        headings="\n".join(filter(None, headings)),
        reason="; ".join(reasons[:_REASONS_SHOWN]) or None,
    )


def _read_page(container: ZipArchive, name: str, limits: ExtractionLimits) -> Content:
    """Reads one page. Errors: Unreadable if its bytes are damaged."""
    source = decode(container.read(name) or b"", None, is_markup=True)
    return read_html(_ENDED.sub(r"<\1\2></\1>", source), name, limits)


def _tell_links(page: Content) -> Iterator[Link]:
    """Yields the links that are marked in the text of a page. Those to other pages of the book lead to no document."""
    for link in page.links[: page.text.count(_LINK)]:
        yield link if "://" in link.url[:20] else Link(_NOWHERE, link.text)


# --- the package ----------------------------------------------------------------------------------------------------------------


def _read_package(container: ZipArchive) -> _Book:
    name = _find_package(container)
    root = parse_optional_part(container, name) if name is not None else None
    if name is None or root is None:
        return _guess(container)
    known = frozenset(container.names)
    items = {node.get("id") or "": node for node in root.iterfind("{*}manifest/{*}item")}
    names = {key: _resolve(name, node.get("href") or "") for key, node in items.items()}
    spine = [key for key in (node.get("idref") or "" for node in root.iterfind("{*}spine/{*}itemref")) if names.get(key) in known]
    pages = [names[key] for key in spine if _is_page(items[key], names[key])]
    if not pages:
        return _guess(container, _read_metadata(root))
    contents = known.intersection(names[key] for key, node in items.items() if "nav" in (node.get("properties") or "").split())
    contents |= known.intersection(_resolve(name, href) for href in _iter_guided(root))
    return _Book(pages=list(dict.fromkeys([*pages, *sorted(contents)])), contents=contents, metadata=_read_metadata(root))


def _iter_guided(root: etree._Element) -> Iterator[str]:
    """Yields the addresses of whole pages that the guide of an older book calls its contents."""
    for node in root.iterfind("{*}guide/{*}reference"):
        href = node.get("href") or ""
        if (node.get("type") or "").lower() == "toc" and "#" not in href:
            yield href


def _find_package(container: ZipArchive) -> str | None:
    """Returns the name of the package document."""
    root = parse_optional_part(container, _CONTAINER)
    found = (node.get("full-path") or "" for node in root.iterfind("{*}rootfiles/{*}rootfile")) if root is not None else ()
    return next((name for name in found if name), None) or next((name for name in container.names if name.endswith(".opf")), None)


def _guess(container: ZipArchive, metadata: Metadata = ()) -> _Book:
    """Returns a book whose spine is not known."""
    pages = sorted(name for name in container.names if _PAGE_NAME.fullmatch(name))
    if not pages:
        raise Unreadable("the book is damaged: it has no pages")
    return _Book(pages=pages, metadata=metadata, reason="the order of the pages is not known, the package document of the book is damaged")


def _resolve(package: str, href: str) -> str:
    """Returns the name of a file to which the package document refers."""
    return normpath(join(dirname(package), unquote(href.partition("#")[0])))


def _is_page(item: etree._Element, name: str) -> bool:
    return (item.get("media-type") or "").lower() in _PAGE_TYPES or _PAGE_NAME.fullmatch(name) is not None


def _read_metadata(root: etree._Element) -> Metadata:
    found: list[tuple[str, str]] = []
    for node in root.iterfind("{*}metadata//{http://purl.org/dc/elements/1.1/}*"):
        label = _PROPERTIES.get(etree.QName(node).localname)
        if label and (value := clean_line("".join(map(str, node.itertext())), 4_000)):
            found.append((label, value))
    return tuple(found)


def _iter_encrypted(container: ZipArchive) -> Iterator[str]:
    """Yields the names of encrypted files. Most books encrypt only fonts."""
    root = parse_optional_part(container, _ENCRYPTION)
    for node in root.iter("{*}CipherReference") if root is not None else ():
        yield normpath(unquote(node.get("URI") or ""))
