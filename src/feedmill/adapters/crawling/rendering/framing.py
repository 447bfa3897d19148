"""The messages of the DevTools protocol over a stream: JSON objects, each ended by a zero byte.

Source: Chromium, content/browser/devtools/devtools_pipe_handler.cc (``--remote-debugging-pipe``).
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from feedmill.model.errors import UpstreamFailure

_END: Final = b"\0"

Message = dict[str, Any]


def write_message(number: int, method: str, parameters: Mapping[str, object], session: str = "") -> bytes:
    """Returns a command. Shape: ``session`` "" is the browser itself, otherwise one of its pages."""
    message: Message = {"id": number, "method": method, "params": parameters}
    if session:
        message["sessionId"] = session
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii") + _END


class MessageReader:
    """Reads messages out of pieces of a stream. Units: ``max_bytes`` of one message."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._held = 0

    def read(self, data: bytes) -> list[Message]:
        """Returns the messages that a piece completes. Errors: UpstreamFailure for what is no message, or too long."""
        *ends, rest = data.split(_END)
        messages = []
        for end in ends:
            self._add(end)
            messages.append(_parse(b"".join(self._pieces)))
            self._pieces, self._held = [], 0
        self._add(rest)
        return messages

    def _add(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self._max_bytes:
            raise UpstreamFailure(f"the browser sent a message of more than {self._max_bytes} bytes")
        if piece:
            self._pieces.append(piece)


def _parse(text: bytes) -> Message:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise UpstreamFailure("the browser sent a message that is no JSON") from exc
    if not isinstance(message, dict):
        raise UpstreamFailure("the browser sent a message that is no object")
    return message
