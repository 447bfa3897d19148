"""Marks the structure of DOCX and PPTX: headings, lists, tables and emphasis.

Neither format has lists: each paragraph says that it is an item, and how deep. Source: ECMA-376 part 1, sections 17.3.2, 17.4, 17.9 and
21.1.2.4.
"""

from collections.abc import Mapping

from lxml import etree

from feedmill.adapters.extract.readers.officeheadings import DRAWING, PRESENTATION, WORD, find_level, find_title_type
from feedmill.adapters.extract.readers.officexml import Marker, read_number
from feedmill.adapters.extract.structure import END, mark, mark_heading
from feedmill.core.text.structure import Kind

_DEEPEST = 8
_OFF = frozenset({"0", "false", "off", "none"})
_TABLE, _ROW, _ITEM = mark(Kind.TABLE), mark(Kind.ROW), mark(Kind.ITEM)
_W, _A, _P = WORD, DRAWING, PRESENTATION


class _Lists:
    """The lists that are open, inside of each other, in each of the cells and texts that are open."""

    def __init__(self) -> None:
        self._opened: list[list[Kind]] = [[]]

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

    def begin_item(self, depth: int, kind: Kind) -> str:
        """Begins an item at a depth from 0, in a new list if there is none of its kind."""
        opened = self._opened[-1]
        marks = self.close(depth + 1)
        if len(opened) == depth + 1 and opened[depth] is not kind:
            marks += self.close(depth)
        missing = depth + 1 - len(opened)
        opened += [kind] * missing
        return marks + mark(kind) * missing + _ITEM


class WordMarker(Marker):
    """Marks the parts of a text document. Shape: the headings' levels by style; the roots of styles and of numbering, None without them."""

    tags = frozenset({f"{_W}p", f"{_W}r", f"{_W}tbl", f"{_W}tr", f"{_W}tc"})

    def __init__(self, levels: Mapping[str, int], styles: etree._Element | None, numbering: etree._Element | None) -> None:
        super().__init__()
        self._levels = levels
        self._formats = _read_formats(numbering) if numbering is not None else {}
        self._styles = _read_list_styles(styles) if styles is not None else {}
        self._lists = _Lists()
        self._is_header = False

    def finish(self) -> str:
        """Returns the marks at the end of a part."""
        return self._lists.close()

    def _mark(self, node: etree._Element) -> tuple[str, str]:
        match node.tag.rpartition("}")[2]:
            case "p":
                return self._begin_paragraph(node)
            case "r":
                return _mark_emphasis(_is_on(node, "b"), _is_on(node, "i"))
            case "tbl":
                return self._lists.close() + _TABLE, END
            case "tr":
                self._is_header = node.find(f"{_W}trPr/{_W}tblHeader") is not None
                return _ROW, ""
            case _:
                self._lists.enter()
                return mark(Kind.HEADER_CELL if self._is_header else Kind.CELL), ""

    def _leave(self, node: etree._Element) -> str:
        return self._lists.leave() if node.tag == f"{_W}tc" else ""

    def _begin_paragraph(self, node: etree._Element) -> tuple[str, str]:
        level = find_level(node, self._levels)
        if level is not None:
            return self._lists.close() + mark_heading(level), END
        properties = node.find(f"{_W}pPr")
        found = None if properties is None else self._find_list(properties)
        if found is None:
            return self._lists.close(), ""
        name, depth = found
        is_ordered = self._formats.get((name, depth), "bullet") not in ("bullet", "none")
        return self._lists.begin_item(depth, Kind.ORDERED if is_ordered else Kind.UNORDERED), ""

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


def _read_formats(root: etree._Element) -> dict[tuple[str, int], str]:
    """Returns how the items of a list are numbered, by the number of the list and the depth."""
    levels: dict[str, dict[int, str]] = {}
    for abstract in root.iterfind(f"{_W}abstractNum"):
        found = levels.setdefault(abstract.get(f"{_W}abstractNumId") or "", {})
        for level in abstract.iterfind(f"{_W}lvl"):
            form, depth = level.find(f"{_W}numFmt"), read_number(level.get(f"{_W}ilvl"))
            if form is not None and depth is not None:
                found[depth] = form.get(f"{_W}val") or ""
    formats: dict[tuple[str, int], str] = {}
    for number in root.iterfind(f"{_W}num"):
        abstract_id = number.find(f"{_W}abstractNumId")
        if abstract_id is not None:
            for place, name in levels.get(abstract_id.get(f"{_W}val") or "", {}).items():
                formats[number.get(f"{_W}numId") or "", place] = name
    return formats


def _read_list_styles(root: etree._Element) -> dict[str, tuple[str, int]]:
    """Returns the lists to which paragraphs of a style belong, by style."""
    found: dict[str, tuple[str, int]] = {}
    for style in root.iterfind(f"{_W}style"):
        number = style.find(f"{_W}pPr/{_W}numPr")
        if number is not None and (belongs := _read_number(number)) is not None:
            found[style.get(f"{_W}styleId") or ""] = belongs
    return found


def _is_on(run: etree._Element, name: str) -> bool:
    property_ = run.find(f"{_W}rPr/{_W}{name}")
    return property_ is not None and (property_.get(f"{_W}val") or "1").lower() not in _OFF


def _mark_emphasis(is_bold: bool, is_italic: bool) -> tuple[str, str]:
    marks = (mark(Kind.STRONG) if is_bold else "") + (mark(Kind.EMPHASIS) if is_italic else "")
    return marks, END * (is_bold + is_italic)


class SlideMarker(Marker):
    """Marks slides: their titles are headings, and the paragraphs of their texts items."""

    tags = frozenset({f"{_P}sp", f"{_A}p", f"{_A}r", f"{_A}tbl", f"{_A}tr", f"{_A}tc"})

    def __init__(self) -> None:
        super().__init__()
        self._lists = _Lists()
        #: of the shapes that are open: whether they are titles, texts or neither
        self._shapes: list[str] = []

    def finish(self) -> str:
        """Returns the marks at the end of a part."""
        return self._lists.close()

    def _mark(self, node: etree._Element) -> tuple[str, str]:
        match node.tag.rpartition("}")[2]:
            case "sp":
                self._lists.enter()
                self._shapes.append(_find_shape(node))
                return "", ""
            case "p":
                return self._begin_paragraph(node)
            case "r":
                properties = node.find(f"{_A}rPr")
                return ("", "") if properties is None else _mark_emphasis(properties.get("b") == "1", properties.get("i") == "1")
            case "tbl":
                return _TABLE, END
            case "tr":
                return _ROW, ""
            case _:
                return mark(Kind.CELL), ""

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


def _find_shape(shape: etree._Element) -> str:
    kind = find_title_type(shape)
    if kind in ("title", "ctrTitle"):
        return "title"
    return "text" if kind in ("", "body", "obj") and shape.getroottree().getroot().tag == f"{_P}sld" else ""
