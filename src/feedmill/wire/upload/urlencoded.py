"""A form-urlencoded body: ``name=value`` pairs between ``&``, ``+`` for a blank, ``%XX`` for a byte.

Values are decoded as they arrive, in pieces of bounded size, so that a feed of 1 GB costs no memory. A ``%`` that no two hexadecimal
digits follow stands for itself, as browsers read it. Source: WHATWG URL, "application/x-www-form-urlencoded parsing".
"""

from collections.abc import Iterator
from typing import Final

from feedmill.model.errors import BadRequest
from feedmill.wire.upload.form import FieldStart, FormEvent

MAX_NAME_BYTES: Final = 1024
MAX_PAIRS: Final = 64
_PIECE_BYTES: Final = 65_536
_HEX: Final = b"0123456789ABCDEFabcdef"
_BYTE_OF: Final = {bytes((high, low)): bytes((int(bytes((high, low)), 16),)) for high in _HEX for low in _HEX}


class UrlEncodedReader:
    """Reads one urlencoded body."""

    def __init__(self) -> None:
        self._name: bytearray | None = bytearray()
        self._rest = b""
        self._pairs = 1

    def read_events(self, chunk: bytes) -> Iterator[FormEvent]:
        """Yields fields and their decoded bytes. Errors: BadRequest for an endless name or too many pairs."""
        # ``split`` copies what it splits, so large chunks are split piece by piece.
        for start in range(0, len(chunk), _PIECE_BYTES):
            piece = chunk[start : start + _PIECE_BYTES]
            first, *others = piece.split(b"&")
            yield from self._read_part(first)
            for part in others:
                yield from self._end_pair()
                self._pairs += 1
                if self._pairs > MAX_PAIRS:
                    raise BadRequest(f"the form has more than {MAX_PAIRS} fields; an ampersand inside the feed must be sent as %26")
                yield from self._read_part(part)

    def finish(self) -> Iterator[FormEvent]:
        """Yields the rest of the last value."""
        yield from self._end_pair()

    def _read_part(self, part: bytes) -> Iterator[FormEvent]:
        """Reads bytes without ``&``: of a name, of a value, or of both."""
        if self._name is not None:
            name, equals, part = part.partition(b"=")
            self._name += name
            if len(self._name) > MAX_NAME_BYTES:
                raise BadRequest(f"the body is no form: a field's name is longer than {MAX_NAME_BYTES} bytes; send multipart/form-data")
            if not equals:
                return
            yield self._start_value(self._name)
            self._name = None
        decoded = self._decode(part)
        if decoded:
            yield decoded

    def _start_value(self, name: bytearray) -> FieldStart:
        return FieldStart(decode_percent(bytes(name)).decode("utf-8", "replace"))

    def _decode(self, part: bytes) -> bytes:
        """Returns a value's next bytes, decoded. Buffers an escape that is cut in the middle."""
        text = self._rest + part
        # An escape has three bytes, so a ``%`` in one of the last two places may be cut.
        cut = text.rfind(b"%", max(0, len(text) - 2))
        self._rest = text[cut:] if cut >= 0 else b""
        return decode_percent(text[:cut] if cut >= 0 else text)

    def _end_pair(self) -> Iterator[FormEvent]:
        if self._name:
            yield self._start_value(self._name)
        if self._rest:
            yield decode_percent(self._rest)
        self._rest = b""
        self._name = bytearray()


def decode_percent(text: bytes) -> bytes:
    """Returns bytes with ``+`` and ``%XX`` decoded; anything else stays as it is."""
    # ``+`` is replaced first: an escaped plus (``%2B``) must remain one.
    first, *others = text.replace(b"+", b" ").split(b"%")
    if not others:
        return first
    pieces = [first]
    for other in others:
        byte = _BYTE_OF.get(other[:2])
        pieces += (b"%", other) if byte is None else (byte, other[2:])
    return b"".join(pieces)
