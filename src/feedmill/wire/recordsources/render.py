"""Writes the documents that the readers return as records of a feed of the appliance."""

from feedmill.wire.recordsources.record import SourceRecord
from feedmill_client import feedxml


def render_record(record: SourceRecord) -> str:
    """Returns the record of a document."""
    parts = [feedxml.begin_record(record.url, record.mimetype, record.attributes)]
    if record.attributes.get("action") != "delete":
        parts += [record.acl, feedxml.render_metadata(record.metadata)]
        if record.content is not None:
            parts.append(feedxml.render_content(_as_text(record.content, record.mimetype)))
    return "".join((*parts, feedxml.END_RECORD))


def _as_text(content: bytes, mimetype: str) -> str | bytes:
    """Returns a text as text, so that the feed stays readable, and everything else as bytes, which are written as base64."""
    if not mimetype.startswith("text/"):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content
