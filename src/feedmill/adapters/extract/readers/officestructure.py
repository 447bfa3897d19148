"""Marks the structure of DOCX and PPTX: headings, lists, tables, links and emphasis.

Neither format has lists: each paragraph says that it is an item, and how deep. A link is an element, or a field whose parts stand in runs
of their own. A table of contents or an index is made of paragraphs too: they have a built-in style, stand in a control of such a document
part, or in the result of a field. Source: ECMA-376 part 1, sections 17.3.2, 17.4, 17.5.2, 17.9, 17.16 and 21.1.2 to 21.1.3.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from lxml import etree

from feedmill.adapters.extract.readers.officeheadings import DRAWING, PRESENTATION, WORD, find_level, find_title_type
from feedmill.adapters.extract.readers.officexml import CONTENTS, CONTENTS_END, Marker, read_number
from feedmill.adapters.extract.structure import END, mark, mark_cell, mark_heading, mark_numbers
from feedmill.core.text.structure import Kind

_DEEPEST = 8
_OFF = frozenset({"0", "false", "off", "none"})
_TABLE, _ROW, _ITEM = mark(Kind.TABLE), mark(Kind.ROW), mark(Kind.ITEM)
_W, _A, _P = WORD, DRAWING, PRESENTATION
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_HYPERLINK = re.compile(r'\s*HYPERLINK\s+"([^"]*)"')
_CONTENTS_STYLE = re.compile(r"(?:toc|index) (?:\d|heading)|table of (?:figures|authorities)|toa heading", re.IGNORECASE)
_CONTENTS_FIELD = re.compile(r"\s*(?:TOC|INDEX|TOA)\b")
_CONTENTS_PART = "Table of Contents"
# the runs of a field before its result, and those of the result, are few
_FIELD_RUNS = 100


class _List:
    """A list that is open. Shape: ``number`` is that of its last item, 0 before the first."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.number = 0


class _Lists:
    """The lists that are open, inside of each other, in each of the cells and texts that are open."""

    def __init__(self) -> None:
        self._opened: list[list[_List]] = [[]]

    def enter(self) -> None:
        self._opened.append([])

    def leave(self) -> str:
        ends = self.close()
        if len(self._opened) > 1:
            self._opened.pop()
        return ends

    def close(self, depth: int = 0) -> str:
        """Ends the lists that are deeper."""
        opened = self._opened[-1]
        ends = END * max(len(opened) - depth, 0)
        del opened[depth:]
        return ends

    def begin_item(self, depth: int, kind: Kind, number: int | None = None) -> str:
        """Begins an item at a depth from 0, in a new list if there is none of its kind. Shape: no number for one that follows the last."""
        opened = self._opened[-1]
        marks = self.close(depth + 1)
        if len(opened) == depth + 1 and opened[depth].kind is not kind:
            marks += self.close(depth)
        is_new = len(opened) <= depth
        while len(opened) <= depth:
            opened.append(_List(kind))
            marks += mark(kind)
        following = opened[depth].number + 1
        opened[depth].number = following if number is None else number
        if kind is not Kind.ORDERED or opened[depth].number == following:
            return marks + _ITEM
        # a list may go on with the numbers of one before
        numbers = mark_numbers(1, opened[depth].number) if is_new else mark_numbers(opened[depth].number)
        return f"{marks}{numbers}{_ITEM}" if is_new else f"{marks}{_ITEM}{numbers}"


class _PartMarker(Marker):
    """Marks the parts of a file, in which lists may be open, and links have names."""

    def __init__(self, most_links: int) -> None:
        super().__init__(most_links)
        self._lists = _Lists()
        #: the URLs of the part's links, by the names that it gives them
        self.targets: Mapping[str, str] = {}

    def finish(self) -> str:
        return self._lists.close()


class WordMarker(_PartMarker):
    """Marks the parts of a text document. Shape: the headings' levels by style; the roots of styles and of numbering, None without them."""

    tags = frozenset({f"{_W}{name}" for name in ("p", "r", "tbl", "tr", "tc", "hyperlink", "fldSimple", "sdt")})

    def __init__(self, levels: Mapping[str, int], styles: etree._Element | None, numbering: etree._Element | None, most_links: int) -> None:
        super().__init__(most_links)
        self._levels = levels
        self._numbering = _read_numbering(numbering) if numbering is not None else {}
        self._styles = _read_list_styles(styles) if styles is not None else {}
        #: how far lists have counted, by list and depth
        self._counted: dict[tuple[str, int], int] = {}
        self._restarted: set[tuple[str, int]] = set()
        self._is_header = False
        #: over how many rows merged cells reach, 0 for those that go on with a cell above
        self._heights: dict[etree._Element, int] = {}
        self._is_in_field = False
        self._contents_styles = _list_contents_styles(styles) if styles is not None else frozenset()
        #: of the fields and the controls that are open: whether each is a table of contents or an index
        self._fields: list[bool] = []
        self._controls: list[bool] = []
        self._is_in_contents = False

    def finish(self) -> str:
        self._heights.clear()
        self._fields.clear()
        return super().finish()

    def _mark(self, node: etree._Element) -> tuple[str, str]:
        match node.tag.rpartition("}")[2]:
            case "p":
                return self._begin_paragraph(node)
            case "r":
                return self._begin_run(node)
            case "hyperlink":
                return self._mark_link(self.targets.get(node.get(f"{_R}id") or ""), node)
            case "fldSimple":
                return self._mark_link(_read_hyperlink(node.get(f"{_W}instr") or ""), node)
            case "tbl":
                self._heights |= _find_heights(node)
                return self._lists.close() + _TABLE, END
            case "sdt":
                part = node.find(f"{_W}sdtPr/{_W}docPartObj/{_W}docPartGallery")
                self._controls.append(part is not None and part.get(f"{_W}val") == _CONTENTS_PART)
                return "", ""
            case "tr":
                self._is_header = node.find(f"{_W}trPr/{_W}tblHeader") is not None
                return _ROW, ""
            case _:
                self._lists.enter()
                return self._begin_cell(node), ""

    def _leave(self, node: etree._Element) -> str:
        if node.tag == f"{_W}p":
            ends, self._is_in_contents = self._end_field() + (CONTENTS_END if self._is_in_contents else ""), False
            return ends
        if node.tag == f"{_W}sdt":
            self._controls.pop()
        return self._lists.leave() if node.tag == f"{_W}tc" else ""

    def _begin_cell(self, node: etree._Element) -> str:
        height = self._heights.get(node, 1)
        if not height:
            return ""
        return mark_cell(_read_width(node), height, is_header=self._is_header)

    def _mark_link(self, url: str | None, node: etree._Element) -> tuple[str, str]:
        begin = self._begin_link(url, (text.text or "" for text in node.iter(f"{_W}t"))) if url else ""
        return begin, END if begin else ""

    def _begin_run(self, node: etree._Element) -> tuple[str, str]:
        field = node.find(f"{_W}fldChar")
        kind = None if field is None else field.get(f"{_W}fldCharType")
        if kind == "begin":
            self._fields.append(_CONTENTS_FIELD.match(_read_instruction(node)) is not None)
            return self._begin_contents() if self._fields[-1] else "", ""
        if kind == "separate" and not self._is_in_field and (url := _read_hyperlink("".join(_iter_instructions(node)))):
            begin = self._begin_link(url, _iter_result(node))
            self._is_in_field = bool(begin)
            return "", begin
        if kind == "end":
            del self._fields[-1:]
            return self._end_field(), ""
        return _mark_emphasis(_is_on(node, "b"), _is_on(node, "i"))

    def _end_field(self) -> str:
        is_open, self._is_in_field = self._is_in_field, False
        return END if is_open else ""

    def _begin_contents(self) -> str:
        is_begun, self._is_in_contents = self._is_in_contents, True
        return "" if is_begun else CONTENTS

    def _begin_paragraph(self, node: etree._Element) -> tuple[str, str]:
        if self._is_contents(node):
            return self._lists.close() + self._begin_contents(), ""
        level = find_level(node, self._levels)
        if level is not None:
            return self._lists.close() + mark_heading(level), END
        properties = node.find(f"{_W}pPr")
        found = None if properties is None else self._find_list(properties)
        if found is None:
            return self._lists.close(), ""
        level_of = self._numbering.get(found)
        if level_of is None or level_of.form in ("bullet", "none"):
            return self._lists.begin_item(found[1], Kind.UNORDERED), ""
        return self._lists.begin_item(found[1], Kind.ORDERED, self._count(found, level_of)), ""

    def _is_contents(self, paragraph: etree._Element) -> bool:
        if True in self._controls or True in self._fields:
            return True
        style = paragraph.find(f"{_W}pPr/{_W}pStyle") if self._contents_styles else None
        return style is not None and style.get(f"{_W}val") in self._contents_styles

    def _count(self, place: tuple[str, int], level: "_Level") -> int:
        """Returns the number of the next item of a list at a depth. Deeper items begin again behind it."""
        depth = place[1]
        if level.is_restarted and place not in self._restarted:
            self._restarted.add(place)
            self._counted.pop((level.owner, depth), None)
        number = self._counted.get((level.owner, depth), level.first - 1) + 1
        for deeper in range(depth + 1, _DEEPEST + 1):
            self._counted.pop((level.owner, deeper), None)
        self._counted[level.owner, depth] = number
        return number

    def _find_list(self, properties: etree._Element) -> tuple[str, int] | None:
        """Returns the number and the depth of the list to which a paragraph belongs."""
        style = properties.find(f"{_W}pStyle")
        default = None if style is None else self._styles.get(style.get(f"{_W}val") or "")
        own = properties.find(f"{_W}numPr")
        return _read_number(own, default) if own is not None else default


def _read_number(node: etree._Element, default: tuple[str, int] | None = None) -> tuple[str, int] | None:
    name, depth = node.find(f"{_W}numId"), node.find(f"{_W}ilvl")
    number = (name.get(f"{_W}val") or "") if name is not None else default[0] if default else ""
    place = read_number(depth.get(f"{_W}val")) if depth is not None else None
    return (number, min(place or 0, _DEEPEST)) if number not in ("", "0") else None


class _Level(NamedTuple):
    """How the items of a list at a depth are numbered. Shape: lists with one ``owner`` count on, unless one ``is_restarted``."""

    form: str
    first: int
    owner: str
    is_restarted: bool = False


def _read_numbering(root: etree._Element) -> dict[tuple[str, int], _Level]:
    """Returns how items are numbered, by the number of the list and the depth."""
    owners: dict[str, dict[int, _Level]] = {}
    for abstract in root.iterfind(f"{_W}abstractNum"):
        owner = abstract.get(f"{_W}abstractNumId") or ""
        found = owners.setdefault(owner, {})
        for level in abstract.iterfind(f"{_W}lvl"):
            form, depth, first = level.find(f"{_W}numFmt"), read_number(level.get(f"{_W}ilvl")), level.find(f"{_W}start")
            if form is not None and depth is not None:
                found[depth] = _Level(form.get(f"{_W}val") or "", _read_first(first), owner)
    levels: dict[tuple[str, int], _Level] = {}
    for number in root.iterfind(f"{_W}num"):
        abstract_id, name = number.find(f"{_W}abstractNumId"), number.get(f"{_W}numId") or ""
        if abstract_id is not None:
            levels |= {(name, depth): level for depth, level in owners.get(abstract_id.get(f"{_W}val") or "", {}).items()}
        for override in number.iterfind(f"{_W}lvlOverride"):
            first, place = override.find(f"{_W}startOverride"), (name, read_number(override.get(f"{_W}ilvl")) or 0)
            if first is not None and place in levels:
                levels[place] = levels[place]._replace(first=_read_first(first), is_restarted=True)
    return levels


def _read_first(node: etree._Element | None) -> int:
    first = read_number(node.get(f"{_W}val"), digits=5) if node is not None else None
    return 1 if first is None else first


def _find_heights(table: etree._Element) -> dict[etree._Element, int]:
    """Returns over how many rows the merged cells of a table reach, 0 for those that go on with a cell above."""
    heights: dict[etree._Element, int] = {}
    above: dict[int, etree._Element] = {}
    for row in table.iterfind(f"{_W}tr"):
        column, here = 0, dict[int, etree._Element]()
        for cell in row.iterfind(f"{_W}tc"):
            merge = cell.find(f"{_W}tcPr/{_W}vMerge")
            if merge is not None and merge.get(f"{_W}val") == "restart":
                heights[cell], here[column] = 1, cell
            elif merge is not None and column in above:
                here[column] = above[column]
                heights[cell] = 0
                heights[here[column]] += 1
            column += _read_width(cell)
        above = here
    return heights


def _read_width(cell: etree._Element) -> int:
    span = cell.find(f"{_W}tcPr/{_W}gridSpan")
    width = read_number(span.get(f"{_W}val"), digits=3) if span is not None else None
    return width or 1


def _read_hyperlink(instruction: str) -> str | None:
    """Returns the URL of a field that is a link, None for another field, and for one that leads to a place of the document itself."""
    found = _HYPERLINK.match(instruction)
    return found[1] if found else None


def _read_instruction(run: etree._Element) -> str:
    """Returns the beginning of the instruction of a field, which begins in a run."""
    texts = (text for node in (run, *islice(run.itersiblings(f"{_W}r"), _FIELD_RUNS)) for text in node.iterfind(f"{_W}instrText"))
    return next((text.text or "" for text in texts), "")


def _iter_instructions(run: etree._Element) -> Iterator[str]:
    """Yields the pieces of the instruction of a field, whose result begins in a run."""
    before = list(islice(run.itersiblings(f"{_W}r", preceding=True), _FIELD_RUNS))
    begin = next((place for place, node in enumerate(before) if _is_field_char(node, "begin")), 0)
    for node in reversed(before[: begin + 1]):
        yield from (text.text or "" for text in node.iterfind(f"{_W}instrText"))


def _iter_result(run: etree._Element) -> Iterator[str]:
    """Yields the pieces of the text of a field."""
    for node in islice(run.itersiblings(f"{_W}r"), _FIELD_RUNS):
        if _is_field_char(node, "end"):
            return
        yield from (text.text or "" for text in node.iterfind(f"{_W}t"))


def _is_field_char(run: etree._Element, kind: str) -> bool:
    found = run.find(f"{_W}fldChar")
    return found is not None and found.get(f"{_W}fldCharType") == kind


def _read_list_styles(root: etree._Element) -> dict[str, tuple[str, int]]:
    """Returns the lists to which paragraphs of a style belong, by style."""
    found: dict[str, tuple[str, int]] = {}
    for style in root.iterfind(f"{_W}style"):
        number = style.find(f"{_W}pPr/{_W}numPr")
        if number is not None and (belongs := _read_number(number)) is not None:
            found[style.get(f"{_W}styleId") or ""] = belongs
    return found


def _list_contents_styles(root: etree._Element) -> frozenset[str]:
    """Returns the styles of paragraphs of tables of contents and indexes."""
    named = ((style.get(f"{_W}styleId") or "", style.find(f"{_W}name")) for style in root.iterfind(f"{_W}style"))
    return frozenset(key for key, name in named if name is not None and _CONTENTS_STYLE.fullmatch(name.get(f"{_W}val") or ""))


def _is_on(run: etree._Element, name: str) -> bool:
    property_ = run.find(f"{_W}rPr/{_W}{name}")
    return property_ is not None and (property_.get(f"{_W}val") or "1").lower() not in _OFF


def _mark_emphasis(is_bold: bool, is_italic: bool) -> tuple[str, str]:
    marks = (mark(Kind.STRONG) if is_bold else "") + (mark(Kind.EMPHASIS) if is_italic else "")
    return marks, END * (is_bold + is_italic)


class SlideMarker(_PartMarker):
    """Marks slides: their titles are headings, and the paragraphs of their texts items."""

    tags = frozenset({f"{_P}sp", f"{_A}p", f"{_A}r", f"{_A}tbl", f"{_A}tr", f"{_A}tc"})

    def __init__(self, most_links: int) -> None:
        super().__init__(most_links)
        #: of the shapes that are open: whether they are titles, texts or neither
        self._shapes: list[str] = []

    def _mark(self, node: etree._Element) -> tuple[str, str]:
        match node.tag.rpartition("}")[2]:
            case "sp":
                self._lists.enter()
                self._shapes.append(_find_shape(node))
                return "", ""
            case "p":
                return self._begin_paragraph(node)
            case "r":
                return self._begin_run(node)
            case "tbl":
                return _TABLE, END
            case "tr":
                return _ROW, ""
            case _:
                return _mark_slide_cell(node), ""

    def _begin_run(self, node: etree._Element) -> tuple[str, str]:
        properties = node.find(f"{_A}rPr")
        if properties is None:
            return "", ""
        link = properties.find(f"{_A}hlinkClick")
        url = self.targets.get(link.get(f"{_R}id") or "") if link is not None else None
        begin = self._begin_link(url, (text.text or "" for text in node.iterfind(f"{_A}t"))) if url else ""
        marks, ends = _mark_emphasis(properties.get("b") == "1", properties.get("i") == "1")
        return begin + marks, ends + (END if begin else "")

    def _leave(self, node: etree._Element) -> str:
        if node.tag != f"{_P}sp":
            return ""
        self._shapes.pop()
        return self._lists.leave()

    def _begin_paragraph(self, node: etree._Element) -> tuple[str, str]:
        shape = self._shapes[-1] if self._shapes else ""
        if shape == "title":
            return mark(Kind.HEADING_2), END
        properties = node.find(f"{_A}pPr")
        if shape != "text" or (properties is not None and properties.find(f"{_A}buNone") is not None):
            return self._lists.close(), ""
        depth = read_number(properties.get("lvl")) if properties is not None else None
        is_ordered = properties is not None and properties.find(f"{_A}buAutoNum") is not None
        kind = Kind.ORDERED if is_ordered else Kind.UNORDERED
        return self._lists.begin_item(min(depth or 0, _DEEPEST), kind), ""


def _mark_slide_cell(node: etree._Element) -> str:
    if "1" in (node.get("hMerge"), node.get("vMerge")):
        # it is a part of the cell beside it or above it
        return ""
    width, height = (read_number(node.get(name), digits=3) or 1 for name in ("gridSpan", "rowSpan"))
    return mark_cell(width, height)


def _find_shape(shape: etree._Element) -> str:
    kind = find_title_type(shape)
    if kind in ("title", "ctrTitle"):
        return "title"
    return "text" if kind in ("", "body", "obj") and shape.getroottree().getroot().tag == f"{_P}sld" else ""
