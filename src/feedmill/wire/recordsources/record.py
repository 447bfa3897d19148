"""The values that the readers return."""

from dataclasses import dataclass, field
from html import escape
from typing import Final

MAX_RECORD_BYTES: Final = 64 << 20
"""The most that one document may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """A document. Shape: ``attributes`` are those of a record of a feed; ``acl`` is XML, "" for none; without content it is only named."""

    url: str
    content: bytes | None = field(default=None, repr=False)
    mimetype: str = "text/plain"
    attributes: dict[str, str] = field(default_factory=dict)
    metadata: tuple[tuple[str, str], ...] = ()
    acl: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRecord:
    """A document that cannot be read. ``place`` says where it is, such as ``line 7``."""

    place: str
    reason: str


ReadRecord = SourceRecord | SkippedRecord


def put_title(title: str, content: bytes, mimetype: str) -> tuple[bytes, str]:
    """Returns a content and its type with a title, which feeds have no place for. Other types than text and HTML keep their own title."""
    if title and mimetype == "text/plain":
        text = content.decode("utf-8", "replace")
        html = f"<html><head><title>{escape(title)}</title></head><body><pre>{escape(text)}</pre></body></html>"
        return html.encode("utf-8", "replace"), "text/html"
    if title and mimetype == "text/html":
        # the first title of a page is its title, and ASCII is right before any encoding that the page names
        return f"<title>{escape(title)}</title>".encode("ascii", "xmlcharrefreplace") + content, mimetype
    return content, mimetype
