"""What every search index promises of stems, scripts and order; the order by more than words is Tantivy's alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill.adapters.index.tantivy.reader import TantivyIndex, TantivyWriter
from feedmill.core.text.fingerprints import find_fingerprint
from feedmill.model.access import ANONYMOUS
from feedmill.model.query import And, AnyOf, MatchAll, Node, Not, Or, Phrase, Word
from feedmill.model.ranking import Ranking
from feedmill.model.search import Hit, IndexDocument, Sort
from tests.builders.indexdocuments import make_index_document, with_body
from tests.contract.indexharness import BOTH, Opened, keys, put

Order = Callable[..., list[int]]


def in_language(language: str | None, *bodies: str) -> list[IndexDocument]:
    return [replace(one, language=language) for one in with_body(*bodies)]


# --- stems ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("en", "She was running fast", "runs"),
        ("de", "Die Häuser am See", "Haus"),
        ("fr", "ils sont mangées", "mangee"),
        ("ru", "много книг здесь", "книгами"),
        ("ar", "قرأت الكتاب", "كتاب"),
        (None, "She was running fast", "runs"),
        ("th", "ระบบ windows ใหม่", "window"),
        ("ko", "서울에서 산다", "서울"),
        ("ja", "東京都庁舎", "京都庁"),
        ("th", "ภาษาไทยสวย", "ษาไท"),
        ("km", "ភាសាខ្មែរ", "ខ្មែរ"),
        ("lo", "ພາສາລາວ", "ລາວ"),
        ("my", "မြန်မာဘာသာ", "ဘာသာ"),
    ],
)
def test_word_inflected_or_inside_a_run_is_found(opened: Opened, language: str | None, text: str, query: str) -> None:
    put(opened, *in_language(language, text, "nothing of it"))
    assert keys(opened, Word(query)) == keys(opened, And((Word(query),))) == [1]


def test_word_stems_hold_in_negations_and_joins_but_not_in_phrases(opened: Opened) -> None:
    put(opened, *in_language("en", "running shoes", "run shoe", "a shoe"))
    assert sorted(keys(opened, And((Word("run"), Word("shoes"))))) == [1, 2]
    assert keys(opened, And((Word("shoe"), Not(Word("runs"))))) == [3]
    assert sorted(keys(opened, Or((Word("runs"), Word("zebra"))))) == [1, 2]
    assert keys(opened, Phrase("running shoes")) == keys(opened, Phrase("running")) == [1]


def test_word_run_characters_out_of_order_do_not_match(opened: Opened) -> None:
    put(opened, *in_language("ja", "東京と京都の天気", "東京都の天気", "京都東"))
    assert keys(opened, Word("東京都")) == [2]
    assert sorted(keys(opened, Word("京都"))) == [1, 2, 3]
    assert sorted(keys(opened, Word("都"))) == [1, 2, 3]


def test_word_exact_spelling_ranks_before_a_stem(opened: Opened) -> None:
    put(opened, *in_language("en", "many runs were seen", "many running were seen"))
    assert keys(opened, Word("running")) == [2, 1]
    assert keys(opened, Word("runs")) == [1, 2]


def test_word_of_links_that_lead_to_a_document_finds_it(opened: Opened) -> None:
    put(
        opened,
        make_index_document(body="plain", anchors=("holiday forms",)),
        make_index_document(key=2, body="holiday"),
        make_index_document(key=3),
    )
    assert sorted(keys(opened, Word("holidays"))) == [1, 2]
    assert keys(opened, And((Word("form"), Word("plain")))) == [1]
    assert keys(opened, Phrase("holiday forms")) == []


def test_some_a_repeated_word_counts_and_is_no_error(opened: Opened) -> None:
    put(opened, *with_body("flow x y", "wing x y"))
    assert keys(opened, AnyOf((Word("flow"), Word("wing"), Word("flow"))))[0] == 1


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ((Word("run"), Word("shoes")), "Running Shoe runway runs", ["Running", "Shoe", "runs"]),
        ((Phrase("running shoe"),), "run shoe, running shoe, running shoes", ["running", "shoe"]),
        ((Word("mangee"),), "Elle a mangé, mangées", ["mangé", "mangées"]),
        ((Word("서울"),), "서울에서 부산까지", ["서울에서"]),
        ((Word("東京"),), "東京都 京東", ["東京"]),
    ],
)
def test_highlighter_marks_words_in_all_their_forms(opened: Opened, query: tuple[Node, ...], text: str, marked: list[str]) -> None:
    put(opened, *in_language("fr", "x"), make_index_document(key=2, body="y"))
    found = opened[0].make_highlighter(And(query)).make_snippet("filler " * 400 + text)
    assert [found.text[start:end] for start, end in found.marks] == marked


# --- Tantivy alone --------------------------------------------------------------------------------------------------------------


def order(tmp_path: Path, *documents: IndexDocument, ranking: Ranking | None = None, query: tuple[str, ...]) -> list[Hit]:
    writer = TantivyWriter(tmp_path, heap_bytes=15_000_000)
    writer.put_many(documents)
    writer.commit()
    writer.close()
    index = TantivyIndex(tmp_path, ranking, clock=lambda: 0.0)
    return list(index.search(AnyOf(tuple(map(Word, query))), BOTH, start=0, num=10, explains=True).hits)


def first(hits: list[Hit]) -> int:
    assert hits[0].score > hits[1].score
    return hits[0].key


def test_ranking_near_words_come_before_far_ones(tmp_path: Path) -> None:
    far = "annual one two three four five six report"
    near = "one two three four five six annual report"
    assert first(order(tmp_path, *with_body(far, near), query=("annual", "report"))) == 2


_SPELLINGS = [
    ("fr", "cote", "côté"),
    ("fr", "cotes", "côtés"),
    ("fr", "eleve", "élève"),
    ("en", "resume", "résumé"),
    ("en", "cafe", "café"),
    ("de", "uber", "über"),
    ("es", "ano", "año"),
    ("pt", "avo", "avó"),
    ("ru", "елка", "ёлка"),
    ("ru", "все", "всё"),
    ("tr", "cok", "çok"),
    ("vi", "ma", "mã"),
    ("pl", "lodz", "łódź"),
    ("", "naive", "naïve"),
]


@pytest.mark.parametrize("others", [(), ("droit", "gauche")], ids=["alone", "with others"])
@pytest.mark.parametrize(("language", "plain", "accented"), _SPELLINGS, ids=[f"{language} {plain}" for language, plain, _ in _SPELLINGS])
def test_ranking_accents_as_in_the_query_come_first(
    tmp_path: Path, language: str, plain: str, accented: str, others: tuple[str, ...]
) -> None:
    text = "gauche one two {} three droit four"
    bodies = (plain, accented, accented.upper(), plain, "five")
    documents = in_language(language, *(text.format(word) for word in bodies))
    hits = order(tmp_path / "1", *documents, query=(plain, *others))
    assert [hit.key for hit in hits[:4]] == [1, 4, 2, 3]
    assert hits[1].score > hits[2].score
    hits = order(tmp_path / "2", *documents, query=(accented, *others))
    assert [hit.key for hit in hits[:4]] == [2, 3, 1, 4]
    assert hits[1].score > hits[2].score


def test_ranking_accents_count_in_titles_and_phrases(tmp_path: Path) -> None:
    bodies = in_language("fr", *("un mot et encore",) * 2)
    documents = [replace(one, title=title) for one, title in zip(bodies, ("café noir", "cafe noir"), strict=True)]
    for query, best in (("cafe", 2), ("café", 1)):
        assert first(order(tmp_path / query, *documents, query=(query,))) == best
        hits = TantivyIndex(tmp_path / query).search(Phrase(f"{query} noir"), BOTH, start=0, num=10).hits
        assert first(list(hits)) == best


def test_ranking_a_document_with_both_spellings_is_one_with_the_plain_one(tmp_path: Path) -> None:
    documents = in_language("fr", "le café", "le cafe ou café", "le café ou café")
    assert first(order(tmp_path, *documents, query=("cafe",))) == 2


def test_ranking_url_and_title_speak_for_a_document(tmp_path: Path) -> None:
    body = "the needle of it"
    documents = [make_index_document(body=body, title="other"), make_index_document(key=2, body="it of it", title="Needle")]
    assert first(order(tmp_path / "1", *documents, query=("needle", "it"))) == 2
    documents = [replace(one, url=f"http://a.com/x/{end}") for one, end in zip(with_body(body, body), ("needlee", "needle"), strict=True)]
    assert first(order(tmp_path / "2", *documents, query=("needle", "it"))) == 2


def test_ranking_static_rank_decides_among_equals(tmp_path: Path) -> None:
    documents = [replace(one, pagerank=rank) for one, rank in zip(with_body("a b", "a b", "a b"), (68, 100, 96), strict=True)]
    assert [hit.key for hit in order(tmp_path, *documents, query=("a", "b"))] == [2, 3, 1]


def test_ranking_headings_speak_for_a_document(tmp_path: Path) -> None:
    body = "a needle in the hay\nabout the barn"
    documents = [
        make_index_document(key=key, body=body, headings=headings) for key, headings in ((1, "about the barn"), (2, "needles"), (3, ""))
    ]
    hits = order(tmp_path, *documents, query=("needle", "hay"))
    assert [hit.key for hit in hits] == [2, 1, 3]
    assert dict(hits[0].parts)["headings"] > 0 == dict(hits[1].parts)["headings"]
    without = order(tmp_path, *documents, query=("needle", "hay"), ranking=Ranking(headings=0.0))
    assert [hit.key for hit in without] == [1, 2, 3]


def test_ranking_words_of_links_find_a_document_and_speak_for_it(tmp_path: Path) -> None:
    documents = [
        make_index_document(key=key, body="of the barn", anchors=anchors) for key, anchors in ((1, ()), (2, ("haystack needles",)))
    ]
    documents.append(make_index_document(key=3, body="needle in a haystack, " + "long text " * 30, anchors=("haystack",)))
    assert [hit.key for hit in order(tmp_path, *documents, query=("needle",))] == [3, 2], "a word of its own counts more"
    assert {hit.key for hit in order(tmp_path, *documents, query=("needle",), ranking=Ranking(anchors=0.0))} == {2, 3}
    hits = order(tmp_path, *documents, query=("haystack",))
    assert {hit.key: dict(hit.parts)["anchors"] > 0 for hit in hits} == {2: True, 3: True}


def test_ranking_texts_of_links_change_nothing_for_other_words(tmp_path: Path) -> None:
    documents = [make_index_document(key=1, body="barn"), make_index_document(key=2, body="barn", anchors=("many other words",) * 3)]
    hits = order(tmp_path, *documents, query=("barn",))
    assert hits[0].score == pytest.approx(hits[1].score)


@pytest.mark.parametrize(("anchor", "query"), [("東京都庁の展望", "東京都庁"), ("หนังสือดี", "หนังสือ"), ("서울에서", "서울")])
def test_ranking_runs_in_texts_of_links_are_found(tmp_path: Path, anchor: str, query: str) -> None:
    documents = [make_index_document(key=1, body="x", anchors=(anchor,)), make_index_document(key=2, body="y", anchors=("東都",))]
    assert [hit.key for hit in order(tmp_path, *documents, query=(query,))] == [1]


def test_ranking_linked_documents_come_first_among_equals(tmp_path: Path) -> None:
    documents = [replace(one, link_rank=rank) for one, rank in zip(with_body("a b", "a b", "a b"), (0, 100, 50), strict=True)]
    hits = order(tmp_path, *documents, query=("a", "b"))
    assert [(hit.key, dict(hit.parts)["links"]) for hit in hits] == [(2, pytest.approx(1.1)), (3, pytest.approx(1.05)), (1, 1.0)]
    without = order(tmp_path, *documents, query=("a", "b"), ranking=Ranking(links=0.0))
    assert [(hit.key, dict(hit.parts)["links"]) for hit in without] == [(1, 1.0), (2, 1.0), (3, 1.0)]


@pytest.mark.parametrize("explains", [False, True])
def test_ranking_hits_have_the_fingerprints_of_their_texts(tmp_path: Path, explains: bool) -> None:
    text = "needle " + ". ".join(f"this is the sentence with the number {number}" for number in range(20))
    documents = [replace(one, link_rank=rank) for one, rank in zip(with_body(text, text, "needle"), (0, 100, 50), strict=True)]
    linked = {hit.key: dict(hit.parts)["links"] for hit in order(tmp_path / "linked", *documents, query=("needle",))}
    index = TantivyIndex(tmp_path / "linked", clock=lambda: 0.0)
    hits = index.search(Word("needle"), BOTH, start=0, num=10, explains=explains).hits
    assert {hit.key: hit.fingerprint for hit in hits} == {1: find_fingerprint(text), 2: find_fingerprint(text), 3: 0}
    # the link rank that is stored beside it counts as before
    assert linked == {1: 1.0, 2: pytest.approx(1.1), 3: pytest.approx(1.05)}


@pytest.mark.parametrize("sort", [Sort(), Sort(is_whole=False), Sort(name="size")])
def test_sorted_hits_have_the_fingerprints_of_their_texts(opened: Opened, sort: Sort) -> None:
    text = ". ".join(f"this is the sentence number {number}" for number in range(20))
    bodies = {1: text, 2: text, 3: "short", 4: f"other {text}"}
    put(opened, *(make_index_document(key=key, body=body, metadata=(("size", f"{key}"),)) for key, body in bodies.items()))
    hits = opened[0].search(MatchAll(), ANONYMOUS, start=0, num=10, sort=sort).hits
    assert {hit.key: hit.fingerprint for hit in hits} == {key: find_fingerprint(body) for key, body in bodies.items()}


def test_ranking_function_words_count_for_little(tmp_path: Path) -> None:
    documents = in_language("en", "which tower of them", "the tower bell", *["other bell things"] * 8)
    assert first(order(tmp_path, *documents, query=("which", "tower", "bell", "rope"))) == 2


def test_ranking_depth_pages_are_whole_and_scores_fall(tmp_path: Path) -> None:
    writer = TantivyWriter(tmp_path, heap_bytes=15_000_000)
    writer.put_many(with_body(*["needle " * (number % 7 + 1) + "x " * number for number in range(60)]))
    writer.commit()
    writer.close()
    index = TantivyIndex(tmp_path, Ranking(depth=20))
    pages = [index.search(Word("needle"), ANONYMOUS, start=start, num=7) for start in range(0, 70, 7)]
    hits = [hit for page in pages for hit in page.hits]
    assert sorted(hit.key for hit in hits) == list(range(1, 61))
    assert {page.total for page in pages} == {60}
    whole = index.search(Word("needle"), ANONYMOUS, start=0, num=100).hits
    assert [hit.key for hit in whole] == [hit.key for hit in hits]
    assert [hit.score for hit in whole] == sorted((hit.score for hit in whole), reverse=True)


def test_ranking_explained_parts_add_up_to_the_score(tmp_path: Path) -> None:
    hits = order(tmp_path, *in_language("en", "annual reports", "report of the year, annual"), query=("annual", "report"))
    for hit in hits:
        parts = dict(hit.parts)
        factors = parts.pop("static_rank") * parts.pop("links") * parts.pop("freshness") * parts.pop("bias")
        bonus = 8_192.0 * parts.pop("holds_all")
        assert hit.score == pytest.approx(sum(parts.values()) * factors + bonus, abs=0.01)
    assert {"words", "title", "exact", "proximity", "url", "metadata"} <= set(dict(hits[0].parts))


def test_ranking_explains_nothing_of_what_may_not_be_seen(tmp_path: Path) -> None:
    writer = TantivyWriter(tmp_path, heap_bytes=15_000_000)
    writer.put_many([make_index_document(body="a"), make_index_document(key=2, body="a a", access_class=5)])
    writer.commit()
    writer.close()
    found = TantivyIndex(tmp_path).search(Word("a"), ANONYMOUS, start=0, num=10, explains=True)
    assert [hit.key for hit in found.hits] == [1]
