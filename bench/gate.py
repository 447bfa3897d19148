"""How fast the feed port takes a large feed, beside a bare uvicorn receiver that writes and syncs the same bytes.

Both run as processes of their own on the same server class and disk, fed by the same sender over loopback, in turns. Prints megabytes a
second of each, their ratio, and the peak memory of each process.
"""

import asyncio
import multiprocessing
import os
import resource
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.http.feeds.app import gate_app
from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.model.topic import Topic
from feedmill.runtime.server.listeners import GateProtocol
from feedmill.services.feeds.intake import Intake

MEGABYTE: Final = 1_000_000
ROUNDS: Final = 5
_HEAD: Final = (
    b'--<<\r\nContent-Disposition: form-data; name="datasource"\r\nContent-Type: text/plain\r\n\r\nbench\r\n'
    b'--<<\r\nContent-Disposition: form-data; name="feedtype"\r\nContent-Type: text/plain\r\n\r\nincremental\r\n'
    b'--<<\r\nContent-Disposition: form-data; name="data"\r\nContent-Type: text/xml\r\n\r\n'
)
_TAIL: Final = b"\r\n--<<--\r\n"
_RECORD: Final = (
    b'<record url="http://bench.example.com/%08d" mimetype="text/html"><metadata><meta name="n" content="%d"/></metadata>'
    b"<content><![CDATA[<html><body>"
    + b"some words of a page that is pushed, one after the other,\n" * 100
    + b"</body></html>]]></content></record>\n"
)


class _SilentNotifier:
    def notify(self, topic: Topic) -> None:
        """Wakes no process."""

    def wait(self, timeout_seconds: float) -> None:
        """Never waits."""


def make_gate(folder: Path) -> ASGIApp:
    """Makes the feed port with a store and a folder of its own."""
    store = open_sqlite(folder / "store.db")
    migrate(store)
    files = FolderFeedFiles(folder / "feeds", reserve_bytes=1)
    intake = Intake(store=store, files=files, notifier=_SilentNotifier(), clock=lambda: datetime.now(UTC))
    return gate_app(config=GateConfig, intake=intake, dtd="", count_feed=lambda _kind, _size: None, find_problems=list)


def make_bare(folder: Path) -> ASGIApp:
    """Makes the reference: every chunk written as it comes, the file synced at the end."""

    async def receive_bare(_scope: Scope, receive: Receive, send: Send) -> None:
        descriptor = os.open(folder / f"{time.time_ns()}", os.O_WRONLY | os.O_CREAT)
        is_more = True
        while is_more:
            message = await receive()
            os.write(descriptor, message.get("body", b""))
            is_more = message.get("more_body", False)
        os.fsync(descriptor)
        os.close(descriptor)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"7")]})
        await send({"type": "http.response.body", "body": b"Success"})

    return receive_bare


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """A receiver that runs as a process of its own."""

    port: int
    pipe: Connection

    def peak_megabytes(self) -> float:
        """Returns the most memory the process ever had."""
        self.pipe.send(None)
        peak: float = self.pipe.recv()
        return peak


def _run(make: Callable[[Path], ASGIApp], folder: Path, listener: socket.socket, pipe: Connection) -> None:
    config = uvicorn.Config(
        make(folder), http=GateProtocol, lifespan="off", log_config=None, access_log=False, server_header=False, proxy_headers=False
    )
    server = uvicorn.Server(config)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(pipe.fileno(), _send_peak, pipe)
        await server.serve(sockets=[listener])

    asyncio.Runner(loop_factory=config.get_loop_factory()).run(serve())


def _send_peak(pipe: Connection) -> None:
    pipe.recv()
    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)


@contextmanager
def run_receiver(make: Callable[[Path], ASGIApp], folder: Path) -> Iterator[Receiver]:
    """Runs a receiver on a free port."""
    folder.mkdir()
    listener = socket.create_server(("127.0.0.1", 0))
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_run, args=(make, folder, listener, theirs))
    process.start()
    try:
        yield Receiver(port=listener.getsockname()[1], pipe=ours)
    finally:
        process.terminate()
        process.join()
        listener.close()


def make_body(megabytes: int) -> bytes:
    """Makes a request body, in the adaptor library's form, that holds a feed of about this size."""
    records: list[bytes] = []
    size_bytes = 0
    while size_bytes < megabytes * MEGABYTE:
        records.append(_RECORD % (len(records), len(records)))
        size_bytes += len(records[-1])
    header = b"<gsafeed><header><datasource>bench</datasource><feedtype>incremental</feedtype></header><group>\n"
    return b"".join((_HEAD, header, *records, b"</group></gsafeed>", _TAIL))


def push(port: int, body: bytes) -> float:
    """Pushes a body and returns the seconds until ``Success``."""
    head = f"POST /xmlfeed HTTP/1.1\r\nHost: bench\r\nContent-Type: multipart/form-data; boundary=<<\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        start = time.perf_counter()
        connection.sendall(head.encode("ascii"))
        connection.sendall(body)
        answer = b""
        while not answer.endswith(b"Success"):
            piece = connection.recv(65536)
            if not piece:
                raise RuntimeError(f"the receiver broke off: {answer!r}")
            answer += piece
        return time.perf_counter() - start


def clear(folder: Path) -> None:
    """Removes what was received, so that the disk does not fill and each round starts alike."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("store.db"):
            path.unlink()
    os.sync()


def main(megabytes: int = 200) -> None:
    """Runs the rounds in turns and prints the medians and their ratio."""
    folder = Path(tempfile.mkdtemp(prefix="feedmill-bench-", dir=os.environ.get("FEEDMILL_BENCH_FOLDER")))
    rates: dict[str, list[float]] = {"gate": [], "bare": []}
    try:
        with run_receiver(make_gate, folder / "gate") as gate, run_receiver(make_bare, folder / "bare") as bare:
            body = make_body(megabytes)
            for _ in range(ROUNDS):
                for name, one in (("gate", gate), ("bare", bare)):
                    rates[name].append(len(body) / MEGABYTE / push(one.port, body))
                    clear(folder)
            peaks = {"gate": gate.peak_megabytes(), "bare": bare.peak_megabytes()}
    finally:
        shutil.rmtree(folder)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, values in rates.items():
        print(f"{name}: {medians[name]:.0f} MB/s (of {', '.join(f'{value:.0f}' for value in values)}), peak {peaks[name]:.0f} MB")
    print(f"accepting a {megabytes} MB feed: {medians['gate'] / medians['bare']:.2f} of a bare receiver (aim 0.9)")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
