"""How long a query takes and how many are answered a second, through HTTP, over many documents.

The same questions are asked of the running server by one client and by eight, and of its index folder directly with the engine's query
that the server makes of each: the difference of the medians is what everything around the engine costs, ranking again, results, snippets
and HTTP. A second line asks the engine through the index port, which ranks again but makes no results.
"""

import http.client
import random
import statistics
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import tantivy
from tests.appliance import Appliance, feed_of, record, running
from tests.corpus import Corpus

from feedmill.adapters.index.query import build_query
from feedmill.adapters.index.tantivy import TantivyIndex
from feedmill.adapters.index.words import WordAsker
from feedmill.core.matching import ENOUGH, loosen
from feedmill.core.querylang import parse_query
from feedmill.model.access import ANONYMOUS
from feedmill.model.search import Match, Node, SearchRequest
from feedmill.services.searcher import find_hits

DOCUMENTS = 200_000
WORDS = 150
QUESTIONS = 400
CLIENTS = (1, 8)
SECONDS = 10.0
Ask = Callable[[str], object]


def main(documents: int = DOCUMENTS, questions: int = QUESTIONS) -> None:
    """Prints p50, p99 and queries a second of each way to ask."""
    asked = list_questions(questions)
    with TemporaryDirectory() as folder, running(Path(folder) / "data") as appliance:
        fill(appliance, documents)
        index = TantivyIndex(next((Path(folder) / "data" / "index").iterdir()))
        engine = measure(lambda: lambda question: ask_engine(index, question), asked, 1)
        report("the bare engine, 1 client", engine)
        report("the index port, 1 client", measure(lambda: lambda question: ask_port(index, question), asked, 1), engine)
        for clients in CLIENTS:
            report(f"HTTP, {clients} client{'s' if clients > 1 else ''}", measure(lambda: connect(appliance), asked, clients), engine)


def list_questions(count: int) -> list[str]:
    """Gives questions of one to six words, frequent and rare, some phrases."""
    random_, corpus = random.Random(3), Corpus(5)
    made = []
    for number in range(count):
        words = corpus.text(random_.choice((1, 2, 2, 3, 3, 4, 6))).split()
        made.append(f'"{" ".join(words[:2])}"' if number % 10 == 0 else " ".join(words))
    return made


def fill(appliance: Appliance, documents: int) -> None:
    """Fills the index with pages of a kilobyte."""
    corpus = Corpus()
    for first in range(0, documents, 10_000):
        numbers = range(first, min(first + 10_000, documents))
        records = [
            record(f"http://q.example.com/{n % 97}/{n}", f"<title>{corpus.text(4)} {n}</title><p>{corpus.text(WORDS)}</p>") for n in numbers
        ]
        appliance.push(feed_of(*records), "fill")
    while appliance.get_json(appliance.gate, "/api/v1/feeds?datasource=fill&limit=1")[0]["searchable_at"] is None:
        time.sleep(1)


def ask_engine(index: TantivyIndex, question: str) -> int:
    """Asks the engine alone what the server would ask it first: the best ten and their number."""
    searcher = index.searcher
    assert searcher is not None
    root = parse_query(question).root
    found = count_hits(searcher, root)
    if found < ENOUGH and (loosened := loosen(root, Match.AUTO)) is not None:
        found = count_hits(searcher, loosened)
    return found


def count_hits(searcher: tantivy.Searcher, root: Node) -> int:
    """Asks one tree."""
    found = searcher.search(build_query(root, ANONYMOUS, WordAsker(searcher, root)), 10, count=True)
    return int(found.count)  # type: ignore[attr-defined]


def ask_port(index: TantivyIndex, question: str) -> int:
    """Asks the index as the searcher does."""
    return find_hits(index, parse_query(question).root, SearchRequest(query=question), ANONYMOUS)[1].total


def connect(appliance: Appliance) -> Ask:
    """Opens a client that keeps its connection."""
    connection = http.client.HTTPConnection("127.0.0.1", appliance.search_port, timeout=60)

    def ask(question: str) -> int:
        connection.request("GET", "/api/v1/search?" + urllib.parse.urlencode({"q": question}))
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return len(body)

    return ask


def measure(open_client: Callable[[], Ask], questions: Sequence[str], clients: int) -> tuple[list[float], float]:
    """Gives the seconds of each query, each question once asked before, and the queries a second of all clients together."""
    warm = open_client()
    for question in questions:
        warm(question)
    seconds: list[float] = []
    ended = time.monotonic() + SECONDS

    def work(number: int) -> None:
        ask, place = open_client(), number * len(questions) // clients
        while time.monotonic() < ended:
            began = time.perf_counter()
            ask(questions[place % len(questions)])
            seconds.append(time.perf_counter() - began)
            place += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(seconds), len(seconds) / SECONDS


def report(name: str, measured: tuple[list[float], float], engine: tuple[list[float], float] | None = None) -> None:
    """Prints the figures of one way to ask, and what they are over the engine's."""
    seconds, rate = measured
    p50, p99 = statistics.median(seconds), seconds[int(len(seconds) * 0.99)]
    over = f", {(p50 - statistics.median(engine[0])) * 1000:+.1f} ms over the engine" if engine is not None else ""
    print(f"  {name:<26} p50 {p50 * 1000:6.2f} ms{over}, p99 {p99 * 1000:6.2f} ms, {rate:,.0f} queries a second", flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
