"""Spelling suggestions, and documents that are like another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from lxml import etree

from feedmill.http.search.app import search_app
from feedmill.http.search.resultpage import MAX_BACK_LENGTH, write_anchor
from tests.contract.searchharness import SearchHarness, ask, open_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    made.add([made.make(f"http://a.com/{number}", f"travel expenses of room {number}", title=f"T{number}") for number in range(12)])
    made.add([made.make("http://a.com/g", "Die Größe der Küche", title="Haus")])
    made.add([made.make(f"http://s.com/{number}", "merger of giants", secure=True) for number in range(3)])
    yield made
    made.store.close()


def search(harness: SearchHarness, query: str, **parameters: str) -> Any:
    return ask(search_app(harness.services()), "/api/v1/search", [("q", query), *parameters.items()]).json


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("travle", "travel"),
        ("Travle expences", "travel expenses"),
        ("travle -room inmeta:travle", None),
        ("travle site:a.com", "travel site:a.com"),
        ('"travle" expences', None),
        ("kuche grösze", "kuche größe"),
        ("Kücje", "küche"),
        ("travel", None),
        ("qqqqqq", None),
        ("mergre", None),
        ("giatns", None),
        ("trvl", None),
        ("12345", None),
    ],
)
def test_spelling_is_what_finds_more_of_what_may_be_seen(harness: SearchHarness, typed: str, meant: str | None) -> None:
    assert search(harness, typed)["spelling"] == meant


def test_spelling_is_looked_for_where_a_loosened_query_found_enough(harness: SearchHarness) -> None:
    body = search(harness, "travel expences")
    assert (body["total"], body["spelling"]) == (12, "travel expenses")
    assert search(harness, "travel expences", start="1")["spelling"] is None


def test_spelling_doubts_rare_words_wherever_they_stand(harness: SearchHarness) -> None:
    assert search(harness, "travel room expenses travle exepnses")["spelling"] == "travel room expenses travel expenses"


def test_spelling_never_doubts_function_words(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/de{number}", "sich melden wie gestern", title="Haus", language="de") for number in range(12)])
    assert search(harness, "wie melden ich gestern")["spelling"] is None
    # without other words it may be a misspelt one
    assert search(harness, "dich")["spelling"] == "sich"


@pytest.mark.parametrize("typed", ["my dog", "dog", "My dog", "roo", "aroom", "wnat"])
def test_spelling_makes_no_function_words_and_hardly_corrects_three_letters(harness: SearchHarness, typed: str) -> None:
    harness.add(
        [harness.make(f"http://a.com/do{number}", f"what we do with my {number} map", title="Do", language="en") for number in range(12)]
    )
    assert search(harness, typed)["spelling"] == {"aroom": "room"}.get(typed)
    assert search(harness, "mpa")["spelling"] == "map"


def test_spelling_trusts_a_word_of_a_title_or_one_that_a_text_has_twice(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/r{number}", "the rank of a page", title="R", language="en") for number in range(40)])
    harness.add([harness.make("http://a.com/k", "Krank im Urlaub: wer krank ist, sagt es.", title="Urlaub", language="de")])
    assert search(harness, "krank")["spelling"] is None
    harness.add([harness.make("http://a.com/b", "other words", title="Ranc")])
    assert search(harness, "ranc")["spelling"] is None
    harness.add([harness.make("http://a.com/t", "the rannk of a page", title="Typo", language="en")])
    assert search(harness, "rannk")["spelling"] == "rank"


def test_spelling_trusts_the_beginning_of_other_words_unless_letters_are_missing(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/u{number}", "urllib of oranges", title="U", language="en") for number in range(3)])
    assert search(harness, "Urlaub")["spelling"] == "urllib"
    harness.add([harness.make("http://s.com/h", "der Urlaubsantrag", title="H", language="de", secure=True)])
    assert search(harness, "Urlaub")["spelling"] == "urllib"
    harness.add([harness.make("http://a.com/v", "der Urlaubsantrag", title="V", language="de")])
    assert search(harness, "Urlaub")["spelling"] is None
    assert search(harness, "orange juice")["spelling"] is None
    assert search(harness, "urlli")["spelling"] == "urllib"


def test_spelling_trusts_a_part_of_compounds(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/w{number}", "cold water of a well", title="W", language="en") for number in range(30)])
    assert search(harness, "Wasser")["spelling"] == "water"
    harness.add([harness.make("http://s.com/t", "Das Trinkwasser ist kalt", title="Hahn", language="de", secure=True)])
    assert search(harness, "Wasser")["spelling"] == "water"
    harness.add([harness.make("http://a.com/t", "Das Trinkwasser ist kalt", title="Hahn", language="de")])
    found = search(harness, "Wasser")
    assert (found["spelling"], [result["url"] for result in found["results"]]) == (None, ["http://a.com/t"])
    # one word that is two, beside another
    assert search(harness, "Trink Wasser")["spelling"] is None


def test_spelling_corrects_a_word_that_stands_beside_another_though_none_holds_all(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/p", "If paper jams in the printer, open the door", title="Office", language="en")])
    assert search(harness, "printr paper stuck")["spelling"] == "printer paper stuck"
    assert search(harness, "how do I get my travle room money")["spelling"] == "how do I get my travel room money"
    # no document holds a printer and the other word, or it holds a function word only
    for unknown in ("printr zebra", "printr the", "travle site:b.com money", "kücje zebra"):
        assert search(harness, unknown)["spelling"] in (None, "printer the")
    text = show(harness, ("q", "printr paper stuck"))
    assert 'Did you mean <a href="/?q=printer+paper+stuck" dir="auto">printer paper stuck</a>?' in text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("pay slip", "payslip"),
        ("my pay slip", "my payslip"),
        ("e1042", "e-1042"),
        ("scanner E1042", "scanner E-1042"),
        ("pay slips site:a.com", "payslips site:a.com"),
        ("Pay Slip", "Payslip"),
        ("PAY SLIP", "PAYSLIP"),
        ("pay scanner", None),
        ('"pay slip"', None),
    ],
)
def test_spelling_joins_and_divides_words_where_all_of_the_query_is_held_then(
    harness: SearchHarness, typed: str, meant: str | None
) -> None:
    harness.add([harness.make("http://a.com/p", "Payslips and my scanner show E-1042", title="P", language="en")])
    assert search(harness, typed)["spelling"] == meant


def test_spelling_stands_in_the_xml(harness: SearchHarness) -> None:
    found = etree.fromstring(ask(search_app(harness.services()), "/search", "q=travle").body)
    suggestion = found.find("Spelling/Suggestion")
    assert suggestion is not None
    assert (suggestion.get("q"), suggestion.text) == ("travel", "<b><i>travel</i></b>")
    assert etree.fromstring(ask(search_app(harness.services()), "/search", "q=travel").body).find("Spelling") is None


def show(harness: SearchHarness, *parameters: tuple[str, str]) -> str:
    return ask(search_app(harness.services()), "/", parameters).text


def test_page_shows_the_results_of_the_better_spelling(harness: SearchHarness) -> None:
    text = show(harness, ("q", "travle"), ("num", "5"))
    instead = '<a href="/?q=travle&amp;num=5&amp;correct=0" rel="nofollow" dir="auto">travle</a>'
    assert f'Showing results for <b dir="auto">travel</b>. Search instead for {instead}.' in text
    assert "Did you mean" not in text
    assert 'value="travel"' in text
    assert '<a class="step" rel="next" href="/?q=travel&amp;num=5&amp;start=5">' in text


def test_page_and_json_say_which_words_a_result_lacks(harness: SearchHarness) -> None:
    text = show(harness, ("q", "travel <b>zebra"))
    assert 'Without: <s dir="auto">&lt;b&gt;zebra</s></bdi></p>' in text
    assert search(harness, "travel zebra")["results"][0]["missing"] == ["zebra"]
    assert "missing" not in search(harness, "travel")["results"][0]
    assert "Without:" not in show(harness, ("q", "travel"))
    assert 'Ohne: <s dir="auto">zebra</s>' in show(harness, ("q", "travel zebra"), ("lang", "de"))


def test_page_searches_what_was_typed_on_demand(harness: SearchHarness) -> None:
    text = show(harness, ("q", "travle"), ("correct", "0"))
    assert "Nothing was found for <q" in text
    assert '<a href="/?q=travel" dir="auto">travel</a>' in text
    assert 'name="correct"' not in text


def test_page_links_within_the_list_keep_what_was_demanded(harness: SearchHarness) -> None:
    text = show(harness, ("q", "travel"), ("correct", "0"))
    assert 'href="/?q=travel&amp;correct=0&amp;start=10"' in text
    assert 'href="/?q=travel&amp;sort=date%3AD%3AR%3Ad1&amp;correct=0"' in text


def test_page_never_corrects_a_word_that_a_full_match_holds(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/typo", "travle expenses", title="Typo")])
    text = show(harness, ("q", "travle expenses"))
    assert "Showing results for" not in text
    assert '<a href="http://a.com/typo" rel="noopener">Typo</a>' in text
    narrowed = show(harness, ("q", "travle"), ("select", "@filetype:pdf"))
    assert "Showing results for" not in narrowed


def test_page_corrects_a_query_of_which_documents_hold_parts_alone(harness: SearchHarness) -> None:
    text = show(harness, ("q", "travel expences"))
    assert 'Showing results for <b dir="auto">travel expenses</b>' in text
    assert "12 results" in text
    assert "parts of" not in text
    literal = show(harness, ("q", "travel expences"), ("correct", "0"))
    assert "Nothing matches the whole query" in literal
    assert '<a href="/?q=travel+expenses" dir="auto">travel expenses</a>' in literal
    assert "Showing results for" not in show(harness, ("q", "travel expences"), ("match", "any"))


def test_page_never_corrects_what_is_held_but_for_function_words(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/typo", "travle diary", title="Typo", language="en")])
    text = show(harness, ("q", "the travle of"))
    assert "Showing results for" not in text
    # only what follows, documents with an "of", matches parts
    held, _, _ = text.partition("What follows matches parts of the query.")
    assert held.count("<article") == 1
    assert '<a href="http://a.com/typo" rel="noopener">Typo</a>' in held


def test_page_corrects_what_nothing_holds_whatever_is_selected(harness: SearchHarness) -> None:
    harness.add([harness.make("http://b.com/", "travel and expenses", title="B")])
    text = show(harness, ("q", "travle expenses"), ("select", "@site:b.com"))
    assert 'Showing results for <b dir="auto">travel expenses</b>' in text
    assert ">1 result <" in text
    assert '<a href="/?q=travle+expenses&amp;select=%40site%3Ab.com&amp;correct=0" rel="nofollow" dir="auto">travle expenses</a>' in text
    # where the filter leaves nothing of the other spelling either, it is what to change
    nothing = show(harness, ("q", "travle expenses"), ("select", "@site:c.com"))
    assert "Search without Site: <b><bdi>c.com</bdi></b>" in nothing


def test_page_corrects_nothing_for_hidden_documents(harness: SearchHarness) -> None:
    assert "Nothing was found for <q" in show(harness, ("q", "mergre"))
    harness.add([harness.make("http://s.com/typo", "travle", secure=True)])
    assert 'Showing results for <b dir="auto">travel</b>' in show(harness, ("q", "travle"))


def test_page_offers_to_remove_a_filter_that_leaves_nothing(harness: SearchHarness) -> None:
    text = show(harness, ("q", "travel"), ("select", "@filetype:pdf"), ("select", "team:<b>"))
    assert '<li><a href="/?q=travel&amp;select=team%3A%3Cb%3E" rel="nofollow">Search without File type: <b>PDF</b></a></li>' in text
    assert "<b><bdi>&lt;b&gt;</bdi></b></a></li>" in text
    assert "Search without" not in show(harness, ("q", "nowhere"))


# --- what is like a document ----------------------------------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    cats = "whiskers purring feline kitten"
    made.add([made.make(f"http://cats.com/{number}", f"{cats} number{number}", title=f"Cats {number}") for number in range(3)])
    made.add([made.make(f"http://other.com/{number}", f"engine gearbox piston{number}", title=f"Cars {number}") for number in range(20)])
    made.add([made.make("http://hidden.com/", cats, title="Hidden cats", secure=True)])
    yield made
    made.store.close()


def test_related_finds_what_is_alike_and_not_the_document_itself(library: SearchHarness) -> None:
    for url in ("http://cats.com/1", "cats.com/1"):
        body = search(library, f"related:{url}")
        assert sorted(result["url"] for result in body["results"]) == ["http://cats.com/0", "http://cats.com/2"]
        assert (body["total"], body["warnings"]) == (2, [])
    assert search(library, "related:http://cats.com/1 number2")["results"][0]["url"] == "http://cats.com/2"


@pytest.mark.parametrize("url", ["http://hidden.com/", "http://nowhere.com/", "x"])
def test_related_to_what_is_hidden_or_not_there_is_nothing(library: SearchHarness, url: str) -> None:
    assert search(library, f"related:{url}")["total"] == 0
    assert search(library, f"-related:{url} gearbox")["total"] == 20


def test_related_hidden_documents_change_nothing(library: SearchHarness) -> None:
    """How much a word distinguishes a document depends only on documents that the user may see."""
    before = search(library, "related:http://other.com/1")
    library.add([library.make(f"http://hidden.com/{number}", "nothing of it", secure=True) for number in range(200)])
    after = search(library, "related:http://other.com/1")
    assert (before["total"], after["total"]) == (0, 0)


def test_page_names_the_document_that_results_are_similar_to(library: SearchHarness) -> None:
    text = show(library, ("q", "related:http://other.com/1"))
    assert "Similar to <bdi>" not in text
    assert "<h1>Nothing is similar to <bdi>" in text
    assert "<code>" not in text
    text = show(library, ("q", "related:http://cats.com/1"))
    assert '<h1 class="likened">Similar to <bdi>Cats 1</bdi></h1>' in text
    assert 'value="" dir="auto"' in text, "nobody typed the query"
    assert "<title>Similar to Cats 1 – " in text
    assert "<mark>" not in text
    assert text.count("<h1") == 1
    hidden = show(library, ("q", "related:http://hidden.com/"))
    assert "Similar to" not in hidden
    assert "Hidden cats" not in hidden


def test_page_of_similar_documents_leads_back_to_the_list(library: SearchHarness) -> None:
    found = show(library, ("q", "whiskers"), ("select", "@site:cats.com"), ("lang", "de"))
    back = "back=q%3Dwhiskers%26select%3D%2540site%253Acats.com%26lang%3Dde"
    assert f'href="/?q=related%3Ahttp%3A%2F%2Fcats.com%2F1&amp;lang=de&amp;{back}"' in found
    similar = ("q", "related:http://cats.com/1")
    text = show(library, similar, ("back", "q=whiskers&select=@site:cats.com&lang=de"))
    assert (
        '<p class="back"><a href="/?q=whiskers&amp;select=%40site%3Acats.com&amp;lang=de#'
        f'{write_anchor("http://cats.com/1")}" rel="nofollow">Back to the results</a></p>' in text
    )
    nested = urlencode({"back": f"q=related%3Ahttp%3A%2F%2Fcats.com%2F1&{back}"})
    assert f"&amp;{nested}" in text, "what is similar to them leads here, and from here there"
    long = "q=whiskers&" + urlencode({"select": "@site:cats.com" + "x" * MAX_BACK_LENGTH})
    assert urlencode({"back": long}) in show(library, similar, ("back", long)), "a way back of many lists grows no longer"
    for nothing in ("", "lang=de", "//evil.example/", "https://evil.example/?x"):
        assert "Back to the results" not in show(library, similar, ("back", nothing)), nothing
    hostile = show(library, similar, ("back", 'q="><script>//evil.example'))
    assert f'<a href="/?q=%22%3E%3Cscript%3E%2F%2Fevil.example#{write_anchor("http://cats.com/1")}" rel="nofollow">' in hostile


def test_page_without_results_offers_the_query_without_each_restriction(library: SearchHarness) -> None:
    text = show(library, ("q", "whiskers filetype:pdf -dogs"), ("site", "default_collection"))
    assert 'href="/?q=whiskers+-dogs&amp;site=default_collection" rel="nofollow">Search without <b dir="auto">filetype:pdf</b></a>' in text
    assert (
        'href="/?q=whiskers+filetype%3Apdf&amp;site=default_collection" rel="nofollow">Search without <b dir="auto">-dogs</b></a>' in text
    )
    assert "Use fewer words" not in text
    assert "inmeta:" not in text
    assert "Search without" not in show(library, ("q", "filetype:pdf")), "nothing would be left to search for"


def test_page_shows_at_most_twenty_similar_documents(library: SearchHarness) -> None:
    library.add([library.make(f"http://more.com/{number}", "whiskers purring feline kitten", title=f"M{number}") for number in range(30)])
    library.add([library.make(f"http://far.com/{number}", "stone and sand", title=f"F{number}") for number in range(200)])
    similar = ("q", "related:http://cats.com/1")
    assert search(library, similar[1])["total"] == 32
    first, last, beyond = (show(library, similar, ("num", "15"), ("start", start)) for start in ("0", "15", "30"))
    assert "1–15 of 20 results" in first
    assert "16–20 of 20 results" in last
    assert last.count("<article") == 5
    assert 'rel="next"' not in last
    assert "The list ends before here" in beyond
    assert 'id="filters"' not in first


def test_spelling_hidden_documents_change_nothing(harness: SearchHarness) -> None:
    near = ["travla", "travlb", "travlc", "travld", "travlf", "travlg", "travlh", "travli", "travlj"]
    harness.add([harness.make(f"http://hidden.com/{word}/{n}", word, secure=True) for word in near for n in range(20)])
    assert search(harness, "travle")["spelling"] == "travel"
