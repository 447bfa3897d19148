"""The names of content types for people, and their icons on a page."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of content. ``sign`` names an icon of the page; ``name`` "" is not written, because most documents are pages."""

    name: str
    sign: str


PAGE: Final = FileKind("", "page")

_OOXML = "application/vnd.openxmlformats-officedocument"
_ODF = "application/vnd.oasis.opendocument"
_KINDS: Final = {
    "application/epub+zip": FileKind("EPUB", "text"),
    "application/json": FileKind("JSON", "text"),
    "application/msword": FileKind("Word", "text"),
    "application/pdf": FileKind("PDF", "pdf"),
    "application/postscript": FileKind("PostScript", "pdf"),
    "application/rtf": FileKind("RTF", "text"),
    "application/vnd.ms-excel": FileKind("Excel", "sheet"),
    "application/vnd.ms-outlook": FileKind("Mail", "mail"),
    "application/vnd.ms-powerpoint": FileKind("PowerPoint", "slides"),
    "application/xml": FileKind("XML", "text"),
    "application/zip": FileKind("ZIP", "archive"),
    f"{_ODF}.presentation": FileKind("ODP", "slides"),
    f"{_ODF}.spreadsheet": FileKind("ODS", "sheet"),
    f"{_ODF}.text": FileKind("ODT", "text"),
    f"{_OOXML}.presentationml.presentation": FileKind("PowerPoint", "slides"),
    f"{_OOXML}.spreadsheetml.sheet": FileKind("Excel", "sheet"),
    f"{_OOXML}.wordprocessingml.document": FileKind("Word", "text"),
    "message/rfc822": FileKind("Mail", "mail"),
    "text/csv": FileKind("CSV", "sheet"),
    "text/markdown": FileKind("Markdown", "text"),
    "text/plain": FileKind("Text", "text"),
    "text/rtf": FileKind("RTF", "text"),
    "text/xml": FileKind("XML", "text"),
}
_FAMILIES: Final = {"image": FileKind("Image", "image"), "audio": FileKind("Audio", "media"), "video": FileKind("Video", "media")}


def find_kind(mimetype: str | None) -> FileKind:
    """Returns the kind of a content type; that of a page for an unknown type."""
    bare = (mimetype or "").partition(";")[0].strip().lower()
    return _KINDS.get(bare) or _FAMILIES.get(bare.partition("/")[0]) or PAGE
