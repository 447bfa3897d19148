"""What scores, order and numbers reveal of hidden documents: the attack of a user who may see public documents and feed some.

Hidden documents hold a word; one public document holds it too, and control words stand in known numbers of public documents of the same
length. By the scores, which administrators alone are given, the number comes out exactly from two control words. By the order, which
everybody sees, it is enclosed between the two nearest control words. By totals, facets, expanded wildcards, completed and corrected words
nothing should come out: they are compared with those of an index without the hidden documents, for a signed-out user and for a user of
thousands of classes, whose totals and facets are estimated.

    python -m bench.leak [HIDDEN]
"""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.expensive import make_documents
from feedmill.adapters.index.tantivy.reader import TantivyIndex, TantivyWriter
from feedmill.core.query.language import parse_query
from feedmill.model.access import ANONYMOUS, AccessFilter, ClassMap
from feedmill.model.facets import Facet
from feedmill.model.query import MatchAll
from feedmill.model.search import IndexDocument, Sort

HIDDEN = 137
PUBLIC = 3_000
SPREAD = 10_000
CLASSES = 20_000
HIDDEN_AT_LEAST = 10
_MODEL = next(make_documents(1))
CONTROLS = (10, 20, 50, 100, 120, 130, 140, 150, 200, 300, 500, 1_000)


def main(hidden: int = HIDDEN) -> None:
    """Prints what an attacker works out."""
    with TemporaryDirectory() as folder:
        index = build(Path(folder) / "index", hidden)
        low, high = enclose(index, CONTROLS)
        print(f"  {hidden} hidden documents hold the word, and 1 public one")
        print(f"    by scores, for administrators alone: {by_scores(index) - 1}")
        span = (high or PUBLIC) - (low or 0)
        learnt = f"{math.log2(PUBLIC / span):.1f} bits of {math.log2(PUBLIC):.1f}, off by {span / 2 / hidden:.0%} at most"
        bounds = f"{low - 1 if low else 'fewer'} to {high - 1 if high else 'more'}"
        print(f"    by order with {len(CONTROLS)} control words: {bounds} ({learnt})")
    with TemporaryDirectory() as folder:
        print_numbers(Path(folder), hidden)


def print_numbers(folder: Path, hidden: int) -> None:
    """Prints what of an answer's numbers differs for a number of hidden documents, from small to many."""
    filters = {
        "a signed-out user": ANONYMOUS,
        "a user of many classes": AccessFilter(permitted=ClassMap(bytes(1 - number % 2 for number in range(CLASSES)))),
    }
    numbers: list[dict[str, dict[str, object]]] = []
    for place, count in enumerate((0, hidden, 20 * hidden)):
        writer = TantivyWriter(folder / f"{place}")
        writer.put_many(_spread_documents(count))
        writer.commit()
        writer.close()
        index = TantivyIndex(folder / f"{place}")
        numbers.append({name: list_numbers(index, access) for name, access in filters.items()})
    for name in filters:
        first = numbers[0][name]
        differing = sorted({question for other in numbers[1:] for question in first if first[question] != other[name][question]})
        revealing = ", ".join(differing) or "nothing"
        against = f"{hidden} and {20 * hidden} hidden against none"
        print(f"    by numbers shown to {name}, {against}: {len(differing)} of {len(first)} differ: {revealing}", flush=True)


def list_numbers(index: TantivyIndex, access: AccessFilter) -> dict[str, object]:
    """Returns what is shown of words that hidden documents hold, but for order and scores."""
    numbers: dict[str, object] = {}
    for text in ("few", "secretword", "secret*", "everywhere", "fewe OR secretwort"):
        root = parse_query(text).root
        for num in (10, 100):
            hits = index.search(root, access, start=0, num=num)
            numbers[f"total of {text}, {num} results"] = hits.total, hits.is_exact, len(hits.hits)
        numbers[f"total of {text} by date"] = index.search(root, access, start=0, num=10, sort=Sort()).total
        numbers[f"list of {text}"] = index.list_by_key(root, access, after=0, num=10)
        numbers[f"facets of {text}"] = index.count_facets(root, access, (Facet(name="kind"),))
    for start in ("s", "few", "every"):
        numbers[f"completed {start}"] = index.vocabulary.complete(start, MatchAll(), access, 10)
    for word in ("secretwrd", "secretwort", "fewe", "evrywhere"):
        numbers[f"corrected {word}"] = index.vocabulary.find_alike(word, access, 0)
    return numbers


def _spread_documents(hidden: int) -> Iterator[IndexDocument]:
    """Makes documents of all classes that the user of many classes sees, and hidden ones that hold the same words."""
    seen = [0, *range(2, CLASSES, 2)]
    for key in range(SPREAD):
        words = [*(["few"] if key < 50 else []), *(["secretword"] if key % 2 else []), "everywhere"]
        yield _make(key + 1, words, seen[key % len(seen)] if key % 3 else 0, f"open{key % 5}")
    for number in range(20 * HIDDEN_AT_LEAST + hidden):
        words = ["few", "secretword", "secretwork", "everywhere"] if number < hidden else ["other"]
        yield _make(SPREAD + 1 + number, words, 2 * (number % 900) + 1, "secret" if number < hidden else "open0")


def _make(key: int, words: Sequence[str], access_class: int, kind: str) -> IndexDocument:
    body = " ".join(words)
    return replace(_MODEL, key=key, access_class=access_class, title=body, body=body, metadata=(("kind", kind),))


def by_scores(index: TantivyIndex) -> int:
    """Returns the number of documents that hold the word, by its score and those of two control words."""

    def score(word: str) -> float:
        return index.search(parse_query(word).root, ANONYMOUS, start=0, num=1).hits[0].score

    first, second = CONTROLS[2], CONTROLS[-1]

    def ratio(count: int, documents: int) -> float:
        return rarity(count, documents) / rarity(first, documents)

    # how many documents there are comes of one control word, the number wanted of the other
    near = min(
        range(PUBLIC, 4 * PUBLIC), key=lambda documents: abs(ratio(second, documents) - score("controltext11x") / score("controltext2x"))
    )
    return min(range(1, near), key=lambda count: abs(ratio(count, near) - score("secretword") / score("controltext2x")))


def rarity(count: int, documents: int) -> float:
    """Returns how much a word counts. Source: BM25 as engines compute it."""
    return math.log(1 + (documents - count + 0.5) / (count + 0.5))


def enclose(index: TantivyIndex, controls: Sequence[int]) -> tuple[int | None, int | None]:
    """Returns the two control numbers between which the word's lies, by which document comes first."""
    low = high = None
    for place, count in enumerate(controls):
        hits = index.search(parse_query(f"secretword OR controltext{place}x").root, ANONYMOUS, start=0, num=1).hits
        if hits[0].key == 1:
            high = count if high is None else high
        else:
            low = count
    return low, high


def build(folder: Path, hidden: int) -> TantivyIndex:
    """Builds an index of public and hidden documents of the same length."""
    writer = TantivyWriter(folder)
    writer.put_many(_documents(hidden))
    writer.commit()
    writer.close()
    return TantivyIndex(folder)


def _documents(hidden: int) -> Iterator[IndexDocument]:
    made = make_documents(PUBLIC + hidden + 1)
    model = next(made)

    def document(key: int, words: Sequence[str], access_class: int) -> IndexDocument:
        body = " ".join([*words, *(f"filler{place}" for place in range(40 - len(words)))])
        return IndexDocument(
            key=key,
            url=f"http://leak.example.com/{key}",
            display_url=None,
            access_class=access_class,
            title="t",
            body=body,
            metadata=(),
            datasource=model.datasource,
            mimetype=model.mimetype,
            language=model.language,
            last_modified=None,
            pagerank=96,
        )

    yield document(1, ["secretword"], 0)
    for number in range(hidden):
        yield document(2 + number, ["secretword"], 5)
    words = [f"controltext{place}x" for place, count in enumerate(CONTROLS) for _ in range(count)]
    for number in range(PUBLIC):
        yield document(2 + hidden + number, words[number : number + 1] or ["other"], 0)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
