"""A feed port on a free port of this machine, with a real store and folder behind it, and raw sockets to speak to it."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.adapters.store.engine import SqlStore
from feedmill.http.feeds.app import gate_app
from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.model.feed import Feed
from feedmill.model.topic import Topic
from feedmill.ports import FeedFiles, Store
from feedmill.runtime.server.listeners import GateProtocol
from feedmill.services.feeds.intake import Intake
from tests.migratedstore import open_migrated
from tests.waiting import PATIENCE_SECONDS

DTD = "<!ELEMENT gsafeed (header, group+)>\n<!ELEMENT acl (principal*)>\n"


class CountingNotifier:
    """Records the topics of notifications."""

    def __init__(self) -> None:
        self.notified: list[Topic] = []

    def notify(self, topic: Topic) -> None:
        self.notified.append(topic)

    def wait(self, timeout_seconds: float) -> None:
        raise AssertionError("the gate waits for no notification")


@dataclass
class Gate:
    """A running feed port."""

    port: int
    store: SqlStore
    folder: Path
    notifier: CountingNotifier
    counted: list[tuple[str, int]] = field(default_factory=list)

    def feeds(self) -> list[Feed]:
        with self.store.reading() as unit:
            return unit.feeds.reader.list_newest(None, 1000)

    def content(self, feed: Feed) -> bytes:
        return (self.folder / feed.file).read_bytes()

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def send(self, request: bytes) -> bytes:
        """Sends bytes and returns all that comes back until the server closes or the answer is whole."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS) as connection:
            connection.sendall(request)
            return read_answer(connection)

    def post(self, body: bytes, content_type: str, *headers: str, path: str = "/xmlfeed") -> bytes:
        lines = [f"POST {path} HTTP/1.1", "Host: gsa:19900", f"Content-Type: {content_type}", f"Content-Length: {len(body)}", *headers]
        return self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def get(self, path: str, *headers: str, method: str = "GET") -> bytes:
        return self.send("\r\n".join([f"{method} {path} HTTP/1.1", "Host: gsa:19900", *headers, "", ""]).encode("latin-1"))


def read_answer(connection: socket.socket) -> bytes:
    """Reads one answer to its end by its Content-Length, passing over interim ones; what came before a broken connection counts."""
    answer = b""
    while True:
        head, end, body = answer.partition(b"\r\n\r\n")
        if end and head.startswith(b"HTTP/1.1 100"):
            answer = body
            continue
        if end and len(body) >= int(header(answer, "content-length") or 0):
            return answer
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            return answer
        if not piece:
            return answer
        answer += piece


def header(answer: bytes, name: str) -> str | None:
    """Returns a header of an answer."""
    for line in answer.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.decode("latin-1").lower() == name:
            return value.decode("latin-1").strip()
    return None


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


@contextmanager
def serve(app: ASGIApp) -> Iterator[int]:
    """Runs an application on a free port and yields the port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    config = uvicorn.Config(
        app, http=GateProtocol, lifespan="off", log_config=None, server_header=False, proxy_headers=False, timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        listener.close()


@contextmanager
def run_gate(
    folder: Path,
    config: GateConfig | Callable[[], GateConfig] | None = None,
    *,
    wrap_files: Callable[[FeedFiles], FeedFiles] = lambda files: files,
    wrap_store: Callable[[Store], Store] = lambda store: store,
    reserve_bytes: int = 0,
) -> Iterator[Gate]:
    """Runs a feed port; the wraps let a test put trouble between it and the disk."""
    current = config if callable(config) else lambda: config or GateConfig()
    store = open_migrated(folder / "store.db")
    files = FolderFeedFiles(folder / "feeds", reserve_bytes=reserve_bytes)
    gate = Gate(port=0, store=store, folder=folder / "feeds", notifier=CountingNotifier())
    intake = Intake(store=wrap_store(store), files=wrap_files(files), notifier=gate.notifier, clock=lambda: datetime.now(UTC))
    app = gate_app(
        config=current, intake=intake, dtd=DTD, count_feed=lambda kind, size: gate.counted.append((kind, size)), find_problems=list
    )
    try:
        with serve(app) as port:
            gate.port = port
            yield gate
    finally:
        store.close()
