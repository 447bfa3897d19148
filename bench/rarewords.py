"""How long queries of rare words take through HTTP, against queries of frequent ones over the same documents.

Words of 2 to 5 documents are looked up for another spelling, since they may be mistyped; so are words with a typing error. The aim: rare
words are not slower than frequent ones. Each query is new to the caches of results; the time is that of the processes that serve searches.

    python -m bench.rarewords [DOCUMENTS [ROUNDS]]
"""

import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.queries import connect, worked
from bench.uniquequeries import make_unique
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.corpus import vocabulary

DOCUMENTS = 3_000
ROUNDS = 3
QUERIES = 200
COMMON_WORDS = 300
SELDOM_WORDS = 50_000
RARE = range(2, 6)


def main(documents: int = DOCUMENTS, rounds: int = ROUNDS) -> None:
    """Prints the times of the kinds of queries, in turns."""
    texts = make_texts(documents)
    kinds = list_queries(texts)
    with TemporaryDirectory() as folder, running(Path(folder) / "data", environment={"FEEDMILL_SEARCH_PROCESSES": "1"}) as appliance:
        records = [make_record(f"http://rare.example.com/{n}", f"<title>{text[:40]}</title><p>{text}</p>") for n, text in enumerate(texts)]
        appliance.feed(make_feed(*records), "rare", seconds=600)
        turns = [{kind: measure(appliance, queries) for kind, queries in kinds.items()} for _ in range(rounds)]
    measured = {kind: min(turn[kind] for turn in turns) for kind in kinds}
    frequent = measured["two frequent words"][1]
    for kind, (seconds, cpu) in measured.items():
        print(f"  {kind:<20} p50 {seconds * 1000:5.2f} ms, CPU {cpu * 1000:5.2f} ms, {cpu / frequent:4.2f} of two frequent words")


def make_texts(documents: int) -> list[str]:
    """Returns texts of common words, with a few seldom ones in each."""
    words, random_ = vocabulary(COMMON_WORDS + SELDOM_WORDS), random.Random(5)
    common, seldom = words[:COMMON_WORDS], words[COMMON_WORDS:]
    return [" ".join((*random_.choices(common, k=400), *random_.choices(seldom, k=40))) for _ in range(documents)]


def list_queries(texts: Sequence[str]) -> dict[str, list[str]]:
    """Returns queries of each kind, of words that the texts have."""
    counts, random_ = Counter(word for text in texts for word in set(text.split())), random.Random(3)
    # in order, so that each run measures the same queries
    words = sorted(counts)
    frequent = [word for word in words if len(word) > 3 and counts[word] > len(texts) // 3]
    rare = [word for word in words if len(word) > 3 and counts[word] in RARE]

    def join(choice: Sequence[str], number: int) -> str:
        return " ".join(random_.sample(choice, number))

    def mistype(word: str) -> str:
        place = random_.randrange(len(word))
        return word[:place] + word[place + 1 :]

    return {
        "two frequent words": [join(frequent, 2) for _ in range(QUERIES)],
        "two rare words": [join(rare, 2) for _ in range(QUERIES)],
        "three rare words": [join(rare, 3) for _ in range(QUERIES)],
        "a typing error": [f"{mistype(random_.choice(frequent))} {random_.choice(frequent)}" for _ in range(QUERIES)],
    }


def measure(appliance: Appliance, queries: Sequence[str]) -> tuple[float, float]:
    """Returns the median time of a query, and its time of the processor."""
    ask, web = connect(appliance, make_unique), appliance.role_pids()["web"]
    ask(queries[0])
    before, seconds = worked(web), []
    for query in queries:
        began = time.perf_counter()
        ask(query)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds), (worked(web) - before) / len(queries)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
