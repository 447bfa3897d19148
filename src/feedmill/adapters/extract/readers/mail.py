"""Reads mail: subject as title, the other headers as metadata, text and HTML parts, names of attachments and the text of simple ones."""

import email
import email.policy
import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content
from feedmill.adapters.extract.readers.html import read_html
from feedmill.adapters.extract.readers.plaintext import read_plain
from feedmill.adapters.extract.structure import END, mark, mark_cell, mark_heading
from feedmill.core.text.structure import Kind
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits

_HEADERS = ("From", "To", "Cc", "Date", "Subject", "Message-ID", "Reply-To", "In-Reply-To")
_SHOWN_HEADERS = ("From", "To", "Cc", "Date")
_MAX_PARTS = 200
_MAX_DEPTH = 10
# RFC 2047, 2
_ENCODED_WORD = re.compile(r"(=\?[^?\s]{1,70}\?[BQ]\?[^?\s]{0,2000}\?=)", re.IGNORECASE)


def read_mail(data: bytes, limits: ExtractionLimits) -> Content:
    """Reads a message. Errors: none, a broken message yields its readable parts."""
    # This policy returns headers as they were written. The newer ones parse them at each access and may fail on damaged ones.
    message = email.message_from_bytes(data, policy=email.policy.compat32)
    metadata = _read_headers(message)
    subject = next((value for name, value in metadata if name == "Subject"), None)
    texts = _mark_headers(metadata)
    _read_part(message, limits, texts, 0)
    return Content(text="\n".join(texts), title=subject, metadata=metadata)


def _read_headers(message: Message) -> Metadata:
    found: list[tuple[str, str]] = []
    for name in _HEADERS:
        values = (clean_line(_decode_header(str(raw)), 4_000) for raw in message.get_all(name, [])[:20])
        found += [(name, value) for value in values if value]
    return tuple(found)


def _mark_headers(metadata: Metadata) -> list[str]:
    """Returns the headers that people read: the subject as a heading, and a table of the others with their names."""
    subjects = [f"{mark_heading(1)}{value}{END}" for name, value in metadata if name == "Subject"]
    rows = [
        f"{mark(Kind.ROW)}{mark_cell(is_header=True)}{name}: {mark_cell()}{value}"
        for wanted in _SHOWN_HEADERS
        for name, value in metadata
        if name == wanted
    ]
    table = [f"{mark(Kind.TABLE)}" + "\n".join(rows) + END] if rows else []
    return [*subjects, *table]


def _decode_header(raw: str) -> str:
    """Returns a header with its encoded words decoded. Bytes that were not encoded come as surrogates and are decoded like any text."""
    flat = raw.encode("utf-8", "surrogateescape")
    text = decode(flat)
    if "=?" not in text:
        return text
    text = text[:10_000]
    try:
        return _decode_words(text)
    except HeaderParseError:
        return "".join(_decode_one(piece) for piece in _ENCODED_WORD.split(text))


def _decode_words(text: str) -> str:
    """Returns a text with its encoded words decoded. Errors: HeaderParseError if one of them is damaged."""
    return "".join(decode(chunk, charset) if isinstance(chunk, bytes) else chunk for chunk, charset in decode_header(text))


def _decode_one(piece: str) -> str:
    """Returns a decoded word; any other text, and a damaged word, stays as it is."""
    try:
        return _decode_words(piece) if piece.startswith("=?") else piece
    except HeaderParseError:
        return piece


def _read_part(part: Message, limits: ExtractionLimits, texts: list[str], depth: int) -> None:
    if len(texts) > _MAX_PARTS or depth > _MAX_DEPTH:
        return
    kind = part.get_content_type()
    children = part.get_payload()
    if isinstance(children, list):
        for child in _choose(kind, [child for child in children if isinstance(child, Message)]):
            _read_part(child, limits, texts, depth + 1)
        return
    if name := clean_line(_decode_header(str(part.get_filename() or "")), 200):
        texts.append(name)
    if kind.startswith("text/"):
        texts.append(_read_text(part, kind, limits))


def _choose(kind: str, parts: list[Message]) -> list[Message]:
    """Returns one of the alternatives: the plain text if it is not empty, otherwise the last, which senders prefer (RFC 2046, 5.1.4)."""
    if kind != "multipart/alternative":
        return parts
    plain = [part for part in parts if part.get_content_type() == "text/plain" and str(part.get_payload()).strip()]
    return plain[:1] or parts[-1:]


def _read_text(part: Message, kind: str, limits: ExtractionLimits) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    if kind != "text/html":
        return read_plain(data, charset).text
    return read_html(decode(data, charset, is_markup=True), "", limits).text
