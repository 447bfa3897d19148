"""What scores, and what order alone, tell of hidden documents: the attack of a user who may see public documents and feed some.

Hidden documents hold a word; one public document holds it too, and control words stand in known numbers of public documents of the same
length. By the scores, which administrators alone are given, the number comes out exactly from two control words. By the order, which
everybody sees, it is enclosed between the two nearest control words.

    python -m bench.leak [HIDDEN]
"""

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.expensive import make_documents
from feedmill.adapters.index.tantivy import TantivyIndex, TantivyWriter
from feedmill.core.querylang import parse_query
from feedmill.model.access import ANONYMOUS
from feedmill.model.search import IndexDocument

HIDDEN = 137
PUBLIC = 3_000
CONTROLS = (10, 20, 50, 100, 120, 130, 140, 150, 200, 300, 500, 1_000)


def main(hidden: int = HIDDEN) -> None:
    """Prints what an attacker works out."""
    with TemporaryDirectory() as folder:
        index = build(Path(folder) / "index", hidden)
        low, high = enclose(index, CONTROLS)
        print(f"  {hidden} hidden documents hold the word, and 1 public one")
        print(f"    by scores, for administrators alone: {by_scores(index) - 1}")
        print(f"    by order with {len(CONTROLS)} control words: {low - 1 if low else 'fewer'} to {high - 1 if high else 'more'}")


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
