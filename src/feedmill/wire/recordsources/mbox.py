"""Reads an mbox: each message is a document of the type ``message/rfc822``.

A message begins with a line ``From `` at the beginning of the file or behind an empty line. Its URL is the base URL and its Message-ID, or
its number without one. Other messages with an ID that was there already have a number behind it; the same message again is the same
document. Source: RFC 4155.
"""

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from hashlib import blake2b
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
    names = _Names()
    while line := stream.readline(_LINE_BYTES):
        line_number += 1
        if after_blank and line.startswith(_FROM):
            if begun_at:
                yield _make_record(message, size, names.choose(message, number), begun_at, base_url)
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
        yield _make_record(message, size, names.choose(message, number), begun_at, base_url)


class _Names:
    """The names of messages, of which no two different messages have the same."""

    def __init__(self) -> None:
        #: of each Message-ID, by its digest, which message has which place, by the digest of the message
        self._places: dict[bytes, dict[bytes, int]] = {}

    def choose(self, message: bytearray, number: int) -> str:
        """Returns the name of a message by its Message-ID, or by its number in the file."""
        name = _find_header(message, b"message-id").strip().strip("<>")
        if not name:
            return f"message-{number}"
        places = self._places.setdefault(blake2b(name.encode(), digest_size=16).digest(), {})
        place = places.setdefault(blake2b(message, digest_size=16).digest(), len(places) + 1)
        return name if place == 1 else f"{name}-{place}"


def _make_record(message: bytearray, size: int, name: str, line: int, base_url: str) -> ReadRecord:
    if size > MAX_RECORD_BYTES:
        return SkippedRecord(place=f"line {line}", reason=f"the message has more than {MAX_RECORD_BYTES} bytes")
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
