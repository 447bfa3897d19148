"""A site for the benchmarks of the crawler: every page follows from its number, so that the same seed gives the same site.

Each page links to pages that come after it and to others anywhere. Of a hundred pages two are copies of another, two redirect, one is
missing, one fails, one is a PDF and two are slow. The texts are in four languages.
"""

import asyncio
import multiprocessing
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import cache
from multiprocessing.connection import Connection

from tests.officefiles import make_pdf

CHILDREN = 8
FURTHER_LINKS = 4
SLOW_SECONDS = 0.05
PROCESSES = 2
_WORDS = {
    "en": "the server keeps every document that a source has sent and shows it to those who may read it".split(),
    "de": "der Server behält jedes Dokument das eine Quelle gesendet hat und zeigt es denen die es lesen dürfen".split(),
    "fr": "le serveur garde chaque document envoyé par une source et le montre à ceux qui peuvent le lire".split(),
    "es": "el servidor guarda cada documento que una fuente ha enviado y lo muestra a quienes pueden leerlo".split(),
}


class Kind(Enum):
    """What the site answers for a page."""

    PAGE = "page"
    COPY = "copy"
    REDIRECT = "redirect"
    MISSING = "missing"
    FAILING = "failing"
    PDF = "pdf"
    SLOW = "slow"


_KINDS = (
    *(Kind.COPY, Kind.COPY, Kind.REDIRECT, Kind.REDIRECT, Kind.MISSING, Kind.FAILING, Kind.PDF, Kind.SLOW, Kind.SLOW),
    *(Kind.PAGE for _ in range(91)),
)


def kind_of(number: int, seed: int) -> Kind:
    """Returns what the site answers for a page. The pages that lead to all others are ordinary ones."""
    return Kind.PAGE if number < CHILDREN else random.Random(f"{seed} kind {number}").choice(_KINDS)


@cache
def _pdf() -> bytes:
    return make_pdf(["a page of a file"] * 2, "a file")


def body_of(number: int, pages: int, seed: int) -> bytes:
    """Returns the content of a page."""
    if kind_of(number, seed) is Kind.PDF:
        return _pdf()
    # Copies link to the children of the page that they copy, so the children of no page may depend on a copy.
    dice = random.Random(f"{seed} text {number % CHILDREN if kind_of(number, seed) is Kind.COPY else number}")
    language = dice.choice(sorted(_WORDS))
    text = " ".join(dice.choice(_WORDS[language]) + dice.choice(("", "", "", f" {dice.randrange(50_000)}")) for _ in range(300))
    links = "".join(f'<li><a href="/{target}">page {target}</a></li>' for target in list_links(number, pages, seed))
    title = f"<title>page {number}</title>" if kind_of(number, seed) is not Kind.COPY else "<title>copy</title>"
    return f'<!DOCTYPE html><html lang="{language}"><head>{title}</head><body><p>{text}</p><ul>{links}</ul></body></html>'.encode()


def list_links(number: int, pages: int, seed: int) -> list[int]:
    """Lists the pages to which a page links: those behind it, which makes every page reachable, and some others.

    What answers without links passes its children to the page before it.
    """
    dice = random.Random(f"{seed} links {number}")
    children = [child for child in _children(number, pages, seed) if child < pages]
    return children + [dice.randrange(pages) for _ in range(FURTHER_LINKS)]


def _children(number: int, pages: int, seed: int) -> Iterator[int]:
    for child in range(number * CHILDREN + 1, min(number * CHILDREN + CHILDREN + 1, pages)):
        yield child
        if kind_of(child, seed) not in (Kind.PAGE, Kind.SLOW):
            yield from _children(child, pages, seed)


class _Site(asyncio.Protocol):
    """Answers request heads, one after another."""

    def __init__(self, pages: int, seed: int) -> None:
        self._pages = pages
        self._seed = seed
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            answer, seconds = _answer(head.split()[1].decode(), self._pages, self._seed)
            if seconds:
                asyncio.get_running_loop().call_later(seconds, self._transport.write, answer)
            else:
                self._transport.write(answer)


@cache
def _answer(path: str, pages: int, seed: int) -> tuple[bytes, float]:
    """Returns the bytes of an answer, and after how many seconds it is sent."""
    name = path.strip("/") or "0"
    if not name.isdigit() or int(name) >= pages:
        return _make_answer("404 Not Found", b""), 0.0
    number = int(name)
    kind = kind_of(number, seed)
    if kind is Kind.REDIRECT:
        return _make_answer("301 Moved Permanently", b"", f"Location: /{number % CHILDREN}"), 0.0
    if kind is Kind.MISSING:
        return _make_answer("404 Not Found", b""), 0.0
    if kind is Kind.FAILING:
        return _make_answer("500 Internal Server Error", b""), 0.0
    media_type = "application/pdf" if kind is Kind.PDF else "text/html; charset=utf-8"
    body = body_of(number, pages, seed)
    return _make_answer("200 OK", body, f"Content-Type: {media_type}"), SLOW_SECONDS if kind is Kind.SLOW else 0.0


def _make_answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _serve(listener: socket.socket, pages: int, seed: int, ready: Connection) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: _Site(pages, seed), sock=listener)
        for number in range(pages):
            _answer(f"/{number}", pages, seed)
        ready.send(True)
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def serving(pages: int, seed: int) -> Iterator[str]:
    """Serves the site by processes of its own, which make all answers before. Returns its address."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("fork")
    servers = [context.Process(target=_serve, args=(listener, pages, seed, theirs), daemon=True) for _ in range(PROCESSES)]
    for server in servers:
        server.start()
    try:
        for _ in servers:
            ours.recv()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for server in servers:
            server.terminate()
            server.join()
        listener.close()
