"""How long a query takes and how many are answered a second, through HTTP, over many documents.

The same queries are sent to the running server by one client and by eight, and to its index folder directly with the engine's query
that the server makes of each: the difference of the medians is what everything around the engine costs, ranking again, results, snippets
and HTTP. The lines between ask the engine through the index port, which ranks again but makes no results. What a request costs the web
process in CPU is reported beside its time, since that does not change with what else the machine does.

An index caches its last results. So every query holds a word of its own that no document may have, but for the last lines, which show
what it takes to ask the same again.

    python -m bench.queries [DOCUMENTS [QUESTIONS [FOLDER]]]

Documents are made up, or the files of a folder, again and again under other URLs where they are too few; questions are then words that
stand beside one another in them.
"""

import http.client
import itertools
import mimetypes
import os
import random
import re
import statistics
import sys
import threading
import time
import urllib.parse
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import tantivy

from bench.figures import percentile
from bench.uniquequeries import make_unique
from feedmill.adapters.index.tantivy.query import build_query
from feedmill.adapters.index.tantivy.reader import TantivyIndex
from feedmill.adapters.index.tantivy.words import WordQueries
from feedmill.core.query.language import parse_query
from feedmill.core.query.matching import ENOUGH, loosen
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.model.access import ANONYMOUS
from feedmill.model.query import MatchAll, Node
from feedmill.model.search import Match, SearchRequest
from feedmill.model.serving import Serving
from feedmill.services.searching.searcher import find_hits
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.corpus import Corpus

DOCUMENTS = 200_000
WORDS = 150
QUESTIONS = 400
CLIENTS = (1, 8)
SECONDS = 10.0
LENGTHS = (1, 2, 2, 3, 3, 4, 6)
SETTINGS = CompiledSearchConfig(Serving())
Ask = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured: the times of all queries in order, how many were answered a second, what each cost in CPU."""

    seconds: list[float]
    rate: float
    cpu_seconds: float | None = None

    @property
    def p50(self) -> float:
        """The median time."""
        return statistics.median(self.seconds)


def main(documents: int = DOCUMENTS, questions: int = QUESTIONS, folder: str = "") -> None:
    """Prints p50, p99 and queries a second of each way to ask."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file()) if folder else []
    questions_made = list_questions_of(files, questions) if files else list_questions(questions)
    with TemporaryDirectory() as data, running(Path(data) / "data") as appliance:
        begun = time.monotonic()
        fill(appliance, records_of(files, documents) if files else made_up(documents))
        print(f"  {documents:,} documents, searchable after {time.monotonic() - begun:,.0f} s", flush=True)
        index = TantivyIndex(next((Path(data) / "data" / "index").iterdir()))
        web = appliance.role_pids()["web"]
        for clients in CLIENTS:
            label = f"{clients} client{'s' if clients > 1 else ''}"
            engine = measure(lambda: lambda question: ask_engine(index, make_unique(question)), questions_made, clients)
            report(f"the bare engine, {label}", engine)
            report(
                f"the index port, {label}",
                measure(lambda: lambda question: ask_port(index, make_unique(question)), questions_made, clients),
                engine,
            )
            report(f"HTTP, {label}", measure(lambda: connect(appliance, make_unique), questions_made, clients, web), engine)
            report(f"HTTP, repeated, {label}", measure(lambda: connect(appliance), questions_made, clients, web), engine)


# --- documents and questions ----------------------------------------------------------------------------------------------------


def list_questions(count: int) -> list[str]:
    """Returns questions of one to six words, frequent and rare, some phrases."""
    random_, corpus = random.Random(3), Corpus(5)
    return [_ask_for(corpus.text(random_.choice(LENGTHS)).split(), number) for number in range(count)]


def list_questions_of(files: Sequence[Path], count: int) -> list[str]:
    """Returns questions as above, of words that stand beside one another in files of text."""
    random_, made = random.Random(3), list[str]()
    for _ in range(20 * count):
        text = random_.choice(files).read_bytes()[:200_000].decode("utf-8", "ignore")
        words = re.findall(r"[^\W_]{2,}", re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL | re.IGNORECASE))
        if len(words) >= max(LENGTHS):
            start = random_.randrange(len(words) - max(LENGTHS) + 1)
            made.append(_ask_for(words[start : start + random_.choice(LENGTHS)], len(made)))
        if len(made) == count:
            return made
    raise SystemExit("the files of the folder hold too little text to ask for")


def _ask_for(words: list[str], number: int) -> str:
    return f'"{" ".join(words[:2])}"' if number % 10 == 0 else " ".join(words)


def made_up(documents: int) -> Iterator[str]:
    """Yields the records of pages of a kilobyte."""
    corpus = Corpus()
    for n in range(documents):
        yield make_record(f"http://q.example.com/{n % 97}/{n}", f"<title>{corpus.text(4)} {n}</title><p>{corpus.text(WORDS)}</p>")


def records_of(files: Sequence[Path], documents: int) -> Iterator[str]:
    """Yields the records of files."""
    for n, path in enumerate(itertools.islice(itertools.cycle(files), documents)):
        kind = mimetypes.guess_type(path.name)[0] or "text/html"
        content = b64encode(path.read_bytes()).decode()
        head = f'<record url="http://q.example.com/{n % 97}/{n}" mimetype="{kind}">'
        yield f'{head}<content encoding="base64binary">{content}</content></record>'


def fill(appliance: Appliance, records: Iterator[str]) -> None:
    """Fills the index."""
    while batch := list(itertools.islice(records, 10_000)):
        appliance.push(make_feed(*batch), "fill")
    while appliance.get_json(appliance.gate, "/api/v1/feeds?datasource=fill&limit=1")[0]["searchable_at"] is None:
        time.sleep(1)


# --- querying -------------------------------------------------------------------------------------------------------------------


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
    found = searcher.search(build_query(root, ANONYMOUS, WordQueries(searcher, root)), 10, count=True)
    return int(found.count)  # type: ignore[attr-defined]


def ask_port(index: TantivyIndex, question: str) -> int:
    """Asks the index as the searcher does."""
    plan = SETTINGS.plan(SearchRequest(query=question))
    return find_hits(index, plan.root or MatchAll(), plan, ANONYMOUS).hits.total


def as_it_is(question: str) -> str:
    """Returns the question itself."""
    return question


def connect(appliance: Appliance, change: Callable[[str], str] = as_it_is) -> Ask:
    """Opens a client that keeps its connection."""
    connection = http.client.HTTPConnection("127.0.0.1", appliance.search_port, timeout=60)

    def ask(question: str) -> int:
        connection.request("GET", "/api/v1/search?" + urllib.parse.urlencode({"q": change(question)}))
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return len(body)

    return ask


def measure(open_client: Callable[[], Ask], questions: Sequence[str], clients: int, processes: Sequence[int] = ()) -> Measured:
    """Asks for some seconds, each question once before, by so many clients at once."""
    warm = open_client()
    for question in questions:
        warm(question)
    seconds: list[float] = []
    worked_before = worked(processes)
    began = time.monotonic()

    def work(number: int) -> None:
        ask, place = open_client(), number * len(questions) // clients
        while time.monotonic() < began + SECONDS:
            began_at = time.perf_counter()
            ask(questions[place % len(questions)])
            seconds.append(time.perf_counter() - began_at)
            place += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    return Measured(
        seconds=sorted(seconds),
        rate=len(seconds) / took,
        cpu_seconds=(worked(processes) - worked_before) / len(seconds) if processes else None,
    )


def worked(processes: Sequence[int]) -> float:
    """Returns the seconds of CPU that processes have used so far."""
    ticks = 0
    for pid in processes:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def report(name: str, measured: Measured, engine: Measured | None = None) -> None:
    """Prints the figures of one way to ask, and what they are over the engine's."""
    over = f" ({(measured.p50 - engine.p50) * 1000:+.2f} over the engine)" if engine is not None else ""
    cpu = f", CPU {measured.cpu_seconds * 1000:.2f} ms a query" if measured.cpu_seconds is not None else ""
    p99 = percentile(measured.seconds, 99)
    print(f"  {name:<27} p50 {measured.p50 * 1000:6.2f} ms{over}, p99 {p99 * 1000:6.2f} ms, {measured.rate:,.0f} a second{cpu}", flush=True)


if __name__ == "__main__":
    words = dict(enumerate(sys.argv[1:]))
    main(int(words.get(0, DOCUMENTS)), int(words.get(1, QUESTIONS)), words.get(2, ""))
