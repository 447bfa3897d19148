"""Numbers that the engine shows a user are the same, however many documents that the user may not see hold the words of the query."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from feedmill.adapters.index.tantivy import accessfilter, classfacets
from feedmill.adapters.index.tantivy.reader import TantivyIndex, TantivyWriter
from feedmill.core.ranking.facets import read_facet_range
from feedmill.model.access import ANONYMOUS, AccessFilter, ClassMap
from feedmill.model.facets import Facet, FacetType
from feedmill.model.query import InTitle, MatchAll, MetaExists, Node, Not, Or, Phrase, Wildcard, Word
from feedmill.model.search import IndexDocument, Sort
from tests.builders.indexdocuments import make_index_document

CLASSES = 1_500
VISIBLE = 4_000
HELD = {"alderwood": 40, "alderwould": 40, "birchtree": 900, "cedartree": 1_700, "elmtree": 3_900}
"""In how many visible documents each word stands."""

HIDDEN = (0, 1, 137, 1_400, 3_000)
MANY = AccessFilter(permitted=ClassMap(b"\1" + bytes(number % 2 for number in range(1, CLASSES))))
FACETS = (
    Facet(name="kind"),
    Facet(name="rank", type=FacetType.INTEGER, ranges=tuple(read_facet_range(text, FacetType.INTEGER) for text in ("..2", "2..3", "5.."))),
    Facet(name="@source"),
    Facet(name="@date", type=FacetType.DATE, as_of=date(2025, 6, 1)),
)
QUERIES: tuple[Node, ...] = (
    *map(Word, HELD),
    MatchAll(),
    Or((Word("alderwood"), Word("birchtree"))),
    Phrase("birchtree text"),
    Wildcard("*tree"),
    Wildcard("alder*"),
    InTitle("cedartree"),
    MetaExists("kind"),
    Not(Word("elmtree")),
)


def make_visible() -> Iterator[IndexDocument]:
    chance = random.Random(1)
    for key in range(1, VISIBLE + 1):
        words = [word for word, count in HELD.items() if key <= count or (word == "alderwould" and key > VISIBLE - count)]
        if "alderwould" in words and key <= HELD["alderwould"]:
            words.remove("alderwould")
        number = chance.choice((0, *range(1, CLASSES, 2)))
        yield make(key, number, words, "open")


def make_hidden(count: int) -> Iterator[IndexDocument]:
    """Makes documents without the words, so that something is hidden in any case, and ``count`` documents with them."""
    for number in range(3_000):
        words = [*HELD, "alderwoad", "alderhidden"] if number < count else ["other"]
        yield make(VISIBLE + 1 + number, 2 * (number % 700) + 2, words, f"secret{number % 50}" if number < count else "open")


def make(key: int, access_class: int, words: list[str], kind: str) -> IndexDocument:
    text = " ".join(f"{word} text" for word in words)
    metadata = (("kind", kind), ("rank", str(key % 7)))
    # hidden documents of one kind are older and newer than all others
    year = 2024 + key % 2 if kind == "open" else 1990 + key % 50
    return make_index_document(
        key=key,
        url=f"http://a/{key}",
        access_class=access_class,
        title=text,
        body=text,
        metadata=metadata,
        datasource=kind,
        last_modified=datetime(year, 3, 1, tzinfo=UTC),
    )


@contextmanager
def filled(folder: Path, hidden: int) -> Iterator[TantivyIndex]:
    writer = TantivyWriter(folder, heap_bytes=15_000_000)
    writer.put_many([*make_visible(), *make_hidden(hidden)])
    index = TantivyIndex(folder)
    assert index.reload_to(writer.commit())
    yield index
    writer.close()


def read_numbers(index: TantivyIndex, access: AccessFilter) -> dict[str, object]:
    """Returns everything but order and scores that the engine shows."""
    numbers: dict[str, object] = {}
    for query in QUERIES:
        for num in (0, 10, 1_200):
            hits = index.search(query, access, start=0, num=num)
            numbers[f"{query} {num}"] = hits.total, hits.is_exact, len(hits.hits)
        numbers[f"{query} by date"] = index.search(query, access, start=0, num=10, sort=Sort()).total
        numbers[f"{query} by key"] = index.list_by_key(query, access, after=0, num=3)
        numbers[f"{query} facets"] = index.count_facets(query, access, FACETS)
    vocabulary = index.vocabulary
    for word in HELD:
        numbers[f"count {word}"] = vocabulary.count(word, access)
    for start in ("al", "alder", "b", "other"):
        numbers[f"complete {start}"] = vocabulary.complete(start, MatchAll(), access, 10)
    for word in ("alderwod", "alderwxxd", "brichtree", "alderhiden", "elmtee"):
        numbers[f"alike {word}"] = vocabulary.find_alike(word, access, 0)
    return numbers


@pytest.fixture
def cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has classes count as too many for a clause, and counts be estimated."""
    monkeypatch.setattr(accessfilter, "COST_OF_A_TERM", 1_000.0)
    for name, value in (("WHOLE", 1_000), ("PILOT", 1_000), ("DRAWN", 400)):
        monkeypatch.setattr(classfacets, name, value)


@pytest.mark.usefixtures("cut_short")
def test_numbers_do_not_depend_on_what_is_hidden(tmp_path: Path) -> None:
    numbers = []
    for hidden in HIDDEN:
        with filled(tmp_path / str(hidden), hidden) as index:
            numbers.append([read_numbers(index, access) for access in (MANY, ANONYMOUS)])
    for place, others in enumerate(numbers[1:], 1):
        for own, other in zip(numbers[0], others, strict=True):
            differing = {name: (own[name], other[name]) for name in own if own[name] != other[name]}
            assert not differing, HIDDEN[place]


@pytest.mark.usefixtures("cut_short")
@pytest.mark.parametrize("most_taken", [2_500, 25_000])
def test_estimated_totals_are_near_the_exact_ones(tmp_path: Path, most_taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accessfilter, "MOST_TAKEN", most_taken)
    with filled(tmp_path / "index", 3_000) as index:
        for word, count in HELD.items():
            found = index.search(Word(word), MANY, start=0, num=10)
            assert found.is_exact is (count <= accessfilter.EXACT_TO)
            assert found.total == (count if found.is_exact else pytest.approx(count, rel=0.15))
