"""Decodes the Content-Transfer-Encoding of a part, piece by piece. Mail libraries write base64 there, which browsers no longer do.

Source: RFC 7578, 4.7; RFC 2045, 6.
"""

from typing import Final, Protocol

from feedmill.model.errors import BadRequest
from feedmill.wire.base64groups import WHITE_SPACE, Base64Groups

_NO_BASE64: Final = "a part is not base64 as its Content-Transfer-Encoding says"
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
        self._groups = Base64Groups()

    def decode_piece(self, piece: bytes) -> bytes:
        """Returns what is certain of the value so far."""
        try:
            return self._groups.decode(piece.translate(None, WHITE_SPACE))
        except ValueError as exc:
            raise BadRequest(_NO_BASE64) from exc

    def finish(self) -> bytes:
        """Returns the last bytes."""
        try:
            return self._groups.finish()
        except ValueError as exc:
            raise BadRequest(_NO_BASE64) from exc


def choose_transfer_decoder(encoding: str) -> TransferDecoder:
    """Returns the decoder for a Content-Transfer-Encoding header. Errors: BadRequest for an unknown encoding."""
    name = encoding.strip().lower()
    if name in _PLAIN:
        return PlainDecoder()
    if name == "base64":
        return Base64Decoder()
    raise BadRequest(f"the content-transfer-encoding {encoding[:80]!a} of a part is not known; send base64, binary or none")
