"""Recognises the format of a body by its first bytes, because clients' headers are unreliable.

In this order:

1. The header names a multipart boundary and its delimiter opens the body, or opens a line in the first bytes (a preamble): multipart.
2. The body begins with ``--``: multipart with the boundary in its first line.
3. The first character other than white space and a byte order mark is ``<``: the feed itself, as raw XML.
4. Anything else is form-urlencoded, whatever the header says; the guide's own sample sends it as ``multipart/form-data``.

A boundary may hold any bytes but line ends: the adaptor library's is ``<<``, unquoted, and others end in ``$``.
Source: ``GsaFeedFileSender`` of googlegsa/library and googlegsa/gsafeed.
"""

import re
from dataclasses import dataclass
from typing import Final

from feedmill.model.errors import BadRequest

HEAD_BYTES: Final = 4096
"""After this many bytes the format is decided without waiting for more."""

MAX_BOUNDARY_BYTES: Final = 256
_SPACE: Final = b" \t\r\n"
_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BOUNDARY: Final = re.compile(r';\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Multipart:
    """A multipart body. ``skip``: the number of bytes before the parser's input. ``has_bare_lines``: its first line ends in LF alone."""

    boundary: bytes
    skip: int = 0
    has_bare_lines: bool = False


@dataclass(frozen=True, slots=True)
class UrlEncoded:
    """A form-urlencoded body."""


@dataclass(frozen=True, slots=True)
class RawXml:
    """A body that is the feed itself."""


BodyFormat = Multipart | UrlEncoded | RawXml


def find_boundary(content_type: str) -> bytes | None:
    """Returns the boundary in a Content-Type header, quoted or not; None if it is missing or invalid."""
    match = _BOUNDARY.search(content_type)
    if match is None:
        return None
    quoted, bare = match.groups()
    text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else bare.strip()
    boundary = text.encode("latin-1", "replace")
    return boundary if 0 < len(boundary) <= MAX_BOUNDARY_BYTES and not re.search(rb"[\r\n]", boundary) else None


def sniff(head: bytes, boundary: bytes | None, *, is_whole: bool) -> BodyFormat | None:
    """Returns a body's format, None if more bytes are needed. Errors: BadRequest for a delimiter line without an end."""
    is_enough = is_whole or len(head) >= HEAD_BYTES
    if boundary is not None:
        if _opens_line(head[:HEAD_BYTES], boundary):
            return Multipart(boundary)
        if not is_enough:
            return None
    lead = len(head) - len(head.lstrip(_SPACE))
    text = head[lead:]
    if text.startswith(b"--"):
        return _read_first_line(text, lead, is_whole=is_whole)
    # The longest byte order mark has three bytes.
    if len(text) < 3 and not is_enough:
        return None
    for mark in _MARKS:
        if text.startswith(mark):
            # In UTF-16 a zero byte stands beside each ASCII character.
            text = text[len(mark) :].lstrip(_SPACE + b"\x00")
            break
    if not text and not is_enough:
        return None
    return RawXml() if text.lstrip(b"\x00").startswith(b"<") else UrlEncoded()


def _opens_line(head: bytes, boundary: bytes) -> bool:
    delimiter = b"--" + boundary
    if head.startswith((delimiter + b"\r\n", delimiter + b"--")):
        return True
    return b"\r\n" + delimiter + b"\r\n" in head


def _read_first_line(text: bytes, lead: int, *, is_whole: bool) -> Multipart | None:
    line, end, _ = text.partition(b"\n")
    if len(line) > MAX_BOUNDARY_BYTES + 3 or (is_whole and not end):
        raise BadRequest("the body begins like multipart/form-data but its first line is no delimiter")
    if not end:
        return None
    return Multipart(line[2:].removesuffix(b"\r"), skip=lead, has_bare_lines=not line.endswith(b"\r"))
