"""Marks the structure of OpenDocument: headings, lists, tables and emphasis.

Source: OASIS OpenDocument 1.3 part 3, sections 5.1, 5.3, 9.1, 16.27.2, 16.30 and 19.398.
"""

from lxml import etree

from feedmill.adapters.extract.readers.officexml import Marker, read_number
from feedmill.adapters.extract.structure import END, mark, mark_heading
from feedmill.core.text.structure import Kind

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_FORMAT = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
# empty cells in a row beyond so many are those to the edge of the sheet
_REPEATED = 20
_BOLD = frozenset({"bold", "600", "700", "800", "900"})
_STARTING = {f"{_TEXT}list-item": mark(Kind.ITEM), f"{_TABLE}table-row": mark(Kind.ROW)}


class OpenDocumentMarker(Marker):
    """Marks the text of a document. Shape: the roots of its content and of its styles, None without them."""

    tags = frozenset({
        f"{_TEXT}h", f"{_TEXT}list", f"{_TEXT}list-item", f"{_TEXT}span", f"{_TABLE}table", f"{_TABLE}table-row", f"{_TABLE}table-cell",
        f"{_TABLE}table-header-rows", f"{_DRAW}frame",
    })  # fmt: skip

    def __init__(self, content: etree._Element, styles: etree._Element | None) -> None:
        super().__init__()
        roots = [root for root in (styles, content) if root is not None]
        self._numbered = {name: depths for root in roots for name, depths in _read_numbered(root)}
        self._bold = {name for root in roots for name in _read_emphasis(root, "font-weight", _BOLD)}
        self._italic = {name for root in roots for name in _read_emphasis(root, "font-style", frozenset({"italic", "oblique"}))}
        self._lists: list[str] = []
        self._is_header = False

    def _leave(self, node: etree._Element) -> str:
        if node.tag == f"{_TEXT}list" and self._lists:
            self._lists.pop()
        elif node.tag == f"{_TABLE}table-header-rows":
            self._is_header = False
        return ""

    def _mark(self, node: etree._Element) -> tuple[str, str]:
        match node.tag.rpartition("}")[2]:
            case "h":
                return mark_heading(read_number(node.get(f"{_TEXT}outline-level")) or 1), END
            case "list":
                self._lists.append(node.get(f"{_TEXT}style-name") or (self._lists[-1] if self._lists else ""))
                is_numbered = len(self._lists) in self._numbered.get(self._lists[-1], ())
                return mark(Kind.ORDERED if is_numbered else Kind.UNORDERED), END
            case "span":
                style = node.get(f"{_TEXT}style-name") or ""
                kinds = [kind for kind, styles in ((Kind.STRONG, self._bold), (Kind.EMPHASIS, self._italic)) if style in styles]
                return "".join(map(mark, kinds)), END * len(kinds)
            case "table":
                return mark(Kind.TABLE), END
            case "table-cell":
                count = read_number(node.get(f"{_TABLE}number-columns-repeated")) or 1
                cell = mark(Kind.HEADER_CELL if self._is_header else Kind.CELL)
                return cell, cell * (count - 1 if count <= _REPEATED else 0)
            case "table-header-rows":
                self._is_header = True
                return "", ""
            case "frame":
                is_title = node.get(f"{_PRESENTATION}class") == "title"
                return (mark(Kind.HEADING_2), END) if is_title else ("", "")
            case _:
                return _STARTING[node.tag], ""


def _read_numbered(root: etree._Element) -> list[tuple[str, frozenset[int]]]:
    """Returns the styles of lists with the depths at which their items have numbers."""
    found = []
    for style in root.iter(f"{_TEXT}list-style"):
        levels = (read_number(level.get(f"{_TEXT}level")) for level in style.iterfind(f"{_TEXT}list-level-style-number"))
        found.append((style.get(f"{_STYLE}name") or "", frozenset(level for level in levels if level is not None)))
    return found


def _read_emphasis(root: etree._Element, name: str, values: frozenset[str]) -> list[str]:
    """Returns the styles of words whose property has one of the values."""
    styles = (style for style in root.iter(f"{_STYLE}style") if style.get(f"{_STYLE}family") == "text")
    return [
        style.get(f"{_STYLE}name") or ""
        for style in styles
        if any(found.get(f"{_FORMAT}{name}") in values for found in style.iterfind(f"{_STYLE}text-properties"))
    ]
