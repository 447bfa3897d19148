"""Reads a body that is the feed itself, without a form around it: its XML header holds the fields.

Only the head is searched, without a parser: comments are removed, then the text of ``<datasource>`` and ``<feedtype>``
counts, anywhere in the header before the first group. The feed's own parser reports all faults of the XML.
"""

import re
from collections.abc import Iterator
from typing import Final

from feedmill.wire.upload.form import FieldStart, FormEvent

MAX_HEAD_BYTES: Final = 65_536
"""The maximum position of the header in the body."""

_FIRST_LOOK_BYTES: Final = 512
# A comment may also be cut off by the end of the head.
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEAD_END: Final = re.compile(r"</header\s*>|<group[\s/>]|<record[\s/>]|<membership[\s/>]")
_FIELD: Final = re.compile(r"<(datasource|feedtype)\s*>(?:([^<]{0,1024})|[^<]{0,64}<!\[CDATA\[([^\]]{0,1024})\]\]>[^<]{0,64})</\1\s*>")


class RawXmlReader:
    """Reads a body that is XML; yields the header's fields first and then all of the body as ``data``."""

    def __init__(self) -> None:
        self._head: bytearray | None = bytearray()
        self._next_look = _FIRST_LOOK_BYTES

    def read_events(self, chunk: bytes) -> Iterator[FormEvent]:
        """Buffers the head until the header is complete, then yields everything."""
        if self._head is None:
            yield chunk
            return
        self._head += chunk
        if len(self._head) < self._next_look:
            return
        # Looked at again only after doubling, so that small pieces do not have the whole head searched each time.
        self._next_look = 2 * len(self._head)
        if len(self._head) >= MAX_HEAD_BYTES or _HEAD_END.search(_COMMENT.sub("", decode_head(bytes(self._head)))):
            yield from self._release()

    def finish(self) -> Iterator[FormEvent]:
        """Yields a body that is shorter than the head."""
        if self._head is not None:
            yield from self._release()

    def _release(self) -> Iterator[FormEvent]:
        whole = bytes(self._head or b"")
        self._head = None
        for name, value in scan_header(whole[:MAX_HEAD_BYTES]).items():
            yield FieldStart(name)
            yield value.encode("utf-8")
        yield FieldStart("data")
        yield whole


def scan_header(head: bytes) -> dict[str, str]:
    """Returns datasource and feedtype in the XML header of a feed; missing ones are left out."""
    text = _COMMENT.sub("", decode_head(head))
    end = _HEAD_END.search(text)
    return {name: (plain or quoted).strip() for name, plain, quoted in _FIELD.findall(text[: end.start()] if end else text)}


def decode_head(head: bytes) -> str:
    """Returns the first bytes of a feed as text: UTF-16 if they look like it, otherwise one character a byte, which preserves the names."""
    if head.startswith(b"\xff\xfe") or (head[:4].endswith(b"\x00") and head[:1] == b"<"):
        return head.decode("utf-16-le", "replace")
    if head.startswith((b"\xfe\xff", b"\x00<")):
        return head.decode("utf-16-be", "replace")
    return head.decode("latin-1")
