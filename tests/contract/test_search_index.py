"""What every search index promises, run on each of them."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import tantivy

from feedmill.adapters.index.analysis import fold_words, highlight_terms
from feedmill.adapters.index.tantivy.reader import TantivyIndex, TantivyWriter, can_serve
from feedmill.adapters.index.tantivy.schema import SCHEMA_VERSION, SERVED_VERSIONS
from feedmill.core.ranking.scoring import HOLDS_TELLING_BONUS
from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.errors import Conflict, FeedmillError
from feedmill.model.query import (
    And,
    AnyOf,
    Info,
    InText,
    InTitle,
    InUrl,
    MatchAll,
    MetaContains,
    MetaEquals,
    MetaExists,
    Node,
    Not,
    Or,
    Phrase,
    Site,
    Wildcard,
    Word,
)
from feedmill.model.search import IndexDocument
from tests.builders.indexdocuments import make_index_document, with_body, with_url
from tests.contract.indexharness import BOTH, Opened, keys, put

# --- writing --------------------------------------------------------------------------------------------------------------------


def test_index_nothing_written_is_empty(opened: Opened) -> None:
    hits = opened[0].search(MatchAll(), ANONYMOUS, start=0, num=10)
    assert (hits.hits, hits.total, hits.is_exact, opened[0].count()) == ((), 0, True, 0)


def test_put_same_key_replaces(opened: Opened) -> None:
    put(opened, make_index_document(body="old"))
    put(opened, make_index_document(body="older"), make_index_document(body="new"))
    assert keys(opened, Word("new")) == [1]
    assert keys(opened, Word("old")) == keys(opened, Word("older")) == []
    assert opened[0].count() == 1


def test_remove_key_is_gone_and_unknown_key_is_no_error(opened: Opened) -> None:
    put(opened, *with_body("a", "b"))
    opened[1].remove_many([1, 77])
    assert opened[0].reload_to(opened[1].commit())
    assert keys(opened, MatchAll()) == [2]


def test_remove_then_put_in_one_batch_keeps_the_document(opened: Opened) -> None:
    opened[1].remove_many([1])
    put(opened, *with_body("a"))
    assert keys(opened, Word("a")) == [1]


def test_commit_not_yet_given_is_not_visible(opened: Opened) -> None:
    index, writer = opened
    writer.put_many(with_body("a"))
    assert keys(opened, MatchAll()) == []
    token = writer.commit()
    assert not index.reload_to(str(int(token) + 1_000))
    assert index.reload_to("")
    assert keys(opened, MatchAll()) == [1]


def test_commit_twice_without_changes_stays_visible(opened: Opened) -> None:
    put(opened, *with_body("a"))
    assert opened[0].reload_to(opened[1].commit())
    assert opened[0].reload_to(opened[1].commit())


def test_writer_closed_refuses_and_forgets(opened: Opened) -> None:
    opened[1].put_many(with_body("a"))
    opened[1].close()
    with pytest.raises(Conflict):
        opened[1].commit()
    assert keys(opened, MatchAll()) == []


def test_put_odd_values_are_taken(opened: Opened) -> None:
    odd = make_index_document(
        url="x" * 70_000,
        title="\ud800 lone",
        body="\x00 zero",
        metadata=(("", ""), ("n" * 70_000, "v" * 70_000), ("\udc00", "\ud800")),
        links=("\ud800", "x" * 70_000),
        mimetype="",
        language=None,
        last_modified=datetime(1, 1, 1, tzinfo=UTC),
    )
    put(opened, odd)
    assert keys(opened, Word("zero")) == [1]
    assert keys(opened, Word("lone")) == [1]
    assert keys(opened, Info("x" * 70_000)) == [1]
    assert keys(opened, MetaEquals("N" * 70_000, "v" * 70_000)) == [1]


# --- access ---------------------------------------------------------------------------------------------------------------------


def test_search_class_not_permitted_is_not_found_nor_counted(opened: Opened) -> None:
    put(
        opened,
        make_index_document(body="a"),
        make_index_document(key=2, body="a", access_class=1),
        make_index_document(key=3, body="a", access_class=7),
    )
    assert opened[0].search(Word("a"), ANONYMOUS, start=0, num=0).total == 1
    assert sorted(keys(opened, MatchAll(), BOTH)) == [1, 2]
    assert keys(opened, MatchAll(), AccessFilter(permitted=frozenset())) == []
    assert keys(opened, Not(Word("b")), ANONYMOUS) == [1]
    assert keys(opened, Info(make_index_document().url), AccessFilter(permitted=frozenset({7}))) == [3]


def test_search_many_permitted_classes_finds_those_alone(opened: Opened) -> None:
    put(opened, *[make_index_document(key=number, body="a", access_class=number) for number in range(40)])
    permitted = frozenset(range(0, 3_000, 2))
    assert sorted(keys(opened, Word("a"), AccessFilter(permitted=permitted))) == list(range(0, 40, 2))


def test_search_changed_class_hides_at_the_next_commit(opened: Opened) -> None:
    put(opened, make_index_document(body="a"))
    put(opened, make_index_document(body="a", access_class=1))
    assert keys(opened, Word("a")) == []


# --- words ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Die Straße", "STRASSE"),
        ("Un café noir", "cafe"),
        ("Un cafe noir", "CAFÉ"),
        ("re\u0301sume\u0301 sent", "résumé"),
        ("it's o'clock", "o'clock"),
        ("version 3.11.7 is out", "3.11"),
        ("ПРИВЕТ мир", "привет"),
        ("東京都に住む", "東京"),
        ("カタカナの説明", "タカ"),
        ("ภาษาไทยสวย", "ไทย"),
        ("हिन्दी भाषा", "हिन्दी"),
        ("ｆｕｌｌ width", "full"),
        ("see www.example.org/page now", "example.org"),
    ],
)
def test_word_other_writing_is_found(opened: Opened, text: str, query: str) -> None:
    put(opened, *with_body(text, "nothing of it"))
    assert keys(opened, Word(query)) == [1]


def test_word_spaceless_run_matches_in_order_only(opened: Opened) -> None:
    put(opened, *with_body("東京", "京東", "東の京"))
    assert keys(opened, Word("東京")) == [1]


@pytest.mark.parametrize(
    "document",
    [
        make_index_document(body="the needle here"),
        make_index_document(title="Needle"),
        make_index_document(url="http://a.com/x/needle_1.html"),
        make_index_document(url="http://a.com/%6Eeedle%20x"),
        make_index_document(metadata=(("k", "v"), ("kind", "some needle"))),
    ],
)
def test_word_any_field_is_found(opened: Opened, document: IndexDocument) -> None:
    put(opened, document, make_index_document(key=2))
    assert keys(opened, Word("needle")) == [1]


def test_word_in_title_ranks_before_body(opened: Opened) -> None:
    put(opened, make_index_document(body="needle and more"), make_index_document(key=2, title="needle", body="other and more"))
    assert keys(opened, Word("needle")) == [2, 1]


def test_phrase_order_and_neighbourhood_count(opened: Opened) -> None:
    put(opened, *with_body("annual report", "report annual", "annual big report", "Annual-Report!"))
    assert sorted(keys(opened, Phrase("annual report"))) == [1, 4]
    assert sorted(keys(opened, Phrase("annual-report"))) == [1, 4]


@pytest.mark.parametrize("query", ["x" * 500, "nowhere"])
def test_word_that_cannot_be_there_finds_nothing(opened: Opened, query: str) -> None:
    put(opened, *with_body("a " + "x" * 500))
    assert keys(opened, Word(query)) == []
    assert keys(opened, And((Word("a"), Word(query)))) == []


def test_word_without_letters_asks_for_nothing(opened: Opened) -> None:
    put(opened, *with_body("a"))
    assert keys(opened, And((Word("a"), Word("&"), Not(Word("!"))))) == [1]
    assert keys(opened, Or((Word("?"), Word("a")))) == [1]
    assert keys(opened, Word("???")) == keys(opened, Not(Word("?"))) == keys(opened, AnyOf((Word("?"), Word("!")))) == []


# --- logic ----------------------------------------------------------------------------------------------------------------------


def test_logic_and_or_not_combine(opened: Opened) -> None:
    put(opened, *with_body("a b", "a c", "b c", "d"))
    assert sorted(keys(opened, And((Word("a"), Word("b"))))) == [1]
    assert sorted(keys(opened, Or((Word("a"), Word("d"))))) == [1, 2, 4]
    assert sorted(keys(opened, And((Word("a"), Not(Word("b")))))) == [2]
    assert sorted(keys(opened, Not(Word("c")))) == [1, 4]
    assert sorted(keys(opened, Or((Word("d"), Not(Word("a")))))) == [3, 4]
    assert sorted(keys(opened, And((Not(Word("a")), Not(Word("d")))))) == [3]
    assert sorted(keys(opened, Not(Not(Word("a"))))) == [1, 2]


def test_some_all_holders_come_first_over_all_pages(opened: Opened) -> None:
    put(opened, *with_body("a " * 50, "b a and many more words so that it is long", "b " * 50, "c"))
    query = AnyOf((Word("a"), Word("b")))
    pages = [opened[0].search(query, ANONYMOUS, start=start, num=1) for start in range(4)]
    found = [hit.key for page in pages for hit in page.hits]
    assert found[0] == 2
    assert sorted(found) == [1, 2, 3]
    assert {page.total for page in pages} == {3}


def test_some_with_a_restriction_holds_the_restriction(opened: Opened) -> None:
    put(opened, *with_body("a b", "a", "b"), make_index_document(key=4, body="a b", url="http://other.org/"))
    assert keys(opened, And((Site("example.com"), AnyOf((Word("a"), Word("b"))))))[0] == 1
    assert sorted(keys(opened, And((Site("example.com"), AnyOf((Word("a"), Word("b"))))))) == [1, 2, 3]


# --- URLs -----------------------------------------------------------------------------------------------------------------------

URLS = (
    "http://www.example.com/",
    "https://example.com:8443/docs/Guide/a.html?q=1",
    "http://notexample.com/docs/",
    "http://sub.www.example.com/docs-old/x",
    "googleconnector://conn.localhost/doc?docid=1",
    "http://10.0.0.1/docs/y",
)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("example.com", [1, 2, 4]),
        ("EXAMPLE.com.", [1, 2, 4]),
        (".example.com", [1, 2, 4]),
        ("www.example.com", [1, 4]),
        ("http://www.example.com/", [1, 4]),
        ("com", [1, 2, 3, 4]),
        ("ample.com", []),
        ("example.com/docs", [2, 4]),
        ("example.com/docs/", [2]),
        ("example.com/docs/guide", [2]),
        ("example.com/docs/guide/a.html", [2]),
        ("example.com/docs/guide/b", []),
        ("example.com:8443", [2]),
        ("/docs/", [2, 3, 6]),
        ("localhost", [5]),
        ("10.0.0.1", [6]),
        ("0.0.1", []),
        ("example.com/do.s", []),
        ("/[(*+?.\\{|^$&~#-", []),
    ],
)
def test_site_host_and_path_restrict(opened: Opened, value: str, found: list[int]) -> None:
    put(opened, *with_url(*URLS))
    assert sorted(keys(opened, Site(value))) == found


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (URLS[0], [1]),
        ("www.example.com", [1]),
        ("example.com:8443/docs/Guide/a.html?q=1", [2]),
        ("example.com:8443/docs/guide/a.html?q=1", []),
        (URLS[4], [5]),
        ("http://www.example.com/docs", []),
    ],
)
def test_info_exact_url_is_found(opened: Opened, url: str, found: list[int]) -> None:
    put(opened, *with_url(*URLS))
    assert keys(opened, Info(url)) == found


def test_inurl_words_in_order(opened: Opened) -> None:
    put(opened, *with_url(*URLS))
    assert keys(opened, InUrl("guide")) == keys(opened, InUrl("docs/guide")) == [2]
    assert keys(opened, InUrl("guide/docs")) == []


def test_inurl_percent_encoded_as_the_url_itself(opened: Opened) -> None:
    put(opened, *with_url("http://a.com/p%20q/%E6%9D%B1%E4%BA%AC?x=1%262", "http://a.com/q"))
    for text in ("p%20q", "p q", "%E6%9D%B1%E4%BA%AC", "東京", "a.com/p%20q/%E6%9D%B1%E4%BA%AC?x=1%262", "x=1%262"):
        assert keys(opened, InUrl(text)) == [1], text


# --- metadata -------------------------------------------------------------------------------------------------------------------


def test_inmeta_whole_values_in_any_case(opened: Opened) -> None:
    put(
        opened,
        make_index_document(metadata=(("Department", "Legal Affairs"), ("Department", "R&D = x"))),
        make_index_document(key=2, metadata=(("department", "legal"),)),
        make_index_document(key=3),
    )
    assert keys(opened, MetaEquals("DEPARTMENT", "legal  affairs")) == [1]
    assert keys(opened, MetaEquals("department", "r&d = X")) == [1]
    assert keys(opened, MetaEquals("department", "LEGAL")) == [2]
    assert keys(opened, MetaEquals("legal", "department")) == []
    assert sorted(keys(opened, MetaExists("departMent"))) == [1, 2]
    assert keys(opened, Not(MetaExists("department"))) == [3]


# --- pages ----------------------------------------------------------------------------------------------------------------------


def test_search_pages_cover_all_hits_once(opened: Opened) -> None:
    put(opened, *with_body(*["a"] * 25))
    pages = [opened[0].search(Word("a"), ANONYMOUS, start=start, num=10) for start in (0, 10, 20, 30)]
    assert [len(page.hits) for page in pages] == [10, 10, 5, 0]
    assert {page.total for page in pages} == {25}
    assert len({hit.key for page in pages for hit in page.hits}) == 25


@pytest.mark.parametrize(("start", "num"), [(0, 0), (0, -1), (-5, 0), (10**12, 10), (99_999, 1_000)])
def test_search_out_of_bounds_still_counts(opened: Opened, start: int, num: int) -> None:
    put(opened, *with_body("a", "a"))
    hits = opened[0].search(Word("a"), ANONYMOUS, start=start, num=num)
    assert (hits.hits, hits.total) == ((), 2)


# --- words of queries and texts -------------------------------------------------------------------------------------------------


def test_terms_positive_words_folded_once() -> None:
    query = And((Word("Café"), Or((Phrase("Annual Report"), Word("CAFE"))), Not(Word("hidden")), Site("x.com"), Word("東京")))
    assert highlight_terms(query) == ("cafe", "annual report", "東 京")


@pytest.mark.parametrize("text", ["Hello, Café!", "re\u0301sume\u0301 x", "a東京b", "\ud800 x", "", "ภาษา ไทย"])
def test_fold_places_point_into_the_text(text: str) -> None:
    tokens = fold_words(text)
    for token, start, end in tokens:
        assert highlight_terms(Word(text[start:end])) == (token,)
    assert [start for _, start, _ in tokens] == sorted(start for _, start, _ in tokens)


# --- Tantivy alone --------------------------------------------------------------------------------------------------------------


def test_tantivy_bad_document_costs_its_batch_and_not_the_writer(tmp_path: Path) -> None:
    index, writer = TantivyIndex(tmp_path), TantivyWriter(tmp_path, heap_bytes=15_000_000)
    with pytest.raises(FeedmillError):
        writer.put_many([*with_body("a"), make_index_document(key=2**63)])
    writer.put_many(with_body("b"))
    assert index.reload_to(writer.commit())
    assert keys((index, writer), MatchAll()) == [1]
    assert keys((index, writer), Word("a")) == []
    writer.close()


def test_tantivy_second_writer_is_a_conflict_and_lock_goes_with_close(tmp_path: Path) -> None:
    first = TantivyWriter(tmp_path, heap_bytes=15_000_000)
    with pytest.raises(Conflict):
        TantivyWriter(tmp_path, heap_bytes=15_000_000)
    with pytest.raises(FeedmillError):
        first.put_many([make_index_document(access_class=-1)])
    first.close()
    TantivyWriter(tmp_path, heap_bytes=15_000_000).close()


def test_tantivy_reopened_keeps_tokens_growing(tmp_path: Path) -> None:
    tokens = []
    for number in range(3):
        writer = TantivyWriter(tmp_path, heap_bytes=15_000_000)
        writer.put_many([make_index_document(key=number)])
        tokens.append(int(writer.commit()))
        writer.close()
    assert tokens == sorted(set(tokens))
    assert TantivyIndex(tmp_path).count() == 3


def test_tantivy_foreign_folder_is_refused(tmp_path: Path) -> None:
    other = tantivy.SchemaBuilder().add_text_field("other").build()
    tantivy.Index(other, path=str(tmp_path))
    with pytest.raises(Conflict):
        TantivyIndex(tmp_path)
    with pytest.raises(Conflict):
        TantivyWriter(tmp_path)


def test_tantivy_folder_of_an_older_schema_is_served_where_its_fields_are_the_same(tmp_path: Path) -> None:
    known, other = min(SERVED_VERSIONS), SCHEMA_VERSION + 1
    assert SCHEMA_VERSION not in SERVED_VERSIONS
    for name in (f"{known}-3", f"{other}-1", "old-1"):
        TantivyWriter(tmp_path / name, heap_bytes=15_000_000).close()
    tantivy.Index(tantivy.SchemaBuilder().build(), path=str(_made(tmp_path / f"{known}-4")))
    (_made(tmp_path / f"{known}-5") / "meta.json").write_text("{")
    served = {f"{known}-3": True, f"{known}-4": False, f"{known}-5": False, f"{known}-6": False, f"{other}-1": False, "old-1": False}
    assert {name: can_serve(tmp_path / name) for name in served} == served


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_tantivy_broken_folder_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(FeedmillError):
        TantivyIndex(tmp_path)
    with pytest.raises(FeedmillError):
        TantivyWriter(tmp_path)


def test_tantivy_index_opened_before_its_writer_sees_the_first_commit(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path / "later")
    writer = TantivyWriter(tmp_path / "later", heap_bytes=15_000_000)
    writer.put_many(with_body("a"))
    token = writer.commit()
    assert index.reload_to(token)
    assert index.count() == 1
    writer.close()


_KILLED_WRITER = """
import sys
from pathlib import Path
from feedmill.adapters.index.tantivy.reader import TantivyWriter
from tests.builders.indexdocuments import with_body
from dataclasses import replace
writer = TantivyWriter(Path(sys.argv[1]), heap_bytes=15_000_000)
first = int(sys.argv[2])
for number in range(first, first + 10_000):
    writer.put_many([replace(with_body("a")[0], key=number)])
    print(number, writer.commit(), flush=True)
"""


def test_tantivy_killed_while_writing_keeps_what_was_committed(tmp_path: Path) -> None:
    committed = 0
    for lines in (3, 11, 17):
        command = [sys.executable, "-c", _KILLED_WRITER, str(tmp_path), str(committed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
            assert process.stdout is not None
            token = ""
            for _ in range(lines):
                number, token = process.stdout.readline().split()
                committed = int(number) + 1
            process.kill()
        index = TantivyIndex(tmp_path)
        assert index.reload_to(token)
        assert index.count() >= committed
    writer = TantivyWriter(tmp_path, heap_bytes=15_000_000)
    put((index, writer), make_index_document(key=10**6, body="after"))
    assert keys((index, writer), Word("after")) == [10**6]
    writer.close()


# --- navigation -----------------------------------------------------------------------------------------------------------------


def with_navigation(*texts: tuple[str, str]) -> list[IndexDocument]:
    return [make_index_document(key=key, body=body, navigation=navigation) for key, (body, navigation) in enumerate(texts, 1)]


@pytest.mark.parametrize(
    "query",
    [
        Word("packages"),
        Word("package"),
        Phrase("offline packages"),
        Wildcard("packag*"),
        InText("offline packages"),
        InText("offl*"),
        And((Word("heron"), Word("offline"))),
        Or((Word("zebra"), Word("offline"))),
    ],
)
def test_word_of_navigation_is_found(opened: Opened, query: Node) -> None:
    put(opened, *with_navigation(("a heron wades", "Offline packages"), ("a heron wades", "")))
    assert keys(opened, query) == [1]


def test_word_of_navigation_is_neither_title_nor_metadata(opened: Opened) -> None:
    put(opened, *with_navigation(("a heron wades", "offline packages")))
    assert keys(opened, InTitle("offline")) == keys(opened, MetaContains("n", "offline")) == []
    assert keys(opened, And((Word("heron"), Not(Word("offline"))))) == []


def test_word_of_the_main_text_counts_more_than_one_of_navigation(opened: Opened) -> None:
    put(opened, *with_navigation(("a heron wades", "offline offline"), ("a heron wades offline" + " in the water" * 20, "")))
    assert keys(opened, Word("offline")) == [2, 1]


def test_word_of_navigation_does_not_count_as_one_of_all_words(opened: Opened) -> None:
    put(opened, *with_navigation(("about install", "package offline"), ("install the package", ""), ("the package only", "offline")))
    assert keys(opened, AnyOf((Word("install"), Word("package"), Word("offline"))))[0] == 2


@pytest.mark.parametrize(("navigation", "query"), [("東京都庁の展望", "東京都庁"), ("서울에서", "서울")])
def test_run_in_navigation_is_found(opened: Opened, navigation: str, query: str) -> None:
    put(opened, *with_navigation(("x", navigation), ("y", "東都")))
    assert keys(opened, Word(query)) == [1]


def test_word_of_navigation_is_known(opened: Opened) -> None:
    put(opened, *with_navigation(("a heron wades", "offline")))
    assert opened[0].vocabulary.count("offline", ANONYMOUS) == 1


def test_some_by_function_words_alone_finds_nothing(opened: Opened) -> None:
    bodies = ("of the castle", "a bridge", "one gate")
    put(opened, *[make_index_document(key=number, body=body, language="en") for number, body in enumerate(bodies, 1)])

    def find(*words: str) -> list[int]:
        hits = opened[0].search(AnyOf(tuple(map(Word, words))), ANONYMOUS, start=0, num=10)
        assert hits.total == len(hits.hits)
        return sorted(hit.key for hit in hits.hits)

    assert find("the", "of", "zebra") == []
    assert find("the", "bridge") == [2]
    # a number is no function word
    assert find("one", "bridge") == [2, 3]
    # as all of a query they are what is meant
    assert find("the", "of") == [1]


def test_some_by_a_filler_alone_is_found_but_for_a_question(opened: Opened) -> None:
    bodies = ("a find of coins", "the report", "much rain in may")
    put(opened, *[make_index_document(key=number, body=body, language="en") for number, body in enumerate(bodies, 1)])

    def find(*words: str) -> list[int]:
        return sorted(hit.key for hit in opened[0].search(AnyOf(tuple(map(Word, words))), ANONYMOUS, start=0, num=10).hits)

    assert find("find", "report") == [1, 2]
    assert find("much", "may") == [3]
    assert find("where", "do", "i", "find", "the", "report") == [2]
    assert find("how", "much", "may", "it", "report") == [2]


def test_some_without_a_function_word_comes_second(opened: Opened) -> None:
    bodies = ("the walls of a bridge", "bridge " * 20, "the castle " * 20)
    put(opened, *[make_index_document(key=number, body=body, language="en") for number, body in enumerate(bodies, 1)])
    hits = opened[0].search(AnyOf((Word("the"), Word("bridge"))), ANONYMOUS, start=0, num=10).hits
    assert [hit.key for hit in hits] == [1, 2]
    assert [int(hit.score // HOLDS_TELLING_BONUS) for hit in hits] == [2, 1]


def test_some_of_a_question_without_its_function_words_comes_second(opened: Opened) -> None:
    long = "how walls stand and what they do; a bridge, its history; " + "mortar and stones " * 60
    bodies = ("history of a bridge", long, "how do castles have a history", "bridge history " * 20)
    put(opened, *[make_index_document(key=number, body=body, language="en") for number, body in enumerate(bodies, 1)])
    hits = opened[0].search(AnyOf(tuple(map(Word, ("how", "do", "bridge", "history")))), ANONYMOUS, start=0, num=10).hits
    assert hits[0].key == 2
    assert {hit.key: int(hit.score // HOLDS_TELLING_BONUS) for hit in hits} == {1: 1, 2: 2, 3: 0, 4: 1}
    demanded = AnyOf((Word("how", is_fixed=True), Word("do"), Word("bridge"), Word("a"), Word("history")))
    found = opened[0].search(demanded, ANONYMOUS, start=0, num=10).hits
    assert {hit.key: int(hit.score // HOLDS_TELLING_BONUS) for hit in found} == {1: 0, 2: 2, 3: 0, 4: 0}
