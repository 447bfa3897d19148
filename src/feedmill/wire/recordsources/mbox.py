"""Reads an mbox: each message is a document of the type ``message/rfc822``.

A message begins with a line ``From `` at the beginning of the file or behind an empty line. Its URL is the base URL and its Message-ID, or
its number without one. Source: RFC 4155.
"""

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import BinaryIO, Final
from urllib.parse import quote

from feedmill.model.errors import BadRequest
from feedmill.wire.recordsources.record import MAX_RECORD_BYTES, ReadRecord, SkippedRecord, SourceRecord

_LINE_BYTES: Final = 1 << 20
_HEAD_BYTES: Final = 65_536
_FROM: Final = b"From "


def iter_messages(stream: BinaryIO, base_url: str) -> Iterator[ReadRecord]:
    """Yields the messages. Errors: BadRequest for a file that begins with something else."""
    message, begun_at, number, line_number, after_blank, size = bytearray(), 0, 0, 0, True, 0
    while line := stream.readline(_LINE_BYTES):
        line_number += 1
        if after_blank and line.startswith(_FROM):
            if begun_at:
                yield _make_record(message, size, number, begun_at, base_url)
            message, size, begun_at, number = bytearray(), 0, line_number, number + 1
        elif not begun_at:
            if line.strip():
                raise BadRequest("line 1: this is no mbox: it does not begin with 'From '")
        else:
            size += len(line)
            if size <= MAX_RECORD_BYTES:
                message += line
        after_blank = not line.strip()
    if begun_at:
        yield _make_record(message, size, number, begun_at, base_url)


def _make_record(message: bytearray, size: int, number: int, line: int, base_url: str) -> ReadRecord:
    if size > MAX_RECORD_BYTES:
        return SkippedRecord(place=f"line {line}", reason=f"the message has more than {MAX_RECORD_BYTES} bytes")
    name = _find_header(message, b"message-id").strip().strip("<>") or f"message-{number}"
    attributes = {}
    try:
        parsedate_to_datetime(_find_header(message, b"date"))
        attributes["last-modified"] = _find_header(message, b"date").strip()
    except (ValueError, TypeError, IndexError, OverflowError):
        pass
    return SourceRecord(url=base_url + quote(name, safe="@"), content=bytes(message), mimetype="message/rfc822", attributes=attributes)


def _find_header(message: bytearray, name: bytes) -> str:
    """Returns the first header of a name, unfolded, or ""."""
    for line in re.sub(rb"\r?\n[ \t]+", b" ", bytes(message[:_HEAD_BYTES])).splitlines():
        if not line:
            break
        found, colon, value = line.partition(b":")
        if colon and found.strip().lower() == name:
            return value.decode("latin-1").strip()
    return ""
