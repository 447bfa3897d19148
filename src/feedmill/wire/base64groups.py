"""Decodes base64 piece by piece, wherever the pieces are cut. Padding is optional. Source: RFC 4648, 4."""

import pybase64

NO_BASE64 = "it is not base64"
WHITE_SPACE = b" \t\r\n"
"""What stands between characters without a meaning; the caller removes it."""


class Base64Groups:
    """Decodes one text by its groups of four characters. Errors of both methods: ValueError, whose text says what is wrong."""

    def __init__(self) -> None:
        self._rest = b""

    def decode(self, characters: bytes) -> bytes:
        """Returns what the next characters decode to. The last group waits, because it may hold the padding."""
        held = self._rest + characters
        whole = max(len(held) - 1, 0) // 4 * 4
        self._rest = held[whole:]
        return _decode_groups(held[:whole])

    def finish(self) -> bytes:
        """Returns what the last group decodes to."""
        last, self._rest = self._rest.rstrip(b"="), b""
        if len(last) % 4 == 1:
            raise ValueError("its base64 ends within a character")
        return _decode_groups(last + b"=" * (-len(last) % 4))


def _decode_groups(groups: bytes) -> bytes:
    try:
        return bytes(pybase64.b64decode(groups, validate=True))
    except ValueError as exc:
        raise ValueError(NO_BASE64) from exc
