"""Reads OpenDocument text, spreadsheets and presentations: body, tables, notes, annotations, headers and footers, properties.

``styles.xml`` holds headers and footers. A repeated cell or row is read once, whatever its count: spreadsheets repeat empty
cells a million times. Source: OASIS OpenDocument 1.3 part 3, sections 3, 5, 9, 16.
"""

from itertools import islice

from lxml import etree

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.adapters.extract.readers.officexml import (
    collect_text,
    find_title,
    parse_optional_part,
    parse_part,
    read_properties,
    split_contents,
)
from feedmill.adapters.extract.readers.opendocumentstructure import CONTENTS_SOURCES, OpenDocumentMarker
from feedmill.adapters.extract.readers.zips import ZipArchive
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_PROPERTIES = {
    "title": "title", "initial-creator": "author", "creator": "last-modified-by", "subject": "subject", "keyword": "keywords",
    "description": "description",
}  # fmt: skip
_MAX_HEADINGS = 200
_BREAKS = (f"{_TEXT}p", f"{_TEXT}h", f"{_TEXT}line-break", f"{_TABLE}table-row")
_BLANKS = (f"{_TEXT}s", f"{_TEXT}tab", f"{_TABLE}table-cell")
_SKIP = (f"{_TEXT}tracked-changes", f"{_TEXT}sequence-decls", f"{_OFFICE}forms", f"{_TEXT}ruby-text", *CONTENTS_SOURCES)
_MARGINS = ("header", "footer", "header-left", "footer-left", "header-first", "footer-first")


def read_opendocument(data: bytes, limits: ExtractionLimits) -> Content:
    """Reads a document of any OpenDocument kind. Errors: Unreadable if it is damaged or encrypted."""
    container = ZipArchive(data)
    manifest = container.read("META-INF/manifest.xml")
    if manifest is not None and b"encryption-data" in manifest:
        raise Unreadable("the file is encrypted")
    root = parse_part(container, "content.xml")
    if root is None:
        raise Unreadable("the file is damaged: it has no content.xml")
    metadata = _read_metadata(container)
    names = [str(table.get(f"{_TABLE}name")) for table in root.iter(f"{_TABLE}table") if table.get(f"{_TABLE}name")]
    body = root.find(f"{_OFFICE}body")
    styles = parse_optional_part(container, "styles.xml")
    is_spreadsheet = root.find(f"{_OFFICE}body/{_OFFICE}spreadsheet") is not None
    marker = OpenDocumentMarker(root, styles, limits.links, names_tables=is_spreadsheet)
    text = collect_text(body if body is not None else root, breaks=_BREAKS, blanks=_BLANKS, skip=_SKIP, marker=marker)
    headings = "\n".join(names) if is_spreadsheet else _read_headings(root)
    parts = [text[: limits.text_characters + 1], *_read_margins(styles)]
    main, navigation = split_contents("\n".join(parts))
    return Content(
        text=main, navigation=navigation, title=find_title(metadata), metadata=metadata, links=tuple(marker.links), headings=headings
    )


def _read_headings(root: etree._Element) -> str:
    """Returns the headings, the higher ones first."""
    found = sorted(islice(root.iter(f"{_TEXT}h"), _MAX_HEADINGS), key=lambda node: node.get(f"{_TEXT}outline-level") or "1")
    return "\n".join(collect_text(node, breaks=_BREAKS, blanks=_BLANKS, skip=_SKIP) for node in found)


def _read_margins(styles: etree._Element | None) -> list[str]:
    if styles is None:
        return []
    nodes = (node for master in styles.iter(f"{_STYLE}master-page") for node in master)
    wanted = frozenset(f"{_STYLE}{name}" for name in _MARGINS)
    return [collect_text(node, breaks=_BREAKS, blanks=_BLANKS, skip=_SKIP) for node in nodes if node.tag in wanted]


def _read_metadata(container: ZipArchive) -> Metadata:
    found = read_properties(container, "meta.xml", _PROPERTIES)
    root = parse_optional_part(container, "meta.xml")
    custom = [] if root is None else list(root.iter(f"{_META}user-defined"))
    pairs = ((clean_line(node.get(f"{_META}name"), 200), clean_line(node.text)) for node in custom if isinstance(node, etree._Element))
    return found + tuple((name, value) for name, value in pairs if name and value)
