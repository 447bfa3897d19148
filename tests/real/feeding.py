"""Feeds documents to a running server as a user would, and watches the server meanwhile."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from tests.appliance import FINAL, Appliance
from tests.builders.feedxml import make_feed, make_record
from tests.real.corpus import Document

LARGE_BYTES = 1_000_000
"""A document from so many bytes on is a feed of its own, so that its time shows."""

SLICE_BYTES = 20_000_000

_POLL_SECONDS = 0.25
_CHECKED_AT_ONCE = 20


@dataclass(slots=True, kw_only=True)
class Pushed:
    """A feed on its way. Units: seconds from the push to searchable, None until then."""

    feed: str
    name: str
    size_bytes: int
    pushed_at: float
    state: str = "received"
    seconds: float | None = None
    errors: tuple[str, ...] = ()


def push_all(server: Appliance, documents: Sequence[Document], source: str, work: Path) -> list[Pushed]:
    """Pushes documents: by ``make-feed`` and ``push`` in slices, the large ones as feeds of one record over HTTP."""
    pushed = _push_folder(server, source, [each for each in documents if len(each.data) < LARGE_BYTES], work)
    return pushed + [push_one(server, source, each) for each in documents if len(each.data) >= LARGE_BYTES]


def _push_folder(server: Appliance, source: str, documents: Sequence[Document], work: Path) -> list[Pushed]:
    """Writes documents of one host into a folder and has the program make feeds of it."""
    folder = work / "documents"
    folder.mkdir(parents=True)
    for each in documents:
        target = Path(os.fsdecode(os.fsencode(folder) + unquote_to_bytes(urlsplit(each.url).path)))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(each.data)
    base = f"http://{urlsplit(documents[0].url).netloc}/" if documents else "http://localhost/"
    words = ["make-feed", str(folder), "--datasource", source, "--base-url", base, "--output", str(work / f"{source}.xml")]
    made = json.loads(_run(*words, "--feedtype", "incremental", "--max-bytes", str(SLICE_BYTES)))
    pushed = []
    for file in (Path(each["path"]) for each in made["files"]):
        began, size_bytes = time.monotonic(), file.stat().st_size
        address = f"http://127.0.0.1:{server.gate}"
        answer = json.loads(_run("push", str(file), "--datasource", source, "--feedtype", "incremental", "--url", address))
        pushed.append(Pushed(feed=str(answer["id"]), name=file.name, size_bytes=size_bytes, pushed_at=began))
    return pushed


def push_one(server: Appliance, source: str, document: Document) -> Pushed:
    """Pushes a document as a feed of its own, over HTTP."""
    xml = make_feed(
        make_record(document.url, document.data, mimetype="application/octet-stream"), datasource=source, feedtype="incremental"
    )
    began = time.monotonic()
    feed = server.push(xml, source)
    return Pushed(feed=feed, name=document.url, size_bytes=len(document.data), pushed_at=began)


def _run(*words: str) -> str:
    """Runs the program and returns what it printed as JSON."""
    command = [sys.executable, "-m", "feedmill.cli.main", *words, "--json"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wait_for_all(server: Appliance, pushed: Sequence[Pushed], stalled_seconds: float) -> list[Pushed]:
    """Waits until every feed is searchable; returns those that were not when nothing had moved for so long."""
    waiting, moved_at, seen = list(pushed), time.monotonic(), ""
    while waiting and time.monotonic() - moved_at < stalled_seconds:
        waiting = [each for number, each in enumerate(waiting) if number >= _CHECKED_AT_ONCE or not _is_over(server, each)]
        now = f"{len(waiting)} {read_queues(server)}"
        if now != seen:
            seen, moved_at = now, time.monotonic()
        time.sleep(_POLL_SECONDS)
    return waiting


def _is_over(server: Appliance, pushed: Pushed) -> bool:
    """Asks for a feed's receipt and keeps what it says."""
    receipt = server.receipt(pushed.feed)
    pushed.state = receipt["state"]
    if pushed.state not in FINAL or receipt["searchable_at"] is None:
        return False
    pushed.seconds = time.monotonic() - pushed.pushed_at
    pushed.errors = tuple(entry["reason"] for entry in receipt["log"] if entry["level"] == "error")
    return True


def read_queues(server: Appliance) -> str:
    """Returns how much waits, by the metrics."""
    _, _, body = server.request("GET", server.gate, "/metrics")
    names = (
        "feedmill_feeds_waiting",
        "feedmill_marks_",
        "feedmill_records_total",
        "feedmill_extractions_total",
        "feedmill_index_documents_total",
    )
    return " ".join(sorted(line for line in body.decode().splitlines() if line.startswith(names)))


class MemoryWatch:
    """Samples the memory of the server's processes. Units: bytes, the most of each role's processes at any sample."""

    def __init__(self, server: Appliance) -> None:
        self.most: dict[str, int] = {}
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(2):
            for role, pids in self._server.role_pids().items():
                for pid in pids:
                    self.most[role] = max(self.most.get(role, 0), _rss_bytes(pid))


def _rss_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
