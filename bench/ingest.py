"""How many documents a second come from push to searchable, beside what the stages alone would allow.

Each stage runs alone in this process over the same documents, and its CPU time is what counts: two processors could not do better than
two divided by the sum. The ratio printed is the whole's rate over that.

``python -m bench.ingest 20000 4000 manuals`` measures the manuals of this machine instead of made-up documents: their vocabulary is real.
"""

import gc
import io
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.manuals import Manuals
from feedmill.adapters.blobs.packed import PackedBlobs
from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.language import detect_language
from feedmill.adapters.index.tantivy.writer import TantivyWriter
from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.bootstrap.context import utc_now
from feedmill.core.documents.admission import build_rules
from feedmill.core.documents.urlstate import ApplyContext, ReceiptCount
from feedmill.model.change import Change, PutDocument
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from feedmill.model.feed import FeedKind, NewFeed
from feedmill.model.provenance import from_feed
from feedmill.model.search import IndexDocument
from feedmill.ports import Lane
from feedmill.services.feeds.feeding import Admission, ChangeBatch, SliceLimits, take_slice
from feedmill.services.feeds.reading import FeedReader
from tests.appliance import running
from tests.corpus import Corpus
from tests.feedreaders import gsafeed_reader

DOCUMENTS = 20_000
SAMPLE = 4_000
PROCESSORS = 2

Documents = Corpus | Manuals
_CORPORA: dict[str, Callable[[], Documents]] = {"made-up": Corpus, "manuals": Manuals}


def main(documents: int = DOCUMENTS, sample: int = SAMPLE, corpus: str = "made-up") -> None:
    """Prints the rates and the ratio. The stages run before and after the whole, since a machine's speed is not the same all the time."""
    make = _CORPORA[corpus]
    before = measure_stages_apart(sample // 2, make)
    with TemporaryDirectory() as folder:
        rate = measure_whole(Path(folder), documents, make)
    after = measure_stages_apart(sample // 2, make)
    stages = {name: (before[name] + after[name]) / 2 for name in before}
    for name, seconds in stages.items():
        both = f"before {before[name] * 1000:.3f}, after {after[name] * 1000:.3f}"
        print(f"  stage {name:<10} {seconds * 1000:7.3f} ms CPU a document, alone ({both})")
    total = sum(stages.values())
    allowed = PROCESSORS / total
    print(f"  sum              {total * 1000:7.3f} ms: {allowed:,.0f} documents a second on {PROCESSORS} processors")
    print(f"  push to searchable: {rate:,.0f} documents a second; ratio to what the stages allow: {rate / allowed:.2f}")


def measure_stages_apart(sample: int, make: Callable[[], Documents]) -> dict[str, float]:
    """Returns the CPU seconds a document of each stage, in a folder of its own."""
    with TemporaryDirectory() as folder:
        return measure_stages(Path(folder), sample, make())


def measure_whole(folder: Path, documents: int, make: Callable[[], Documents] = Corpus) -> float:
    """Pushes one full feed to a server and returns the documents a second until all of it is searchable."""
    body = b"".join(make().feed(documents))
    with running(folder / "data") as appliance:
        # the extractor loads its models behind the start of the server
        appliance.feed(b"".join(make().feed(1)), "warm")
        before = children_seconds(appliance.role_pids())
        began = datetime.now(UTC)
        receipt = appliance.wait(appliance.push(body, "bench", "full"), seconds=600, pause_seconds=0.2)
        # the receipt says it exactly; asking more often would take the processors from the server
        seconds = (datetime.fromisoformat(receipt["searchable_at"]) - began).total_seconds()
        after = children_seconds(appliance.role_pids())
    assert receipt["included"] == documents, receipt
    for role in sorted(after):
        print(f"  role {role:<14} {1000 * (after[role] - before.get(role, 0.0)) / documents:7.3f} ms CPU a document, within the whole")
    return documents / seconds


def children_seconds(pids: dict[str, list[int]]) -> dict[str, float]:
    """Returns the CPU seconds that each role has used."""
    ticks = 100.0
    used: dict[str, float] = {}
    for role, processes in pids.items():
        for pid in processes:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used[role] = used.get(role, 0.0) + sum(map(int, fields[11:15])) / ticks
    return used


def measure_stages(folder: Path, count: int, corpus: Documents) -> dict[str, float]:
    """Returns the CPU seconds a document of each stage alone."""
    body = b"".join(corpus.feed(count))
    pages = [corpus.page(number).encode() for number in range(count)]
    tasks = [
        Task(key=n, url=f"http://bench.example.com/doc/{n}.html", mimetype="text/html", data=p, charset="utf-8")
        for n, p in enumerate(pages)
    ]
    limits = ExtractionLimits()
    extract(tasks[0], limits)
    seconds: dict[str, float] = {}
    with measured(seconds, "parse", count):
        for change in reader_of(body).changes():
            if isinstance(change, PutDocument) and change.content is not None:
                change.content.stream.close()
    with measured(seconds, "store", count):
        store_all(folder, body, count)
    seconds["store"] -= seconds["parse"]
    found: list[Extraction] = []
    with measured(seconds, "extract", count):
        found.extend(extract(task, limits) for task in tasks)
    with measured(seconds, "language", count):
        for extraction in found:
            detect_language(extraction.text)
    seconds["extract"] -= seconds["language"]
    with measured(seconds, "engine", count):
        index_all(folder / "index", tasks, found)
    return seconds


def reader_of(body: bytes) -> FeedReader[Change]:
    """Returns a reader on a feed in memory."""
    return gsafeed_reader(lambda: io.BytesIO(body))


def store_all(folder: Path, body: bytes, count: int) -> None:
    """Applies a feed to a store, as the feeder does."""
    store = open_sqlite(folder / "store.sqlite")
    migrate(store)
    blobs = PackedBlobs(folder / "blobs", role="bench")
    admission = Admission(rules=build_rules(("/",), (), (), ()))
    with store.writing() as unit:
        new = NewFeed(datasource="bench", kind=FeedKind.FULL, file="", size_bytes=len(body), received_at=utc_now())
        feed = unit.feeds.reader.get(unit.feeds.queue.add(new))
    changes = reader_of(body).changes()
    included = 0
    while taken := take_slice(changes, blobs, SliceLimits()).slice:
        blobs.sync()
        with store.writing() as unit:
            feeding = ApplyContext(provenance=from_feed(feed.id, feed.datasource), now=utc_now(), rules=admission.rules)
            bench = ChangeBatch(unit, feeding, Lane.BULK)
            bench.load(change.url for change, _ in taken if change.url is not None)
            for change, content in taken:
                bench.apply(change, content)
            included += bench.finish().counts[ReceiptCount.INCLUDED]
    assert included == count
    store.close()
    blobs.close()


def index_all(folder: Path, tasks: list[Task], found: list[Extraction]) -> None:
    """Writes an index with one commit."""
    writer = TantivyWriter(folder)
    writer.put_many(
        IndexDocument(
            key=task.key + 1,
            url=task.url,
            display_url=None,
            access_class=0,
            title=extraction.title or "",
            body=extraction.text,
            metadata=(("kind", "page"), *extraction.metadata),
            datasource="bench",
            mimetype=extraction.mimetype,
            language=extraction.language,
            last_modified=None,
            pagerank=96,
            links=[link.url for link in extraction.links],
            headings=extraction.headings,
            navigation=extraction.navigation,
        )
        for task, extraction in zip(tasks, found, strict=True)
    )
    writer.commit()
    writer.close()


@contextmanager
def measured(seconds: dict[str, float], stage: str, count: int) -> Iterator[None]:
    """Measures the CPU time of a block, all threads, a document.

    Without the garbage collector, which would look at what this benchmark keeps and no process of the server does.
    """
    gc.disable()
    before = _cpu()
    yield
    seconds[stage] = (_cpu() - before) / count
    gc.enable()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    given = dict(zip(("documents", "sample"), map(int, sys.argv[1:3]), strict=False))
    main(**given, corpus=(*sys.argv[3:4], "made-up")[0])
