"""Splits a stream at its delimiter, and reads its header.

Rules:

1. The header is everything up to the first ``]``. Its checks have the library's order: prefix, length of the version, length of the
   delimiter, characters of the delimiter, version.
2. The delimiter is matched without backtracking: a byte that ends a partial match belongs to the token and starts no match. With the
   delimiter CR LF, the bytes CR CR LF contain no delimiter.
3. The end of the stream ends the last token. A partial delimiter at the end belongs to it.
4. ``C0 80`` stands for NUL and ``C0 8A`` for LF; the delimiter is matched before this, so these bytes never delimit.

Source: googlegsa/library, ``CommandStreamParser.checkHeader``, ``readBytesUntilMarker``, ``convertModifiedUtf8ToStandardUtf8``.
"""

import re

from feedmill.model.errors import BadStream
from feedmill.wire.commandstream.javavalues import MAX_INTEGER, parse_integer, trim

HEADER_PREFIX = "GSA Adaptor Data Version"
MAX_TOKEN_BYTES = 16_000_000
MAX_DELIMITER_BYTES = 1_000

FORBIDDEN_IN_DELIMITER = re.compile(r"[a-zA-Z0-9:/\-_ =+\[\]]")
_AFTER_C0 = re.compile(rb"\xc0(.?)", re.DOTALL)
_DECODED = {b"\x80": b"\x00", b"\x8a": b"\n"}


class Tokenizer:
    """Splits the bytes of a stream, in pieces of any size. Memory: the piece, and one unfinished token.

    ``delimiter`` is empty until the header is read. Errors of all: BadStream.
    """

    def __init__(self) -> None:
        self.delimiter = b""
        self.version = 0
        self.header_bytes = 0
        self._version_text: str | None = None
        self._unfinished = bytearray()
        # the unfinished bytes before this one are part of the token; the others may be the start of a delimiter
        self._scanned = 0

    @property
    def is_header_plain(self) -> bool:
        """Whether exactly one space stands on either side of the version."""
        return self._version_text == f" {self.version} "

    @property
    def unfinished_bytes(self) -> int:
        """How many bytes of the unfinished token are certain; more may be the start of a delimiter."""
        return self._scanned

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the tokens that end in these bytes, empty ones too."""
        if not self.delimiter:
            data = self._read_header(data)
            if not self.delimiter:
                return []
        if len(self.delimiter) == 1:
            first, *others = data.split(self.delimiter)
            self._unfinished += first
            tokens: list[bytes] = []
            if others:
                tokens = [bytes(self._unfinished), *others[:-1]]
                self._unfinished = bytearray(others[-1])
            self._scanned = len(self._unfinished)
            return tokens
        self._unfinished += data
        return self._split_tokens()

    def close(self) -> list[bytes]:
        """Returns the last token if one is unfinished."""
        if not self.delimiter:
            if self._version_text is None:
                self._version_text = _read_version(decode(self._take_unfinished()))
            self._read_delimiter(self._take_unfinished())
        rest = self._take_unfinished()
        return [rest] if rest else []

    def take_rest(self, tokens: list[bytes]) -> bytes:
        """Returns the bytes of these tokens, the last ones that were returned, and of the unfinished one, with their delimiters."""
        return self.delimiter.join([*tokens, self._take_unfinished()])

    def _take_unfinished(self) -> bytes:
        taken = bytes(self._unfinished)
        self._unfinished, self._scanned = bytearray(), 0
        return taken

    def _split_tokens(self) -> list[bytes]:
        delimiter, buffer = self.delimiter, self._unfinished
        first, size = delimiter[:1], len(delimiter)
        tokens: list[bytes] = []
        begin, at = 0, self._scanned
        while (at := buffer.find(first, at)) >= 0:
            if buffer.startswith(delimiter, at):
                tokens.append(bytes(buffer[begin:at]))
                begin = at = at + size
                continue
            matched = 1
            while at + matched < len(buffer) and buffer[at + matched] == delimiter[matched]:
                matched += 1
            if at + matched == len(buffer):
                break
            # the byte that differs starts no match (rule 2)
            at += matched + 1
        self._scanned = (len(buffer) if at < 0 else at) - begin
        del buffer[:begin]
        return tokens

    def _read_header(self, data: bytes) -> bytes:
        """Collects the header and returns the bytes after it, none while it is incomplete."""
        if self._version_text is None:
            head, found, data = data.partition(b"[")
            self._collect(head + found)
            if not found:
                return b""
            self._version_text = _read_version(decode(self._take_unfinished()[:-1]))
        head, found, data = data.partition(b"]")
        self._collect(head + found)
        if not found:
            return b""
        self._read_delimiter(self._take_unfinished()[:-1])
        return data

    def _collect(self, head: bytes) -> None:
        self.header_bytes += len(head)
        self._unfinished += head
        if len(self._unfinished) > MAX_TOKEN_BYTES:
            raise BadStream(f"a header is longer than {MAX_TOKEN_BYTES} bytes")

    def _read_delimiter(self, raw: bytes) -> None:
        delimiter = decode(raw)
        if not delimiter:
            raise BadStream("Delimiter must be at least one character long.")
        if FORBIDDEN_IN_DELIMITER.search(delimiter):
            raise BadStream("Invalid character in delimiter.")
        version = parse_integer(trim(self._version_text or ""), MAX_INTEGER)
        if version is None:
            raise BadStream(f"Format version '{self._version_text}' is invalid.")
        encoded = delimiter.encode()
        if len(encoded) > MAX_DELIMITER_BYTES:
            raise BadStream(f"the delimiter is longer than {MAX_DELIMITER_BYTES} bytes")
        self.version, self.delimiter = version, encoded


def decode(raw: bytes) -> str:
    """Returns the text of modified UTF-8. Errors: BadStream."""
    if b"\xc0" in raw:
        raw = _AFTER_C0.sub(_decode_pair, raw)
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        raise BadStream(f"Invalid UTF-8 byte sequence: {exc.reason} at byte {exc.start} of the text") from exc


def _decode_pair(pair: re.Match[bytes]) -> bytes:
    following = pair[1]
    if not following:
        raise BadStream("Invalid modified UTF-8 byte sequence: trailing 192")
    if following not in _DECODED:
        raise BadStream(f"Invalid modified UTF-8 byte sequence: 192 {following[0]}")
    return _DECODED[following]


def _read_version(head: str) -> str:
    """Returns the text between prefix and bracket."""
    if not head.startswith(HEADER_PREFIX):
        raise BadStream(f"Adaptor data must begin with '{HEADER_PREFIX}'")
    version = head.removeprefix(HEADER_PREFIX)
    # the library counts UTF-16 code units
    if len(version.encode("utf-16-le")) < 6:
        raise BadStream(
            f"Format version '{version}' is invalid. The version must be at least one digit with one leading space and one trailing space."
        )
    return version
