"""Decodes the Content-Transfer-Encoding of a part, piece by piece. Mail libraries write base64 there, which browsers no longer do.

Source: RFC 7578, 4.7; RFC 2045, 6.
"""

import binascii
from typing import Final, Protocol

import pybase64

from feedmill.model.errors import BadRequest

_WHITE_SPACE: Final = b" \t\r\n"
_PLAIN: Final = frozenset({"", "7bit", "8bit", "binary"})


class TransferDecoder(Protocol):
    """One transfer encoding."""

    def decode_piece(self, piece: bytes) -> bytes:
        """Returns the next bytes of a value, decoded. Errors: BadRequest."""

    def finish(self) -> bytes:
        """Ends the value and returns its last bytes. Errors: BadRequest."""


class PlainDecoder:
    """No encoding."""

    def decode_piece(self, piece: bytes) -> bytes:
        """Returns the bytes as they are."""
        return piece

    def finish(self) -> bytes:
        """Returns nothing."""
        return b""


class Base64Decoder:
    """Base64, in lines of any length. Padding is optional."""

    def __init__(self) -> None:
        self._rest = b""

    def decode_piece(self, piece: bytes) -> bytes:
        """Returns what the groups of four characters decode to. The last group waits, because it may hold the padding."""
        clean = self._rest + piece.translate(None, _WHITE_SPACE)
        whole = max(len(clean) - 1, 0) // 4 * 4
        self._rest = clean[whole:]
        return _decode_groups(clean[:whole])

    def finish(self) -> bytes:
        """Returns what the last group decodes to."""
        last, self._rest = self._rest.rstrip(b"="), b""
        return _decode_groups(last + b"=" * (-len(last) % 4))


def _decode_groups(groups: bytes) -> bytes:
    try:
        return bytes(pybase64.b64decode(groups, validate=True))
    except (binascii.Error, ValueError) as exc:
        raise BadRequest("a part is not base64 as its Content-Transfer-Encoding says") from exc


def choose_transfer_decoder(encoding: str) -> TransferDecoder:
    """Returns the decoder for a Content-Transfer-Encoding header. Errors: BadRequest for an unknown encoding."""
    name = encoding.strip().lower()
    if name in _PLAIN:
        return PlainDecoder()
    if name == "base64":
        return Base64Decoder()
    raise BadRequest(f"the content-transfer-encoding {encoding[:80]!a} of a part is not known; send base64, binary or none")
