"""Reads DOCX and PPTX: body, nested tables, headers, footers, comments, notes, text boxes, properties.

Text is read from every visible part, by its place in the container, not by walking relationships. A broken relationship
therefore loses nothing. Source: ECMA-376 part 1, sections 11 and 13.
"""

import re
from collections.abc import Callable, Iterable
from itertools import islice

from lxml import etree

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.adapters.extract.readers.officeheadings import (
    MAX_HEADINGS,
    drop_numbers,
    iter_slide_titles,
    list_headings,
    read_heading_styles,
)
from feedmill.adapters.extract.readers.officestructure import SlideMarker, WordMarker
from feedmill.adapters.extract.readers.officexml import (
    collect_text,
    find_title,
    parse_optional_part,
    parse_part,
    read_properties,
    split_contents,
)
from feedmill.adapters.extract.readers.zips import ZipArchive
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
# Older programs read this element instead of its neighbour, the choice. Both hold the same text box, which counts once.
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PLACES = (
    "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}positionH",
    "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}positionV",
    "{http://schemas.microsoft.com/office/word/2010/wordprocessingDrawing}sizeRelH",
    "{http://schemas.microsoft.com/office/word/2010/wordprocessingDrawing}sizeRelV",
)
_PROPERTIES = {
    "title": "title", "creator": "author", "subject": "subject", "keywords": "keywords", "description": "description",
    "lastModifiedBy": "last-modified-by", "category": "category", "Company": "company", "Manager": "manager",
}  # fmt: skip
_WORD_PARTS = re.compile(r"word/(document\d*|header\d*|footer\d*|comments|footnotes|endnotes)\.xml$")
_WORD_ORDER = {"document": 0, "header": 1, "footer": 2, "footnotes": 3, "endnotes": 4, "comments": 5}
_SLIDE_PARTS = re.compile(r"ppt/(slides/slide|notesSlides/notesSlide|comments/(?:modernC|c)omment\w*?|diagrams/data)(\d*)\.xml$")


def read_docx(data: bytes, limits: ExtractionLimits) -> Content:
    """Reads a Word document. Errors: Unreadable."""
    container = ZipArchive(data)
    parts = sorted((name for name in container.names if _WORD_PARTS.match(name)), key=_word_order)
    breaks = (f"{_W}p", f"{_W}tc", f"{_W}br", f"{_W}cr", f"{_A}p")
    # Field codes, text that was deleted while changes were tracked, and the places of drawings: the document does not show them.
    skip = (f"{_W}instrText", f"{_W}delText", f"{_W}fldData", _FALLBACK, *_PLACES)
    blanks = (f"{_W}tab", f"{_W}noBreakHyphen")
    styles = parse_optional_part(container, "word/styles.xml")
    levels = read_heading_styles(styles)
    marker = WordMarker(levels, styles, parse_optional_part(container, "word/numbering.xml"), limits.links)
    return _assemble(
        container, parts, limits, marker, breaks=breaks, blanks=blanks, skip=skip, find_headings=lambda root: list_headings(root, levels)
    )


def read_pptx(data: bytes, limits: ExtractionLimits) -> Content:
    """Reads a presentation: slides in order, and their notes after all slides. Errors: Unreadable."""
    container = ZipArchive(data)
    parts = sorted((name for name in container.names if _SLIDE_PARTS.match(name)), key=_slide_order)
    breaks, skip = (f"{_A}p", f"{_A}br", "{*}text"), (_FALLBACK,)
    blanks = (f"{_A}tab",)
    return _assemble(
        container, parts, limits, SlideMarker(limits.links), breaks=breaks, blanks=blanks, skip=skip, find_headings=iter_slide_titles
    )


def _assemble(
    container: ZipArchive,
    names: list[str],
    limits: ExtractionLimits,
    marker: WordMarker | SlideMarker,
    *,
    breaks: tuple[str, ...],
    blanks: tuple[str, ...],
    skip: tuple[str, ...],
    find_headings: Callable[[etree._Element], Iterable[etree._Element]],
) -> Content:
    metadata = read_office_metadata(container)
    texts: list[str] = []
    headings: list[str] = []
    characters, reason = 0, None
    for number, name in enumerate(names):
        if characters > limits.text_characters:
            break
        try:
            root = parse_part(container, name)
        except Unreadable as exc:
            # The first part is the document itself. Without another part, such as a footnote, the rest is worth searching.
            if number == 0:
                raise
            reason = str(exc)
            continue
        if root is not None:
            drop_numbers(root)
            marker.targets = _read_targets(container, name)
            texts.append(collect_text(root, breaks=breaks, blanks=blanks, skip=skip, marker=marker) + marker.finish())
            characters += len(texts[-1])
            found = islice(find_headings(root), max(MAX_HEADINGS - len(headings), 0))
            headings += [collect_text(node, breaks=breaks, blanks=blanks, skip=skip) for node in found]
    text, navigation = split_contents("\n".join(texts))
    return Content(
        text=text,
        navigation=navigation,
        title=find_title(metadata),
        metadata=metadata,
        links=tuple(marker.links),
        headings="\n".join(headings),
        reason=reason,
    )


def _read_targets(container: ZipArchive, name: str) -> dict[str, str]:
    """Returns the URLs to which a part links, by the names that it gives them."""
    folder, _, own = name.rpartition("/")
    root = parse_optional_part(container, f"{folder}/_rels/{own}.rels")
    if root is None:
        return {}
    relations = (node for node in root.iterfind("{*}Relationship") if node.get("TargetMode") == "External")
    return {node.get("Id") or "": node.get("Target") or "" for node in relations if (node.get("Type") or "").endswith("/hyperlink")}


def _word_order(name: str) -> tuple[int, str]:
    kind = re.sub(r"\d+", "", name.removeprefix("word/").removesuffix(".xml"))
    return _WORD_ORDER.get(kind, 9), name


def _slide_order(name: str) -> tuple[int, int]:
    match = _SLIDE_PARTS.match(name)
    if match is None:
        return 9, 0
    kinds = ("slides", "diagrams", "notesSlides", "comments")
    return next(index for index, kind in enumerate(kinds) if match[1].startswith(kind)), int(match[2] or 0)


def read_office_metadata(container: ZipArchive) -> Metadata:
    """Reads the properties of any Office container: core, application, custom."""
    core = read_properties(container, "docProps/core.xml", _PROPERTIES)
    return core + read_properties(container, "docProps/app.xml", {"Company": "company", "Manager": "manager"}) + _read_custom(container)


def _read_custom(container: ZipArchive) -> Metadata:
    root = parse_optional_part(container, "docProps/custom.xml")
    if root is None:
        return ()
    pairs = ((clean_line(node.get("name"), 200), clean_line("".join(map(str, node.itertext())))) for node in root.iterfind("{*}property"))
    return tuple((name, value) for name, value in pairs if name and value)
