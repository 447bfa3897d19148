import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.builder import read_request
from feedmill.core.query.fields import MAX_TERMS, read_fields
from feedmill.http.search.parameters import read_refined, read_sort, write_refined
from feedmill.model.query import (
    And,
    FileType,
    InTitle,
    InUrl,
    LinksTo,
    MatchAll,
    MetaContains,
    MetaEquals,
    MetaExists,
    MetaStarts,
    Node,
    Not,
    Or,
    Phrase,
    Site,
    Word,
)
from feedmill.model.search import AdvancedSearch, Occurrence, SearchRequest, Sort

A, B, C = MetaExists("a"), MetaExists("b"), MetaExists("c")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("", None),
        (" . | () ", None),
        ("a", A),
        ("a:", A),
        ("a.b", And((A, B))),
        ("a|b", Or((A, B))),
        ("a|b.c", And((Or((A, B)), C))),
        ("a|(b.c)", Or((A, And((B, C))))),
        ("-a.-b:x", And((Not(A), Not(MetaEquals("b", "x"))))),
        ("-(a|b).c", And((Not(Or((A, B))), C))),
        ("((a", A),
        ("a)).b", And((A, B))),
        ("dept:legal%20affairs", MetaEquals("dept", "legal affairs")),
        ("v%2E1:a%2Eb%7Cc", MetaEquals("v.1", "a.b|c")),
        ("a:x:y", MetaEquals("a", "x:y")),
        ("a:leg*", MetaStarts("a", "leg")),
        ("a:*", A),
        ("a:5%2A", MetaEquals("a", "5*")),
        ("a?legal", MetaContains("a", "legal")),
        ("a?leg*", MetaContains("a", "leg", is_prefix=True)),
    ],
)
def test_read_fields_required_becomes_its_tree(text: str, node: Node | None) -> None:
    assert read_fields(text, is_partial=False) == (node, ())


def test_read_fields_partial_holds_words() -> None:
    assert read_fields("a:legal|b?c:x*", is_partial=True)[0] == Or((MetaContains("a", "legal"), MetaContains("b?c", "x", is_prefix=True)))


@pytest.mark.parametrize("text", ["(" * 500 + "a", "a." * (MAX_TERMS + 1), "a" * 20_000])
def test_read_fields_too_much_is_cut_with_a_warning(text: str) -> None:
    node, warnings = read_fields(text, is_partial=False)
    assert warnings == ("requiredfields= is too long and was cut",)
    assert node is None or isinstance(node, And | MetaExists)


@given(st.text(max_size=100) | st.text("ab:.|()-*?%2E ", max_size=100), st.booleans())
def test_read_fields_any_text_is_read(text: str, is_partial: bool) -> None:
    read_fields(text, is_partial=is_partial)


@pytest.mark.parametrize("piece", ["(", ")", "-", "a.", "(a|", "%", "-(", ":"])
def test_read_fields_repeated_pieces_take_no_time(piece: str) -> None:
    begun = time.thread_time()
    read_fields(piece * 10_000, is_partial=False)
    assert time.thread_time() - begun < 5.0


def test_read_request_form_adds_to_the_query() -> None:
    form = AdvancedSearch(
        all_words="b", phrase='c "d', any_words="e f", no_words="g h", site="s.com", filetype="pdf", excludes_filetype=True
    )
    built = read_request(SearchRequest(query="a", advanced=form, required_fields="k", partial_fields="n:w"))
    words = (Word("a"), Word("b"), Phrase("c  d"), Or((Word("e"), Word("f"))), Not(Word("g")), Not(Word("h")))
    assert built.root == And((*words, Site("s.com"), Not(FileType("pdf")), MetaExists("k"), MetaContains("n", "w")))


def test_read_request_form_takes_terms_one_by_one_phrases_whole() -> None:
    form = AdvancedSearch(any_words='"e f" OR g', no_words='"h i" -j e-mail “k l” filetype:pdf')
    none = (Not(Phrase("h i")), Not(Word("j")), Not(Phrase("e-mail")), Not(Phrase("k l")), Not(FileType("pdf")))
    assert read_request(SearchRequest(query="", advanced=form)).root == And((Or((Phrase("e f"), Word("g"))), *none))


MANY = " ".join(f"w{number}" for number in range(60))


@pytest.mark.parametrize("form", [AdvancedSearch(any_words=MANY), AdvancedSearch(no_words=MANY)], ids=["any", "none"])
def test_read_request_form_says_what_it_left_out(form: AdvancedSearch) -> None:
    built = read_request(SearchRequest(query="a", advanced=form))
    assert built.warnings == ("only the first 50 terms were searched",)


def test_read_request_occurrence_places_all_plain_words() -> None:
    form = AdvancedSearch(any_words="c d", no_words="e", occurrence=Occurrence.TITLE)
    built = read_request(SearchRequest(query='a "b b" site:s', advanced=form))
    titles = (InTitle("a"), InTitle("b b"), Site("s"), Or((InTitle("c"), InTitle("d"))), Not(InTitle("e")))
    assert built.root == And(titles)
    assert read_request(SearchRequest(query="a", advanced=AdvancedSearch(occurrence=Occurrence.URL))).root == InUrl("a")


def test_read_request_links_ask_for_nothing_else() -> None:
    built = read_request(SearchRequest(query="a", advanced=AdvancedSearch(all_words="b", links_to=" http://h/ "), required_fields="k"))
    assert built.root == And((LinksTo("http://h/"), MetaExists("k")))


def test_read_request_empty_query_is_everything() -> None:
    assert read_request(SearchRequest(query=" ")).root == MatchAll()
    assert read_request(SearchRequest(query="", required_fields="k")).root == MetaExists("k")


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("", None),
        ("relevance", None),
        ("date:D:L:d1", None),
        ("date", None),
        ("date:D:S:d1", Sort(is_whole=False)),
        ("date:a:r:d1", Sort(is_descending=False)),
        ("date:D", Sort()),
        ("meta:", None),
        ("meta:n", Sort(name="n", is_descending=False)),
        ("meta:n:D", Sort(name="n")),
        ("meta:a%3Ab:A:E:en:N:Y", Sort(name="a:b", is_descending=False)),
    ],
)
def test_read_sort_forms(text: str, sort: Sort | None) -> None:
    assert read_sort(text) == sort


def test_write_refined_is_read_again() -> None:
    form = AdvancedSearch(phrase="b", occurrence=Occurrence.URL, site="e", excludes_site=True)
    for sort in (None, Sort(), Sort(is_whole=False), Sort(name="x:y", is_descending=False)):
        request = SearchRequest(query="q", required_fields="k:v", partial_fields="l", sort=sort, advanced=form)
        assert read_refined(SearchRequest(query="q"), dict(write_refined(request))) == request
