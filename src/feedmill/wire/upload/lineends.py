"""Writes the line ends that a multipart body must have, for clients whose lines end in LF alone. Values stay as they are.

Source: RFC 2046, 4.1.1, requires CRLF; scripts that join lines by hand send LF.
"""

from typing import Final

from feedmill.model.errors import BadRequest

MAX_LINE_BYTES: Final = 8_192
"""The maximum length of a line of a part's head."""

_CRLF: Final = b"\r\n"


class LineEndRepairer:
    """Repairs one body, which begins with a delimiter."""

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\n--" + boundary
        self._last_line = b"--" + boundary + b"--"
        self._rest = b""
        self._is_in_head = True
        self._is_over = False

    def repair(self, chunk: bytes) -> bytes:
        """Returns the next bytes of the body, as far as they are certain. Errors: BadRequest for an endless line of a head."""
        data, at = self._rest + chunk, 0
        repaired: list[bytes] = []
        while not self._is_over:
            if self._is_in_head:
                end = data.find(b"\n", at)
                if end < 0:
                    break
                line = data[at:end].removesuffix(b"\r")
                repaired += (line, _CRLF)
                self._is_in_head, self._is_over = bool(line), line.rstrip() == self._last_line
                at = end + 1
                continue
            found = data.find(self._delimiter, at)
            if found < 0:
                # a delimiter may begin in the last bytes, behind a carriage return that belongs to it
                kept = max(at, len(data) - len(self._delimiter))
                repaired.append(data[at:kept])
                at = kept
                break
            has_return = found > at and data[found - 1 : found] == b"\r"
            repaired += (data[at : found - has_return], _CRLF)
            self._is_in_head, at = True, found + 1
        self._rest = b"" if self._is_over else data[at:]
        if self._is_in_head and len(self._rest) > MAX_LINE_BYTES:
            raise BadRequest(f"the multipart body has a part whose head has a line of more than {MAX_LINE_BYTES} bytes")
        return b"".join(repaired)

    def finish(self) -> bytes:
        """Returns the last line, which may have no end."""
        last, self._rest = self._rest, b""
        return last
