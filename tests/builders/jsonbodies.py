"""Bodies of documents as JSON that are made while they are sent, so that their size costs the sender no memory."""

import base64
from collections.abc import Iterator

PAGE_BYTES = 10_000
LARGE_BYTES = 25_000_000

_SENTENCE = "some words of a page that a program has made and sends one after the other\\n"
_LARGE_PIECE_BYTES = 300_000


def iter_documents(name: str, count: int, large: int = 0) -> Iterator[Iterator[bytes]]:
    """Yields documents of 10 KB of text, and ``large`` ones of 25 MB in base64 at even distances among them. Each is in pieces."""
    every = max(1, count // (large + 1))
    for number in range(count):
        yield iter((_make_page(name, number),))
        if number % every == every - 1 and number // every < large:
            yield _iter_large(name, number // every)


def iter_lines(documents: Iterator[Iterator[bytes]]) -> Iterator[bytes]:
    """Yields the pieces of JSON lines."""
    for document in documents:
        yield from document
        yield b"\n"


def iter_array(documents: Iterator[Iterator[bytes]]) -> Iterator[bytes]:
    """Yields the pieces of an array."""
    separator = b"["
    for document in documents:
        yield separator
        yield from document
        separator = b",\n"
    yield b"]"


def _make_page(name: str, number: int) -> bytes:
    text = f"{name}page{number} " + _SENTENCE * (PAGE_BYTES // len(_SENTENCE))
    return f'{{"url": "http://{name}.example.com/{number}", "content": "{text}", "mimetype": "text/plain"}}'.encode("ascii")


def _iter_large(name: str, number: int) -> Iterator[bytes]:
    yield f'{{"url": "http://{name}.example.com/large/{number}", "mimetype": "text/plain", "content_base64": "'.encode("ascii")
    first = f"{name}large{number} ".encode("ascii").ljust(_LARGE_PIECE_BYTES, b"x")
    piece = base64.b64encode(b"lines that all say the same\n".ljust(30) * (_LARGE_PIECE_BYTES // 30))
    yield base64.b64encode(first)
    for _ in range(LARGE_BYTES // _LARGE_PIECE_BYTES - 1):
        yield piece
    yield b'"}'
