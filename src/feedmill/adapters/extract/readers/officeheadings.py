"""Finds the headings of DOCX and PPTX, and what slides show beside their text.

A paragraph of a text is a heading by its style: a built-in one, whose name is ``heading 1`` in every language of the
program, or one with an outline level, which a paragraph may also have by itself. On a slide it is the title's placeholder. Source:
ECMA-376 part 1, sections 17.3.1.20, 17.7.4 and 19.7.10.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from lxml import etree

MAX_HEADINGS = 200
_LOOKED_AT = 5_000
WORD = _W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
PRESENTATION = _P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_NAMES = re.compile(r"heading ([1-9])|(title)", re.IGNORECASE)
_OUTLINE_LEVELS = frozenset("012345678")


def read_heading_styles(styles: etree._Element | None) -> dict[str, int]:
    """Returns the styles of a text that are headings, with their levels; a title's is 0."""
    levels: dict[str, int] = {}
    for style in styles.iterfind(f"{_W}style") if styles is not None else ():
        level = _level_of(style)
        if level is not None:
            levels[style.get(f"{_W}styleId") or ""] = level
    return levels


def _level_of(style: etree._Element) -> int | None:
    name = style.find(f"{_W}name")
    match = _NAMES.fullmatch((name.get(f"{_W}val") or "").strip()) if name is not None else None
    if match is not None:
        return int(match[1] or 0)
    level = style.find(f"{_W}pPr/{_W}outlineLvl")
    return None if level is None else _outline_level(level)


def _outline_level(node: etree._Element) -> int | None:
    value = node.get(f"{_W}val") or ""
    return int(value) + 1 if value in _OUTLINE_LEVELS else None


def list_headings(root: etree._Element, levels: dict[str, int]) -> list[etree._Element]:
    """Lists the paragraphs of a part that are headings, the higher ones first. Shape: ``levels`` by the styles' ids."""
    found: list[tuple[int, etree._Element]] = []
    for node in islice(root.iter(f"{_W}pStyle", f"{_W}outlineLvl"), _LOOKED_AT):
        properties = node.getparent()
        paragraph = None if properties is None or properties.tag != f"{_W}pPr" else properties.getparent()
        level = _outline_level(node) if node.tag == f"{_W}outlineLvl" else levels.get(node.get(f"{_W}val") or "")
        if paragraph is not None and level is not None and (not found or found[-1][1] is not paragraph):
            found.append((level, paragraph))
    found.sort(key=lambda pair: pair[0])
    return [paragraph for _, paragraph in found[:MAX_HEADINGS]]


def find_level(paragraph: etree._Element, levels: Mapping[str, int]) -> int | None:
    """Returns the level of a paragraph that is a heading, None for another. Shape: ``levels`` by the styles' ids."""
    properties = paragraph.find(f"{_W}pPr")
    if properties is None:
        return None
    outline, style = properties.find(f"{_W}outlineLvl"), properties.find(f"{_W}pStyle")
    own = None if outline is None else _outline_level(outline)
    return own if own is not None or style is None else levels.get(style.get(f"{_W}val") or "")


def find_title_type(shape: etree._Element) -> str | None:
    """Returns the type of a shape that is a placeholder, "" without one, None for another shape."""
    place = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return None if place is None else place.get("type") or ""


def iter_slide_titles(root: etree._Element) -> Iterator[etree._Element]:
    """Yields the shapes of a slide that hold its title; notes have none."""
    if root.tag != f"{_P}sld":
        return
    for shape in root.iter(f"{_P}sp"):
        if find_title_type(shape) in ("title", "ctrTitle"):
            yield shape


def drop_numbers(root: etree._Element) -> None:
    """Removes the numbers and dates that each slide and its notes show. Parts of other documents have none."""
    for shape in list(root.iter(f"{_P}sp")) if str(root.tag).startswith(_P) else ():
        parent = shape.getparent()
        if parent is not None and find_title_type(shape) in ("sldNum", "dt"):
            parent.remove(shape)
