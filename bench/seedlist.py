"""How many entries of a seedlist a second a run applies, and how much memory that takes.

A server in a process of its own sends pages of 500 entries; each entry has its text, four fields, a category and two ACL tokens. There are
two references in the same run: fetching all pages alone, and fetching and parsing them. The first run stores every entry, the second finds
nothing changed. Memory is the most that this process ever had: it must not grow with the list, apart from the pages of the store's file
that SQLite maps (up to 256 MB) and caches (32 MB). Extraction and index are left out, ``python -m bench ingest`` measures them.

``python -m bench.seedlist 100000`` measures so many entries.
"""

import multiprocessing
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

from bench.figures import peak_megabytes
from bench.pulling import iter_runs
from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.http.client import ClientOptions, allow_all
from feedmill.model.pulling import RunMode
from feedmill.services.pulling.seedlists import FetchedBody, SeedlistAddress, SeedlistSource

ENTRIES = 100_000
RANGE = 500
NAME = "seedlist"

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<atom:feed xmlns:atom="http://www.w3.org/2005/Atom" xmlns:wplc="http://www.ibm.com/wplc/atom/1.0">
<wplc:timestamp>AAABFoVf8zs=</wplc:timestamp><wplc:fieldInfo id="dept" type="string" parametric="true"/>
<wplc:fieldInfo id="price" type="int" sortable="true"/>"""
_ENTRY = """<atom:entry xml:lang="en"><atom:id>doc-{n}</atom:id><atom:link rel="via" type="text/html" href="/show?id={n}"/>
<atom:title>Entry {n}</atom:title><atom:updated>2026-01-17T11:19:32+02:00</atom:updated><wplc:action do="update"/>
<atom:author><atom:name>ann</atom:name></atom:author><wplc:securityId>S{n}</wplc:securityId>
<atom:category term="t{g}" scheme="com.ibm.wplc.taxonomy://location_taxonomy" label="Folder {g}"/>
<wplc:acls><wplc:acl>uid=user{g},o=org</wplc:acl><wplc:acl>cn=group{h},o=org</wplc:acl></wplc:acls>
<wplc:field id="dept">dept {g}</wplc:field><wplc:field id="price">{n}</wplc:field>
<atom:content type="text/html">&lt;p&gt;{words}&lt;/p&gt;</atom:content></atom:entry>"""


def make_page(start: int, entries: int) -> bytes:
    """Makes the page that begins with an entry."""
    end = min(start + RANGE, entries)
    link = f'<atom:link rel="next" href="/list?Start={end}"/>' if end < entries else ""
    body = "".join(_ENTRY.format(n=n, g=n % 97, h=n % 11, words="some words of an entry " * 20) for n in range(start, end))
    return f"{_HEAD}{link}{body}</atom:feed>".encode()


class _Handler(BaseHTTPRequestHandler):
    entries = ENTRIES

    def do_GET(self) -> None:
        """Sends a page."""
        body = make_page(int(parse_qs(urlsplit(self.path).query).get("Start", ["0"])[0]), self.entries)
        self.send_response(200)
        self.send_header("Content-Type", "application/atom+xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def _serve(pipe: Connection, entries: int) -> None:
    _Handler.entries = entries
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        pipe.send(server.server_port)
        server.serve_forever()


def main(entries: int = ENTRIES) -> None:
    """Prints entries a second and memory."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs, entries), daemon=True)
    server.start()
    try:
        with TemporaryDirectory(prefix="feedmill-seedlist-") as folder:
            measure(Path(folder), f"http://127.0.0.1:{ours.recv()}/list?Start=0", entries)
    finally:
        server.terminate()
        server.join()


def measure(folder: Path, url: str, entries: int) -> None:
    """Measures fetching, reading, the first run and the second."""
    client = BlockingHttpClient(ClientOptions(allows_private=allow_all))

    def fetch(target: str, headers: object, max_bytes: int, seconds: float) -> FetchedBody:
        del headers
        found = client.fetch("GET", target, max_bytes=max_bytes, seconds=seconds)
        return FetchedBody(url=found.url, status=200, media_type="application/atom+xml", body=found.response.body)

    def open_source() -> SeedlistSource:
        return SeedlistSource(NAME, SeedlistAddress(url=url), fetch, max_content_bytes=100_000)

    began, size = time.process_time(), 0
    for start in range(0, entries, RANGE):
        size += len(fetch(url.replace("Start=0", f"Start={start}"), {}, 1 << 28, 60.0).body)
    fetching = time.process_time() - began
    print(f"  fetching alone: {entries / fetching:,.0f} entries a CPU second, {size / entries:,.0f} bytes each")
    began = time.process_time()
    for _ in open_source().iter_pages(RunMode.FULL, since="", checkpoint=""):
        pass
    reading = time.process_time() - began
    print(f"  fetching and parsing: {entries / reading:,.0f} entries a CPU second; peak {peak_megabytes(os.getpid()):,.0f} MB")
    for run in iter_runs(NAME, open_source, folder, entries):
        rate = f"{entries / run.cpu_seconds:,.0f} entries a CPU second, {entries / run.seconds:,.0f} a second"
        print(f"  {run.name}: {rate}, {run.cpu_seconds / reading:.1f} times the reading; {run.memory}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES)
