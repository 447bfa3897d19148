"""The crawler against Scrapy, and a whole crawl against the same documents as a feed.

1. Fetching alone: all pages of a site, at most ``PARALLEL`` at once, without politeness, links or storing. Scrapy fetches the same pages in
   the same run, if ``FEEDMILL_SCRAPY`` names a Python that has it (``pip install scrapy`` in an environment of its own).
2. A server crawls the site from its first page until all documents are found. Another server gets the same documents in one feed.
   Copies, redirects, failures and PDFs, seven pages of a hundred, are fetched besides and not counted.
   Processor time is that of all processes of a server from its start.

``python -m bench.crawl 20000`` measures a site of 20,000 pages.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.crawlsite import Kind, body_of, kind_of, serving
from bench.figures import peak_megabytes
from bench.ingest import children_seconds
from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import FetchOptions
from feedmill.model.crawling import FetchRequest
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

PAGES = 1_000
SEED = 1
PARALLEL = 64
POLL_SECONDS = 0.5
PATIENCE_SECONDS = 180.0
_SETTINGS = """
[urls]
follow = ["{site}/"]
start = ["{site}/0"]
[crawl]
host_load = 0.0
allow_private = ["127.0.0.1/"]
"""
_SPIDER = """
import resource, sys, time, json, logging, scrapy
from scrapy.crawler import CrawlerProcess
site, pages, parallel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
class Pages(scrapy.Spider):
    name = "pages"
    handle_httpstatus_all = True
    fetched = 0
    start_urls = [f"{site}/{number}" for number in range(pages)]
    def parse(self, response):
        Pages.fetched += 1
settings = {"CONCURRENT_REQUESTS": parallel, "CONCURRENT_REQUESTS_PER_DOMAIN": parallel, "LOG_ENABLED": False, "ROBOTSTXT_OBEY": False,
            "RETRY_ENABLED": False, "DOWNLOAD_DELAY": 0, "TELNETCONSOLE_ENABLED": False,
            "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
began, used = time.perf_counter(), time.process_time()
process = CrawlerProcess(settings)
process.crawl(Pages)
process.start()
print(json.dumps([Pages.fetched, time.perf_counter() - began, time.process_time() - used]))
"""


def main(pages: int = PAGES) -> None:
    """Prints pages a second, and the processor time of each."""
    with serving(pages, SEED) as site:
        measure_fetching(site, pages)
        measure_whole(site, pages)


def measure_fetching(site: str, pages: int) -> None:
    """Measures fetching alone."""
    began, used = time.perf_counter(), time.process_time()
    asyncio.run(_fetch_all(site, pages))
    ours = time.perf_counter() - began, time.process_time() - used
    _print("fetcher", pages, *ours)
    python = os.environ.get("FEEDMILL_SCRAPY", "")
    if not python:
        print("  Scrapy is left out: FEEDMILL_SCRAPY names no Python that has it")
        return
    done = subprocess.run([python, "-c", _SPIDER, site, str(pages), str(PARALLEL)], capture_output=True, text=True, check=True)
    fetched, seconds, cpu = json.loads(done.stdout.splitlines()[-1])
    # it gives redirects up that lead to what it has fetched
    assert fetched >= pages * 0.95, (fetched, done.stderr[-500:])
    _print("Scrapy", pages, seconds, cpu)
    print(f"  fetching is {seconds / ours[0]:.1f} times as fast as Scrapy, {cpu / ours[1]:.1f} times by processor time", flush=True)


async def _fetch_all(site: str, pages: int) -> None:
    fetcher = HttpFetcher(FetchOptions(allow_private=("/",)))
    numbers = iter(range(pages))

    async def work() -> None:
        for number in numbers:
            page = await fetcher.fetch(FetchRequest(url=f"{site}/{number}", max_bytes=1_000_000, seconds=30.0))
            assert page.http_status, page.reason

    await asyncio.gather(*(work() for _ in range(PARALLEL)))
    await fetcher.close()


def measure_whole(site: str, pages: int) -> None:
    """Measures a crawl and a feed until the documents are found."""
    documents = [number for number in range(pages) if kind_of(number, SEED) in (Kind.PAGE, Kind.SLOW)]
    records = (make_record(f"{site}/{number}", body_of(number, pages, SEED).decode()) for number in documents)
    with TemporaryDirectory(prefix="feedmill-crawl-") as folder:
        xml = make_feed(*records)
        fed = _measure_server(Path(folder) / "fed", "", len(documents), lambda server: server.push(xml))
        _print("feed", len(documents), *fed)
        settings = _SETTINGS.replace("{site}", site)
        crawled = _measure_server(Path(folder) / "crawled", settings, len(documents), lambda _server: None)
        _print("crawl", len(documents), *crawled)
    print(f"  the crawl has {fed[0] / crawled[0]:.2f} of the rate of the feed, {fed[1] / crawled[1]:.2f} by processor time", flush=True)


def _measure_server(data: Path, settings: str, documents: int, begin: Callable[[Appliance], object]) -> tuple[float, float]:
    """Returns the seconds until a server finds the documents, and its processor time up to its end."""
    began = time.perf_counter()
    with running(data, settings) as server:
        begin(server)
        _wait_for(server, documents)
        seconds, used = time.perf_counter() - began, read_processor_seconds(server)
        pids = server.role_pids()
        for role, cpu in sorted(children_seconds(pids).items()):
            peak = max(peak_megabytes(pid) for pid in pids[role])
            print(f"  role {role:<14} {cpu / documents * 1e3:6.2f} ms of processor time a page, at most {peak:,.0f} MB", flush=True)
        return seconds, used


def _wait_for(server: Appliance, documents: int) -> None:
    """Waits until a server finds the documents. Searches are few, because they use the processor too."""
    found, grew_at = -1, time.monotonic()
    while found < documents:
        time.sleep(POLL_SECONDS)
        earlier, found = found, int(server.search("page", num=1)["total"])
        grew_at = time.monotonic() if found > earlier else grew_at
        assert time.monotonic() - grew_at < PATIENCE_SECONDS, f"{found} of {documents} documents are found, and no more follow"


def read_processor_seconds(server: Appliance) -> float:
    """Returns the processor time of all processes of a server, also of those that have ended."""
    ticks, parents = dict[int, int](), dict[int, int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(stat.parent.name)
        # proc(5): the parent is field 4; fields 14 to 17 are the times of the process and of its children that have ended
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    assert server.process is not None
    family, generation = set[int](), {server.process.pid}
    while generation:
        family |= generation
        generation = {pid for pid, parent in parents.items() if parent in generation} - family
    return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")


def _print(name: str, pages: int, seconds: float, cpu: float) -> None:
    print(f"  {name:8} {pages / seconds:8,.0f} pages/s  {cpu / pages * 1e3:6.2f} ms of processor time a page", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
