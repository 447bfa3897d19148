"""The dearest queries that a user can send, over an index of 300,000 different words, beside an ordinary query of the same run.

Each question goes to the index port, with every bound of the query language in force, as a search asks it: hits, then facets where the
question has some. The ratio says how many ordinary queries a hostile one costs; the aim is that none takes longer than the deadline.

    python -m bench.expensive [DOCUMENTS]
"""

import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from feedmill.adapters.index.tantivy.reader import TantivyIndex, TantivyWriter
from feedmill.core.query.builder import read_request
from feedmill.core.query.matching import loosen
from feedmill.core.query.plan import select_facets
from feedmill.http.search.parameters import read_search
from feedmill.model.access import ANONYMOUS
from feedmill.model.search import IndexDocument, SearchRequest

DOCUMENTS = 100_000
RARE_WORDS = 300_000
COMMON_WORDS = 4_000
ORDINARY = 30
ROUNDS = 3
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BEGUN = datetime(2020, 1, 1, tzinfo=UTC)


def main(documents: int = DOCUMENTS) -> None:
    """Prints the time of each hostile query and its ratio to an ordinary one."""
    with TemporaryDirectory() as folder:
        index = build(Path(folder) / "index", documents)
        print(f"  {documents:,} documents, {RARE_WORDS + COMMON_WORDS:,} different words")
        numbers = itertools.count()
        ordinary = statistics.median(timed(index, {"q": f"w{7 + n % 50} w{90 + n % 70} -none{next(numbers)}"}) for n in range(ORDINARY))
        print(f"    an ordinary query: {ordinary * 1000:.2f} ms")
        for name, values in list_hostile().items():
            # a word that nothing holds makes each query another one, since results are cached
            seconds = max(timed(index, values | {"q": f"{values['q']} -none{next(numbers)}"}) for _ in range(ROUNDS))
            print(f"    {name}: {seconds:.3f} s, {seconds / ordinary:,.0f} ordinary queries", flush=True)


def list_hostile() -> dict[str, dict[str, str]]:
    """Returns the parameters of hostile searches by a name."""
    stars = [f"{first}{second}*" for first in LETTERS for second in LETTERS]
    common = [f"w{number}" for number in range(50)]
    ranges = [f"inmeta:n{number % 3}:{number}..{10**9 + number}" for number in range(49)]
    fields = [f"n{number % 3}~{number}" for number in range(199)]
    return {
        "one wildcard over half the dictionary": {"q": "r0*"},
        "50 wildcards at once": {"q": " OR ".join(["ra*", "w1*", "r0*", *stars[:46]])},
        "50 wildcards of the same words": {"q": " OR ".join(f"r{number % 10}*{number}*" for number in range(49))},
        "50 wildcards with pieces": {"q": " OR ".join(f"w*{n % 10}*{n // 10}*" for n in range(49))},
        "50 common words, any": {"q": " OR ".join(common[:49])},
        "50 common words, loosened": {"q": " ".join([*common[:48], "qqqq"])},
        "a phrase of common words": {"q": f'"{" ".join(common[:6])}"'},
        "49 phrases of common words": {"q": " OR ".join(f'"w{n} w{n + 1} w{n + 2}"' for n in range(49))},
        "a phrase of 200 common words": {"q": '"' + " ".join(f"w{n % 10}" for n in range(199)) + '"'},
        "49 phrases of 200 common words": {"q": " OR ".join('"' + " ".join(f"w{(n + m) % 9}" for n in range(60)) + '"' for m in range(49))},
        "everything but 49 words": {"q": " ".join(f"-{word}" for word in common[:49])},
        "49 ranges of numbers": {"q": " ".join(ranges)},
        "49 ranges of numbers, any": {"q": " OR ".join(ranges)},
        "49 odd ranges, any": {"q": " OR ".join(f"inmeta:n1:{n}.{n:03}7..{10**14 + n}.7" for n in range(49))},
        "49 ranges in texts": {"q": " OR ".join(f"{n}..{10**9 + n}" for n in range(49))},
        "49 ranges of days": {"q": " OR ".join(f"daterange:2020-01-0{n % 9 + 1}..2026-01-01" for n in range(49))},
        "requiredfields of 200 terms": {"q": "", "requiredfields": "|".join(f"n0:{number}" for number in range(199))},
        "partialfields of 200 terms": {"q": "", "partialfields": "|".join(fields).replace("~", ":")},
        "partialfields of 200 starts": {"q": "", "partialfields": "|".join(f"n{n % 3}:{n % 10}*" for n in range(199))},
        "49 beginnings of values": {"q": " OR ".join(f"inmeta:n{n % 3}~{n % 10}*" for n in range(49))},
        "49 sites": {"q": " OR ".join(f"site:h{number}.example.com/d" for number in range(49))},
        "49 titles by wildcard": {"q": " OR ".join(f"intitle:r{number % 10}*" for number in range(49))},
        "49 link questions": {"q": " OR ".join(f"link:http://h{number}.example.com/" for number in range(49))},
        "num=1000": {"q": "w1", "num": "1000"},
        "start=99000, num=1000": {"q": "w1", "start": "99000", "num": "1000"},
        "start=99000 of 49 words": {"q": " OR ".join(common[:49]), "start": "99000", "num": "1000"},
        "sorted by metadata, start=19000": {"q": "w1", "sort": "meta:n0:D", "start": "19000", "num": "1000"},
        "sorted by date, start=99000": {"q": "w1", "sort": "date:D:R:d1", "start": "99000", "num": "1000"},
        "20 facets": {"q": "w1", "facet": " ".join([f"n{number}" for number in range(3)] * 7)},
        "20 facets over everything": {"q": "-nothing", "facet": " ".join(f"n{number}" for number in range(20))},
        "20 facets of 49 wildcards": {"q": " OR ".join(f"r{n % 10}*" for n in range(49)), "facet": " ".join(f"n{n}" for n in range(20))},
    }


def timed(index: TantivyIndex, values: dict[str, str]) -> float:
    """Returns the seconds of one question to the index port, the facets included."""
    request = replace(read_search(values), facet_names=tuple(values.get("facet", "").split()))
    facets, _ = select_facets(request, ())
    begun = time.perf_counter()
    ask(index, request, lambda root: index.count_facets(root, ANONYMOUS, facets) if facets else None)
    return time.perf_counter() - begun


def ask(index: TantivyIndex, request: SearchRequest, then: Callable[..., object]) -> None:
    """Asks as a search does: as it stands, and loosened where that finds little."""
    root = read_request(request).root
    roots = [root, *([loosened] if (loosened := loosen(root, request.match)) is not None else [])]
    for each in roots:
        hits = index.search(each, ANONYMOUS, start=request.start, num=request.num, sort=request.sort)
        if hits.total >= ENOUGH_TO_STOP:
            break
    then(each)


ENOUGH_TO_STOP = 10


# --- the index ------------------------------------------------------------------------------------------------------------------


def build(folder: Path, documents: int) -> TantivyIndex:
    """Builds an index of so many documents."""
    writer = TantivyWriter(folder)
    made = make_documents(documents)
    while batch := list(itertools.islice(made, 10_000)):
        writer.put_many(batch)
        writer.commit()
    writer.close()
    return TantivyIndex(folder)


def make_documents(documents: int) -> Iterator[IndexDocument]:
    """Yields documents of common words and of some of 300,000 rare ones, each with metadata of three names."""
    chance = random.Random(1)
    weights = [1 / (rank + 5) for rank in range(COMMON_WORDS)]
    words = [f"w{number}" for number in range(COMMON_WORDS)]
    a_document = max(RARE_WORDS // documents, 1) + 1
    for number in range(documents):
        rare = [f"r{(number * a_document + place) % RARE_WORDS}" for place in range(a_document)]
        body = [*chance.choices(words, weights, k=60), *rare, f"{number % 1000}.5", "w0 w1 w2 w3 w4 w5 w6 w7"]
        yield IndexDocument(
            key=number + 1,
            url=f"http://h{number % 60}.example.com/d{number % 100}/{number}",
            display_url=None,
            access_class=0,
            title=f"{rare[0]} w{number % 100}",
            body=" ".join(body),
            metadata=(("n0", f"{number}"), ("n1", f"{number % 5_000}.25"), ("n2", f"{number % 12} words of a value {number % 3_000}")),
            datasource="bench",
            mimetype="text/html",
            language="en",
            last_modified=_BEGUN + timedelta(minutes=number),
            pagerank=96,
            links=[f"http://h{(number + 1) % 60}.example.com/"],
        )


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
