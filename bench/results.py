"""What an answer of 100 results costs as XML: making the results, and writing them, beside the query that found them.

All in one process, on a folder that a server filled, so that no connection is in the figures; each query is taken in turns.
"""

import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.uniquequeries import make_unique, new_word
from feedmill.bootstrap.context import open_context
from feedmill.bootstrap.search import build_search_services
from feedmill.model.access import ANONYMOUS
from feedmill.model.query import And, Not, Word
from feedmill.model.results import Collapsing
from feedmill.model.search import Match, SearchRequest
from feedmill.services.searching.resultlist import list_results
from feedmill.settings import Settings
from feedmill.wire.results.gsaxml import ResponseParts, render_results
from tests.appliance import running
from tests.corpus import Corpus, vocabulary

DOCUMENTS = 20_000
RESULTS = 100
ROUNDS = 60
UNCOLLAPSED = Collapsing(snippets=False, directories=False)


def main(documents: int = DOCUMENTS, rounds: int = ROUNDS) -> None:
    """Prints medians of the three parts and the ratio of writing to the query."""
    with TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        with running(data) as appliance:
            appliance.wait(appliance.push(b"".join(Corpus().feed(documents)), "bench", "full"), seconds=600)
        found, made, written = measure(data, vocabulary()[20:50], rounds)
    print(f"  the engine finds {RESULTS} of {documents:,} documents      {found:7.2f} ms")
    print(f"  the searcher makes results of them, snippets too {made:7.2f} ms")
    print(f"  written as XML                                   {written:7.2f} ms; ratio to the query {written / found:.2f}")


def measure(data: Path, words: list[str], rounds: int) -> tuple[float, float, float]:
    """Returns milliseconds of the engine's answer, of the searcher's whole answer without it, and of writing that as XML."""
    found, made, written = [], [], []
    with open_context(data, Settings()) as context:
        services = build_search_services(context)
        for turn in range(rounds):
            word = words[turn % len(words)]
            request = SearchRequest(query=make_unique(word), num=RESULTS, match=Match.ALL)
            index = services.states.read_search_state().index
            assert index is not None
            begun = time.perf_counter()
            hits = index.search(And((Word(word), Not(Word(new_word())))), ANONYMOUS, start=0, num=RESULTS)
            found_at = time.perf_counter()
            results = list_results(services.searcher, services.searcher.prepare(request, ANONYMOUS), UNCOLLAPSED)
            listed_at = time.perf_counter()
            render_results(ResponseParts(query=word, page=results, now=datetime.now(UTC)))
            assert len(results.results) == len(hits.hits) == RESULTS, (word, len(hits.hits))
            found.append(found_at - begun)
            made.append(listed_at - found_at - found[-1])
            written.append(time.perf_counter() - listed_at)
    return median(found) * 1_000, median(made) * 1_000, median(written) * 1_000


if __name__ == "__main__":
    main()
