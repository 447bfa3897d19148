"""Bodies of requests, which are sent piece by piece, so that their size does not matter."""

import json
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from feedmill_client._flows import End, Flow, Pull, perform
from feedmill_client.decoding import encode
from feedmill_client.errors import BadRequest

PIECE_BYTES: Final = 1 << 20
LINES_BYTES: Final = 1 << 16
"""Lines are gathered up to this size, since a document may be small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How much of a push was sent. ``total_bytes`` is None where it is not known before; ``documents`` is None for a file."""

    sent_bytes: int
    total_bytes: int | None = None
    documents: int | None = None


OnProgress = Callable[[Progress], object]
"""Is called after each piece that was sent."""


def ignore_progress(_progress: Progress) -> None:
    """Does nothing."""


class Body(Protocol):
    """The body of a request. ``length_bytes`` is None where it is sent in chunks."""

    content_type: str

    @property
    def length_bytes(self) -> int | None: ...

    def can_begin(self) -> bool:
        """Returns whether the body can be sent from its beginning: what an iterator has given cannot be sent again."""
        ...

    def begin(self) -> None:
        """Begins with the first piece."""
        ...

    def read_piece(self) -> Flow[bytes]:
        """Returns the next piece, b"" after the last one."""
        ...

    def end(self) -> None:
        """Closes what ``begin`` has opened."""
        ...


class JsonBody:
    """A value as JSON."""

    content_type = "application/json"

    def __init__(self, value: object) -> None:
        self._data = json.dumps(encode(value)).encode()
        self._rest = b""

    @property
    def length_bytes(self) -> int:
        return len(self._data)

    def can_begin(self) -> bool:
        return True

    def begin(self) -> None:
        self._rest = self._data

    def read_piece(self) -> Flow[bytes]:
        # a flow without effects
        yield from ()
        piece, self._rest = self._rest, b""
        return piece

    def end(self) -> None:
        return


class FormBody:
    """A form whose last field, ``data``, is a file. Errors of reading: BadRequest for a file that becomes shorter meanwhile."""

    def __init__(self, fields: Mapping[str, str], file: Path, on_progress: OnProgress) -> None:
        boundary = f"feedmill-{secrets.token_hex(16)}"
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self._file, self._on_progress = file, on_progress
        parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="data"\r\nContent-Type: text/xml\r\n\r\n')
        self._head, self._tail = "".join(parts).encode("utf-8", "replace"), f"\r\n--{boundary}--\r\n".encode()
        self._stream: BinaryIO | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._file_bytes = self._sent = self._told = 0

    @property
    def length_bytes(self) -> int:
        return len(self._head) + self._file_bytes + len(self._tail)

    def can_begin(self) -> bool:
        return True

    def begin(self) -> None:
        self._stream = self._file.open("rb")
        self._file_bytes, self._sent, self._told = self._file.stat().st_size, 0, 0
        self._pieces = self._iter_pieces(self._stream)

    def read_piece(self) -> Flow[bytes]:
        if self._sent > self._told:
            self._told = self._sent
            self._on_progress(Progress(sent_bytes=self._sent, total_bytes=self._file_bytes))
        piece = yield from perform(Pull(self._pieces, is_file=True))
        return b"" if isinstance(piece, End) else piece

    def end(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def _iter_pieces(self, stream: BinaryIO) -> Iterator[bytes]:
        """Yields exactly the announced number of bytes."""
        yield self._head
        while self._sent < self._file_bytes:
            piece = stream.read(min(PIECE_BYTES, self._file_bytes - self._sent))
            if not piece:
                raise BadRequest("the file became shorter while it was being sent")
            self._sent += len(piece)
            yield piece
        yield self._tail


class LinesBody:
    """JSON lines of documents as they come."""

    content_type = "application/x-ndjson"
    length_bytes = None

    def __init__(self, documents: Iterable[Any] | AsyncIterable[Any], on_progress: OnProgress) -> None:
        self._documents, self._on_progress = documents, on_progress
        self._source: Iterator[Any] | AsyncIterator[Any] = iter(())
        self._sent_documents = self._sent_bytes = 0
        self._is_over = False

    def can_begin(self) -> bool:
        # an iterator is its own iterator: it continues where it was
        is_spent = self._sent_documents > 0 and isinstance(self._documents, (Iterator, AsyncIterator))
        return not is_spent

    def begin(self) -> None:
        self._source = aiter(self._documents) if isinstance(self._documents, AsyncIterable) else iter(self._documents)
        self._sent_documents, self._sent_bytes, self._is_over = 0, 0, False

    def read_piece(self) -> Flow[bytes]:
        if self._sent_bytes:
            self._on_progress(Progress(sent_bytes=self._sent_bytes, documents=self._sent_documents))
        lines = bytearray()
        while not self._is_over and len(lines) < LINES_BYTES:
            document = yield from perform(Pull(self._source))
            if isinstance(document, End):
                self._is_over = True
            else:
                lines += json.dumps(encode(document)).encode() + b"\n"
                self._sent_documents += 1
        self._sent_bytes += len(lines)
        return bytes(lines)

    def end(self) -> None:
        return
