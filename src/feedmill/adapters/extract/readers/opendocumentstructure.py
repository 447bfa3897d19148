"""Marks the structure of OpenDocument: headings, lists, tables, links and emphasis.

Source: OASIS OpenDocument 1.3 part 3, sections 5.1, 5.3, 6.1.8, 8.3 to 8.8, 9.1, 16.27.2, 16.30, 19.398, 19.675, 19.676, 19.859 and 19.868.
"""

from lxml import etree

from feedmill.adapters.extract.readers.officexml import CONTENTS, CONTENTS_END, Marker, read_number
from feedmill.adapters.extract.structure import END, mark, mark_cell, mark_heading, mark_numbers
from feedmill.core.text.structure import Kind

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_FORMAT = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
# empty cells in a row beyond so many are those to the edge of the sheet
_REPEATED = 20
_BOLD = frozenset({"bold", "600", "700", "800", "900"})
# the folder of a document, as its parts see it
_OUTSIDE = "../"
_CONTENTS_NAMES = ("table-of-content", "alphabetical-index", "illustration-index", "table-index", "object-index", "user-index")
_CONTENTS_TAGS = frozenset(f"{_TEXT}{name}" for name in _CONTENTS_NAMES)
CONTENTS_SOURCES = tuple(f"{_TEXT}{name}-source" for name in _CONTENTS_NAMES)
"""What says how a table of contents is made, with words that the document does not show."""

_ITEM, _ROW = mark(Kind.ITEM), mark(Kind.ROW)


class OpenDocumentMarker(Marker):
    """Marks the text of a document. Shape: the roots of its content and of its styles, None without them."""

    tags = frozenset({
        f"{_TEXT}h", f"{_TEXT}list", f"{_TEXT}list-item", f"{_TEXT}span", f"{_TEXT}a", f"{_TABLE}table", f"{_TABLE}table-row",
        f"{_TABLE}table-cell", f"{_TABLE}table-header-rows", f"{_DRAW}frame", f"{_DRAW}a", *_CONTENTS_TAGS,
    })  # fmt: skip

    def __init__(self, content: etree._Element, styles: etree._Element | None, most_links: int, *, names_tables: bool = False) -> None:
        super().__init__(most_links)
        self._names_tables = names_tables
        roots = [root for root in (styles, content) if root is not None]
        self._numbered = {name: firsts for root in roots for name, firsts in _read_numbered(root)}
        self._bold = {name for root in roots for name in _read_emphasis(root, "font-weight", _BOLD)}
        self._italic = {name for root in roots for name in _read_emphasis(root, "font-style", frozenset({"italic", "oblique"}))}
        self._lists: list[str] = []
        #: how far lists have counted, by style and depth
        self._counted: dict[tuple[str, int], int] = {}
        self._is_header = False

    def _leave(self, node: etree._Element) -> str:
        if node.tag == f"{_TEXT}list" and self._lists:
            self._lists.pop()
        elif node.tag == f"{_TABLE}table-header-rows":
            self._is_header = False
        return ""

    def _mark(self, node: etree._Element) -> tuple[str, str]:
        if node.tag in _CONTENTS_TAGS:
            return CONTENTS, CONTENTS_END
        match node.tag.rpartition("}")[2]:
            case "h":
                return mark_heading(read_number(node.get(f"{_TEXT}outline-level")) or 1), END
            case "list":
                self._lists.append(node.get(f"{_TEXT}style-name") or (self._lists[-1] if self._lists else ""))
                return self._begin_list(node), END
            case "list-item":
                return self._begin_item(node), ""
            case "a":
                begin = self._begin_link(node.get(f"{_XLINK}href", "").removeprefix(_OUTSIDE), map(str, node.itertext()))
                return begin, END if begin else ""
            case "span":
                style = node.get(f"{_TEXT}style-name") or ""
                kinds = [kind for kind, styles in ((Kind.STRONG, self._bold), (Kind.EMPHASIS, self._italic)) if style in styles]
                return "".join(map(mark, kinds)), END * len(kinds)
            case "table":
                name = node.get(f"{_TABLE}name") if self._names_tables else None
                return (f"{mark_heading(2)}{name}{END}\n" if name else "") + mark(Kind.TABLE), END
            case "table-cell":
                count = read_number(node.get(f"{_TABLE}number-columns-repeated")) or 1
                width, height = (read_number(node.get(f"{_TABLE}number-{name}-spanned"), digits=3) or 1 for name in ("columns", "rows"))
                cell = mark_cell(width, height, is_header=self._is_header)
                # a cell that spans others is not repeated
                is_repeated = count <= _REPEATED and width == height == 1
                return cell, cell * (count - 1) if is_repeated else ""
            case "table-header-rows":
                self._is_header = True
                return "", ""
            case "frame":
                is_title = node.get(f"{_PRESENTATION}class") == "title"
                return (mark(Kind.HEADING_2), END) if is_title else ("", "")
            case _:
                return _ROW, ""

    def _begin_list(self, node: etree._Element) -> str:
        place = self._lists[-1], len(self._lists)
        first = self._numbered.get(place[0], {}).get(place[1])
        if first is None:
            return mark(Kind.UNORDERED)
        goes_on = node.get(f"{_TEXT}continue-numbering") == "true" or node.get(f"{_TEXT}continue-list") is not None
        before = self._counted.get(place, first - 1) if goes_on else first - 1
        self._counted[place] = before
        return mark(Kind.ORDERED) + (mark_numbers(1, before + 1) if before else "")

    def _begin_item(self, node: etree._Element) -> str:
        place = self._lists[-1] if self._lists else "", len(self._lists)
        given = read_number(node.get(f"{_TEXT}start-value"), digits=5)
        if place in self._counted:
            self._counted[place] = self._counted[place] + 1 if given is None else given
        return _ITEM + (mark_numbers(given) if given is not None and place in self._counted else "")


def _read_numbered(root: etree._Element) -> list[tuple[str, dict[int, int]]]:
    """Returns the styles of lists, each with the first numbers of its items at the depths where these have numbers."""
    found = []
    for style in root.iter(f"{_TEXT}list-style"):
        firsts: dict[int, int] = {}
        for level in style.iterfind(f"{_TEXT}list-level-style-number"):
            depth, first = read_number(level.get(f"{_TEXT}level")), read_number(level.get(f"{_TEXT}start-value"), digits=5)
            if depth is not None:
                firsts[depth] = 1 if first is None else first
        found.append((style.get(f"{_STYLE}name") or "", firsts))
    return found


def _read_emphasis(root: etree._Element, name: str, values: frozenset[str]) -> list[str]:
    """Returns the styles of words whose property has one of the values."""
    styles = (style for style in root.iter(f"{_STYLE}style") if style.get(f"{_STYLE}family") == "text")
    return [
        style.get(f"{_STYLE}name") or ""
        for style in styles
        if any(found.get(f"{_FORMAT}{name}") in values for found in style.iterfind(f"{_STYLE}text-properties"))
    ]
