"""How many pages a second the crawler's fetcher fetches, and the processor time of each.

The server is a process of its own, which answers every path with a page of 8 KB. Both sides keep 8 connections open. The reference in
the same run is the least that a client in Python can do: http.client, a thread for each connection, no limits, checks or redirects. The
passes of both take turns, and the better one of each counts. Host load, robots.txt and the store are left out.
"""

import asyncio
import http.client
import multiprocessing
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import FetchOptions
from feedmill.model.crawling import CrawlState, FetchRequest

PATHS = 2_000
PARALLEL = 8
PASSES = 3
_BODY = b"<!DOCTYPE html><title>page</title>" + b"<p>some words of a page</p>" * 300
_HEAD = f'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: "1"\r\nContent-Length: {len(_BODY)}\r\n\r\n'.encode()


class _Page(asyncio.Protocol):
    """Answers every request head, whatever it asks for."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            _, _, self._received = self._received.partition(b"\r\n\r\n")
            self._transport.write(_HEAD + _BODY)


def serve(port: Connection) -> None:
    """Serves pages until the process is ended."""

    async def run() -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        port.send(listener.getsockname()[1])
        server = await asyncio.get_running_loop().create_server(_Page, sock=listener)
        await server.serve_forever()

    asyncio.run(run())


async def _fetch_all(port: int) -> None:
    fetcher = HttpFetcher(FetchOptions(allow_private=("/",)))
    numbers = iter(range(PATHS))

    async def work() -> None:
        for number in numbers:
            page = await fetcher.fetch(FetchRequest(url=f"http://127.0.0.1:{port}/{number}", max_bytes=1_000_000, seconds=30.0))
            if page.state is not CrawlState.CRAWLED or len(page.body) != len(_BODY):
                raise AssertionError(page.reason)

    await asyncio.gather(*(work() for _ in range(PARALLEL)))
    await fetcher.close()


def _read_all(port: int) -> None:
    def work(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for number in range(first, PATHS, PARALLEL):
            connection.request("GET", f"/{number}")
            connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=work, args=(first,)) for first in range(PARALLEL)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(run: Callable[[], None]) -> tuple[float, float]:
    """Returns pages a second, and milliseconds of processor time for a page."""
    began, used = time.perf_counter(), time.process_time()
    run()
    return PATHS / (time.perf_counter() - began), (time.process_time() - used) * 1_000 / PATHS


def main() -> None:
    """Prints the better pass of both sides, and the ratios."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("fork").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    try:
        fetched, read = [], []
        for _ in range(PASSES):
            read.append(measure(lambda: _read_all(port)))
            fetched.append(measure(lambda: asyncio.run(_fetch_all(port))))
    finally:
        server.terminate()
        server.join()
    (rate, cost), (plain_rate, plain_cost) = max(fetched), max(read)
    print(f"fetcher      {rate:8,.0f} pages/s  {cost:.3f} ms of processor time a page")
    print(f"http.client  {plain_rate:8,.0f} pages/s  {plain_cost:.3f} ms of processor time a page")
    print(f"ratio        {rate / plain_rate:8.2f} of the pages/s, {cost / plain_cost:.2f} of the time", flush=True)
