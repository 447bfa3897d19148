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


def wrap_title(title: str, text: str) -> bytes:
    """Returns HTML of a title and a plain text."""
    return f"<html><head><title>{escape(title)}</title></head><body><pre>{escape(text)}</pre></body></html>".encode()
