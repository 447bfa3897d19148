"""How long it takes to lease the next URLs of a large crawl queue, how much memory that takes, and how large the queue is on disk.

The URLs belong to sites of very different sizes: the largest has a fifth of all. They are added by 1,000 in a transaction, as links are;
beyond ``ADDED`` URLs the database itself copies rows. Then batches are leased and stored as crawled, as the crawler does. The reference in
the same run is a queue of a hundredth of the URLs, at least 10,000.

``python -m bench.crawlqueue 5000000`` measures five million; the folder of ``TMPDIR`` needs 2 GB for that.
"""

import os
import sqlite3
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import peak_megabytes, percentile
from feedmill.adapters.store.engine import SqlStore
from feedmill.bootstrap.context import utc_now
from feedmill.core.crawling.schedule import Frequency, schedule
from feedmill.core.crawling.sites import site_of
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.crawling import CrawlEntry, CrawlMention, CrawlState, FetchRecord
from tests.migratedstore import open_migrated

URLS = 200_000
ADDED = 200_000
ADDED_AT_ONCE = 1_000
LEASED_AT_ONCE = 128
ROUNDS = 50
SITES = 2_000
"""Sites beside the largest ones."""


def main(urls: int = URLS) -> None:
    """Prints how fast the queue is filled, its size, and the time and memory of leasing, for few URLs and for all."""
    for count in (max(10_000, urls // 100), urls):
        with TemporaryDirectory(prefix="feedmill-queue-") as folder:
            measure(Path(folder), count)


def measure(folder: Path, urls: int) -> None:
    """Fills a queue and leases of it."""
    store = open_migrated(folder / "store.sqlite")
    empty = size_of(folder)
    began, used = time.perf_counter(), time.process_time()
    added = min(urls, ADDED)
    for mentions in list_mentions(added):
        with store.writing() as unit:
            unit.feeds.crawling.queue.add_many(mentions, utc_now())
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    copy_rows(folder / "store.sqlite", added, urls)
    size_bytes, filled = size_of(folder) - empty, peak_megabytes(os.getpid())
    print(f"  {urls:,} URLs: added {added / seconds:,.0f} a second, {cpu / added * 1e6:.0f} microseconds of processor time each; ", end="")
    print(f"{size_bytes / urls:,.0f} bytes each on disk", flush=True)
    used = time.process_time()
    leasing, storing = lease_and_store(store)
    cpu = (time.process_time() - used) / len(leasing)
    print(
        f"    leased by {LEASED_AT_ONCE}: median {statistics.median(leasing) * 1e3:.1f} ms, p99 {percentile(leasing, 99) * 1e3:.1f} ms; ",
        end="",
    )
    print(f"stored as crawled: median {statistics.median(storing) * 1e3:.1f} ms; ", end="")
    print(f"{cpu * 1e3:.1f} ms of processor time for both; ", end="")
    print(f"memory {peak_megabytes(os.getpid()):,.0f} MB, {filled:,.0f} MB after the filling", flush=True)
    store.close()


def list_mentions(urls: int) -> Iterator[list[CrawlMention]]:
    """Lists the URLs, some for each transaction."""
    for begin in range(0, urls, ADDED_AT_ONCE):
        yield [
            CrawlMention(url=url_of(number), referrer=url_of(number // 20), depth=3)
            for number in range(begin, min(begin + ADDED_AT_ONCE, urls))
        ]


def copy_rows(path: Path, begin: int, end: int) -> None:
    """Adds the URLs of some numbers by copying a row. The indexes are made anew, which is faster than keeping them."""
    if begin >= end:
        return
    connection = sqlite3.connect(path)
    sites = dict(connection.execute("SELECT site, id FROM crawl_sites"))
    connection.create_function("url_of", 1, url_of)
    connection.create_function("digest", 1, lambda number: digest_of_url(url_of(number)))
    connection.create_function("site_of", 1, lambda number: sites[site_of(url_of(number))])
    indexes = list(
        connection.execute("SELECT name, sql FROM sqlite_master WHERE tbl_name = 'crawl_entries' AND type = 'index' AND sql <> ''")
    )
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    copied = {"url_digest": "digest(number)", "url_start": "url_of(number)", "site_id": "site_of(number)"}
    names = [row[1] for row in connection.execute("PRAGMA table_info(crawl_entries)")]
    values = ", ".join(copied.get(name, name) for name in names)
    numbers = f"WITH RECURSIVE numbers(number) AS (SELECT {begin} UNION ALL SELECT number + 1 FROM numbers WHERE number + 1 < {end})"
    template = "(SELECT * FROM crawl_entries LIMIT 1)"
    connection.execute(f"INSERT INTO crawl_entries ({', '.join(names)}) {numbers} SELECT {values} FROM numbers, {template} ORDER BY 1")
    for _, statement in indexes:
        connection.execute(statement)
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def url_of(number: int) -> str:
    """Returns a URL of a usual length. A fifth of all are of one site, as many of ten others."""
    host = 0 if number % 5 == 0 else 1 + number % 10 if number % 5 == 1 else 11 + number * 7919 % SITES
    return f"https://www{host}.example.com/department/{number % 97}/documents/{number}.html"


def lease_and_store(store: SqlStore) -> tuple[list[float], list[float]]:
    """Leases batches and stores their entries as crawled. Returns the seconds of each transaction of both kinds."""
    leasing, storing = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        entries = _lease(store)
        if not entries:
            break
        leasing.append(time.perf_counter() - began)
        crawled = [_crawl(entry, utc_now()) for entry in entries]
        began = time.perf_counter()
        with store.writing() as unit:
            unit.feeds.crawling.queue.save_many(crawled)
        storing.append(time.perf_counter() - began)
    return leasing, storing


def _lease(store: SqlStore) -> list[CrawlEntry]:
    now = utc_now()
    with store.writing() as unit:
        queue = unit.feeds.crawling.queue
        return queue.lease_due("bench", now, now + timedelta(minutes=10), capacity={}, default_capacity=4, limit=LEASED_AT_ONCE)


def _crawl(entry: CrawlEntry, now: datetime) -> CrawlEntry:
    record = FetchRecord(at=now, state=CrawlState.CRAWLED, http_status=200, size_bytes=8_000, seconds=0.1)
    return replace(schedule(entry, record, Frequency.NORMAL, is_changed=True).entry, etag='"1"', checksum=os.urandom(16))


def size_of(folder: Path) -> int:
    """Returns the bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
