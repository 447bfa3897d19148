"""What facets cost: searches over many documents through HTTP, without facets, with one, with four and with the built-in ones, in one run.

Each query is asked in turns, so that whatever else the machine does affects all alike. Reported are medians and 99th percentiles, and the
same for suggestions and for the page. An index keeps its last answers: every question holds a word of its own that no document may have,
but for those of the line that shows what a repeated query takes.
"""

import http.client
import random
import tempfile
import time
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from bench.figures import percentile
from bench.uniquequeries import new_word
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.corpus import vocabulary

DOCUMENTS = 200_000
A_FEED = 20_000
ROUNDS = 40
WORDS = 60
FACETS = ("department", "author", "kind", "price")
BUILT_IN = ("@filetype", "@date", "@source", "@language", "@site")
NEW = "zznewzz"
RANGES = 'facets = [{name = "price", type = "currency", ranges = ["..100", "100..300", "300..600", "600.."]}]'
SETTINGS = f'[[frontends]]\nname = "default_frontend"\n{RANGES}\n'


def feed_many(appliance: Appliance, documents: int) -> None:
    """Feeds documents of some words and four metadata names."""
    random_, words = random.Random(5), vocabulary()
    for start in range(0, documents, A_FEED):
        records = []
        for number in range(start, min(start + A_FEED, documents)):
            chosen = [words[min(int(random_.paretovariate(0.7)) - 1, len(words) - 1)] for _ in range(WORDS)]
            metadata = [
                ("department", f"Department {random_.randrange(20)}"),
                ("author", f"Author {random_.randrange(2_000)}"),
                ("kind", f"Kind {random_.randrange(6)}"),
                ("price", str(random_.randrange(1_000))),
            ]
            text = f"<title>{' '.join(chosen[:6])}</title>{' '.join(chosen)}"
            written = date(2026, 1, 1) - timedelta(days=random_.randrange(4_000))
            url = f"http://host{random_.randrange(300)}.example.com/{number}"
            records.append(make_record(url, text, metadata, last_modified=written.isoformat()))
        appliance.wait(appliance.push(make_feed(*records), "facets"), seconds=3_600, pause_seconds=0.5)


def measure(appliance: Appliance, paths: dict[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """Requests all paths in turns over one connection and returns milliseconds by name. Shape: ``NEW`` in a path stands for a new word."""
    connection = http.client.HTTPConnection("127.0.0.1", appliance.search_port, timeout=60)
    taken: dict[str, list[float]] = {name: [] for name in paths}
    for turn in range(rounds + 2):
        for name, ways in paths.items():
            begun = time.perf_counter()
            connection.request("GET", ways[turn % len(ways)].replace(NEW, new_word()))
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
            if turn >= 2:
                taken[name].append((time.perf_counter() - begun) * 1_000)
    connection.close()
    return taken


def ways(words: Sequence[str], **more: object) -> list[str]:
    """Returns a search for each word."""
    return ["/api/v1/search?" + urlencode({"q": f"{word} -{NEW}", **more}, doseq=True) for word in words]


def main(documents: int = DOCUMENTS, rounds: int = ROUNDS) -> None:
    """Runs the benchmark and prints its table."""
    known = vocabulary()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "data", SETTINGS) as appliance:
        begun = time.perf_counter()
        feed_many(appliance, documents)
        print(f"  {documents:,} documents fed in {time.perf_counter() - begun:.0f} s")
        for label, words in (("every other document", known[1:2]), ("hundreds to thousands", known[30:60])):
            total = appliance.search(words[0])["total"]
            taken = measure(
                appliance,
                {
                    "no facet": ways(words),
                    "one facet": ways(words, facet=FACETS[:1]),
                    "four facets": ways(words, facet=FACETS),
                    "four again": ["/api/v1/search?" + urlencode({"q": word, "facet": FACETS}, doseq=True) for word in words],
                    **{name: ways(words, facet=name) for name in BUILT_IN},
                    "all built-in": ways(words, facet=BUILT_IN),
                    "one selected": ways(words, facet=FACETS[:1], select="@date:2020-01-01.."),
                    "page": ["/?" + urlencode({"q": f"{word} -{NEW}"}) for word in words],
                    "suggest": ["/api/v1/suggest?" + urlencode({"q": word[:3]}) for word in words],
                },
                rounds,
            )
            print(f"  {label} ({words[0]}: {total:,})")
            plain = median(taken["no facet"])
            for name, times in taken.items():
                middle, late = median(times), percentile(times, 99)
                print(f"    {name:12} p50 {middle:7.2f} ms  p99 {late:7.2f} ms  {middle / plain:5.2f} times, {middle - plain:+6.2f} ms")


if __name__ == "__main__":
    main()
