"""What a request of the Python client costs, and how much memory a push of any size takes.

A server of a few lines in a process of its own answers every request at once. A request over a kept connection is compared with
``http.client`` over one, which reads the same JSON, and with a connection for each, in CPU time of the client alone. A push is compared
with bare writing of as many bytes to a socket. Memory is the most that a process ever had that only pushes.

``python -m bench.client 4000`` pushes so many megabytes.
"""

import asyncio
import http.client
import json
import multiprocessing
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import MEGABYTE, peak_megabytes
from feedmill_client import AsyncClient, Client

REQUESTS = 2_000
PATH = "/api/v1/suggest?q=x&num=10"
_SUGGESTIONS = json.dumps({"query": "x", "suggestions": ["travel expenses"] * 10}).encode()
_RECEIPT = json.dumps(
    dict.fromkeys(("records", "finished_at", "searchable_at"))
    | {"id": "7", "datasource": "d", "feedtype": "incremental", "groups": False, "state": "received", "client": "", "log": []}
    | {"received_at": "2026-01-01T00:00:00Z", "size_bytes": 1, "included": 0, "errors": 0}
).encode()


def _answer(peer: socket.socket) -> None:
    with peer, peer.makefile("rb") as stream:
        while first := stream.readline():
            head = b"".join(iter(stream.readline, b"\r\n"))
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            if b"chunked" in head.lower():
                while size := int(stream.readline(), 16):
                    _skip(stream.read, size + 2)
                stream.readline()
            else:
                _skip(stream.read, int(length[1]) if length else 0)
            body, more = (b"Success", b"X-Feedmill-Feed: 7\r\n") if b"xmlfeed" in first else (_RECEIPT, b"")
            body = _SUGGESTIONS if first.startswith(b"GET") else body
            peer.sendall(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (more, len(body)) + body)


def _skip(read: Callable[[int], bytes], size: int) -> None:
    while size:
        size -= len(read(min(size, 1 << 20)))


def _serve(pipe: Connection) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1_000) as listener:
        pipe.send(listener.getsockname()[1])
        while True:
            peer, _ = listener.accept()
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_answer, args=(peer,), daemon=True).start()


def main(megabytes: int = 1_000) -> None:
    """Prints microseconds a request, megabytes a second, and memory."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        port = ours.recv()
        measure_requests(port)
        measure_pushes(port, megabytes)
    finally:
        server.terminate()
        server.join()


def measure_requests(port: int) -> None:
    """Measures requests of each kind of client."""
    url = f"http://127.0.0.1:{port}"

    def ask_plainly() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.connect()
        for _ in range(REQUESTS):
            connection.request("GET", PATH)
            json.loads(connection.getresponse().read())
        connection.close()

    def ask_with_connections() -> None:
        for _ in range(REQUESTS):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", PATH)
            json.loads(connection.getresponse().read())
            connection.close()

    def ask() -> None:
        with Client(search=url) as client:
            for _ in range(REQUESTS):
                client.suggest("x")

    async def ask_asynchronously() -> None:
        async with AsyncClient(search=url) as client:
            for _ in range(REQUESTS):
                await client.suggest("x")

    runs: dict[str, Callable[[], object]] = {
        "http.client, one connection": ask_plainly,
        "http.client, one each": ask_with_connections,
        "Client": ask,
        "AsyncClient": lambda: asyncio.run(ask_asynchronously()),
    }
    reference = 0.0
    for name, run in runs.items():
        run()
        began = time.process_time()
        run()
        spent = (time.process_time() - began) / REQUESTS * 1e6
        reference = reference or spent
        print(f"  {name}: {spent:.0f} us of CPU a request, {spent / reference:.1f} of the first")


def measure_pushes(port: int, megabytes: int) -> None:
    """Measures pushes of each kind of client, in a process each."""
    with TemporaryDirectory(prefix="feedmill-client-") as folder:
        file = Path(folder) / "feed.xml"
        with file.open("wb") as stream:
            stream.truncate(megabytes * MEGABYTE)
        # the first reading of a file of holes is slow
        with file.open("rb") as stream:
            while stream.read(1 << 20):
                pass
        url = f"http://127.0.0.1:{port}"
        runs: dict[str, Callable[[], object]] = {
            "nothing": lambda: None,
            "bare writing": lambda: _write(port, megabytes * MEGABYTE),
            "push of a file": lambda: Client(feeds=url).push(file, datasource="d"),
            "push of a file, asyncio": lambda: asyncio.run(AsyncClient(feeds=url).push(file, datasource="d")),
            "push_documents": lambda: Client(feeds=url).push_documents(_make(megabytes), datasource="d"),
            "push_documents, asyncio": lambda: asyncio.run(AsyncClient(feeds=url).push_documents(_make(megabytes), datasource="d")),
        }
        for name, run in runs.items():
            seconds, peak = _run_alone(run)
            print(f"  {name}: {megabytes / seconds:.0f} MB/s, memory {peak:.0f} MB")


def _make(megabytes: int) -> Iterator[dict[str, object]]:
    content = "words " * 1_650
    for number in range(megabytes * 100):
        yield {"url": f"http://wiki.example.com/{number}", "content": content}


def _write(port: int, size: int) -> None:
    piece = bytes(1 << 20)
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // len(piece)):
            peer.sendall(piece)
        peer.sendall(bytes(size % len(piece)))
        peer.recv(1 << 16)


def _run_alone(run: Callable[[], object]) -> tuple[float, float]:
    ours, theirs = multiprocessing.Pipe()

    def measure() -> None:
        began = time.perf_counter()
        run()
        theirs.send((time.perf_counter() - began, peak_megabytes(os.getpid())))

    process = multiprocessing.get_context("fork").Process(target=measure)
    process.start()
    found: tuple[float, float] = ours.recv()
    process.join()
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
