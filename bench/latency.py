"""How long a one-record incremental feed takes until a search finds it, with many documents in the index.

Measured alone, while another source applies a large feed, and while extractors hang on hostile files. The aim for each: p95 under 1 s. The
reference in the same run is the search itself: the ratio says how many searches long a change takes to be found.
"""

import base64
import statistics
import sys
import threading
import time
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import percentile
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.corpus import Corpus

DOCUMENTS = 100_000
ROUNDS = 40
LARGE_MEGABYTES = 1_000
HOSTILE = 12
HOSTILE_LINKS = 600_000
PATIENCE_SECONDS = 60.0


def main(documents: int = DOCUMENTS, large_megabytes: int = LARGE_MEGABYTES, rounds: int = ROUNDS) -> None:
    """Prints p50 and p95 of the three situations."""
    with TemporaryDirectory() as folder, running(Path(folder) / "data") as appliance:
        fill(appliance, documents)
        search_seconds = statistics.median(timed_search(appliance) for _ in range(rounds))
        print(f"  a search over {documents:,} documents takes {search_seconds * 1000:.1f} ms (p50)")
        report("alone", measure(appliance, "alone", rounds), search_seconds)
        stop = keep_hanging(appliance)
        time.sleep(2)
        report("while extractors hang", measure(appliance, "hanging", rounds), search_seconds)
        stop.set()
        pusher = threading.Thread(target=push_large, args=(appliance, large_megabytes))
        pusher.start()
        while waiting(appliance) == 0:
            time.sleep(0.05)
        report("while another source applies", measure(appliance, "applying", rounds), search_seconds)
        print(f"    the large feed was {'still' if waiting(appliance) else 'no longer'} being applied at the end")
        pusher.join()


def fill(appliance: Appliance, documents: int) -> None:
    """Fills the index with short pages."""
    corpus = Corpus()
    for first in range(0, documents, 20_000):
        numbers = range(first, min(first + 20_000, documents))
        records = [make_record(f"http://fill.example.com/{n}", f"<title>{n}</title><p>{corpus.text(60)}</p>") for n in numbers]
        appliance.push(make_feed(*records), "fill")
    deadline = time.monotonic() + 1_200
    while (
        appliance.search("title")["total"] < 0
        or appliance.get_json(appliance.gate, "/api/v1/feeds?datasource=fill&limit=1")[0]["searchable_at"] is None
    ):
        assert time.monotonic() < deadline
        time.sleep(0.5)


def measure(appliance: Appliance, name: str, rounds: int) -> list[float]:
    """Pushes one-record feeds, one after the other, and returns the seconds until each is found."""
    seconds = []
    for number in range(rounds):
        word = f"needle{name}{number}"
        xml = make_feed(make_record(f"http://small.example.com/{name}/{number % 7}", f"<title>small</title><p>{word}</p>"))
        began = time.monotonic()
        appliance.push(xml, "small")
        while not appliance.urls(word):
            assert time.monotonic() - began < PATIENCE_SECONDS, word
            time.sleep(0.005)
        seconds.append(time.monotonic() - began)
        time.sleep(0.1)
    return seconds


def keep_hanging(appliance: Appliance) -> threading.Event:
    """Feeds files whose extraction takes all its time, again and again, until it is stopped."""
    stop = threading.Event()

    def _push() -> None:
        round_ = 0
        while not stop.is_set():
            appliance.push(make_feed(*(hostile(n, round_) for n in range(HOSTILE))), "hostile")
            round_ += 1
            stop.wait(20)

    threading.Thread(target=_push, daemon=True).start()
    return stop


def hostile(number: int, round_: int) -> str:
    """Returns the record of a page whose reading takes all the time it may: links without end."""
    page = f"<title>{number} {round_}</title>".encode() + b"<p><a href=x>y</a></p>" * HOSTILE_LINKS
    content = base64.b64encode(zlib.compress(page)).decode()
    head = f'<record url="http://hostile.example.com/{number}" mimetype="text/html">'
    return f'{head}<content encoding="base64compressed">{content}</content></record>'


def push_large(appliance: Appliance, megabytes: int) -> None:
    """Pushes one large feed of another source and waits until it is applied."""
    pieces: list[bytes] = []
    for size, piece in enumerate(Corpus(11).feed(megabytes * 125, "http://large.example.com/doc/")):
        pieces.append(piece)
        if size >= megabytes * 125:
            break
    xml = b"".join(pieces)
    xml = xml if xml.endswith(b"</gsafeed>") else xml + b"</group></gsafeed>"
    appliance.wait(appliance.push(xml, "large"), seconds=1_800, searchable=False, pause_seconds=0.5)


def waiting(appliance: Appliance) -> int:
    """Returns how many feeds wait or are being applied."""
    return int(appliance.request("GET", appliance.gate, "/getbacklogcount")[2])


def timed_search(appliance: Appliance) -> float:
    """Returns the seconds of one search."""
    began = time.monotonic()
    appliance.search("page document")
    return time.monotonic() - began


def report(name: str, seconds: list[float], search_seconds: float) -> None:
    """Prints the figures of one situation."""
    p50, p95 = statistics.median(seconds), percentile(seconds, 95)
    print(f"  {name}: p50 {p50:.3f} s, p95 {p95:.3f} s (aim under 1), worst {max(seconds):.3f} s; {p50 / search_seconds:.1f} searches long")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
