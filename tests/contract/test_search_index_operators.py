"""What every search index promises of operators, metadata in all its forms and orders; run on each of them."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from feedmill.adapters.index.analysis import highlight_terms
from feedmill.model.access import ANONYMOUS
from feedmill.model.query import (
    And,
    DateRange,
    FileType,
    InText,
    InTitle,
    InUrl,
    LinksTo,
    MatchAll,
    MetaContains,
    MetaDates,
    MetaNumbers,
    MetaStarts,
    Node,
    Not,
    NumberRange,
    Or,
    Site,
    Wildcard,
    Word,
)
from feedmill.model.search import IndexDocument, Sort
from tests.builders.indexdocuments import make_index_document, with_body, with_url
from tests.contract.indexharness import Opened, keys, put


def with_value(*values: str, name: str = "Price.Now") -> list[IndexDocument]:
    return [make_index_document(key=number, metadata=((name, value),)) for number, value in enumerate(values, 1)]


def found(opened: Opened, query: Node) -> list[int]:
    return sorted(keys(opened, query))


def ordered(opened: Opened, sort: Sort, query: Node | None = None, start: int = 0, num: int = 100) -> list[int]:
    return [hit.key for hit in opened[0].search(query or MatchAll(), ANONYMOUS, start=start, num=num, sort=sort).hits]


# --- wildcards ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("cell*", [1, 2, 3]),
        ("CEL*S", [2]),
        ("c*r", [3, 5, 6]),
        ("ca*e", [4]),
        ("caf*", [4]),
        ("col*r", [5, 6]),
        ("zz*", []),
        ("ce*l*", [1, 2, 3]),
    ],
)
def test_wildcard_pieces_of_words_are_found(opened: Opened, text: str, numbers: list[int]) -> None:
    put(opened, *with_body("one cell", "many cells", "the cellar", "a Café", "color", "colour", "excellent"))
    assert found(opened, Wildcard(text)) == numbers
    assert found(opened, And((MatchAll(), Not(Wildcard(text))))) == sorted({1, 2, 3, 4, 5, 6, 7} - set(numbers))


def test_wildcard_in_a_title_counts_more_and_is_highlighted(opened: Opened) -> None:
    held = make_index_document(key=3, metadata=(("a", "cell"),))
    put(opened, make_index_document(key=1, body="cellar"), make_index_document(key=2, title="Cells"), held)
    assert keys(opened, Wildcard("cell*"))[0] == 2
    assert found(opened, Wildcard("cell*")) == [1, 2, 3]
    assert highlight_terms(And((Wildcard("Cell*"), Word("x")))) == ("cell*", "x")


def test_wildcard_of_one_place_is_looked_for_there(opened: Opened) -> None:
    put(
        opened,
        make_index_document(key=1, url="http://a.com/report", title="Cellar", body="wine"),
        make_index_document(key=2, url="http://a.com/cells", title="Wine", body="reports"),
    )
    assert found(opened, InTitle("cel*")) == [1]
    assert found(opened, InUrl("cel*")) == [2]
    assert found(opened, InText("w*e")) == [1]
    assert found(opened, And((MatchAll(), Not(InText("rep*"))))) == [1]
    assert highlight_terms(InTitle("Cel*")) == ("cel*",)


# --- places ---------------------------------------------------------------------------------------------------------------------


def test_intitle_and_intext_look_in_one_place(opened: Opened) -> None:
    put(opened, make_index_document(title="Annual Report", body="café"), make_index_document(key=2, title="x", body="annual report"))
    assert found(opened, InTitle("annual report")) == found(opened, InText("CAFE")) == [1]
    assert found(opened, InText("annual-report")) == [2]
    assert found(opened, InTitle("report annual")) == []
    assert highlight_terms(And((InTitle("Annual Report"), InText("x"), Not(InText("y"))))) == ("annual report", "x")


def test_filetype_ending_or_kind_is_found(opened: Opened) -> None:
    urls = ("http://h/a.PDF?x=1", "http://h/get?id=7", "http://h/page.htm", "http://h/v1.2/", "http://h/x.tar.gz")
    types = ("", "application/pdf; charset=x", "text/html", "", "")
    put(opened, *[replace(one, mimetype=kind) for one, kind in zip(with_url(*urls), types, strict=True)])
    assert found(opened, FileType("pdf")) == found(opened, FileType(".PDF")) == [1, 2]
    assert found(opened, FileType("html")) == found(opened, FileType("htm")) == [3]
    assert found(opened, FileType("gz")) == [5]
    assert found(opened, FileType("2/")) == found(opened, FileType(".")) == []


def test_link_exact_url_is_found(opened: Opened) -> None:
    put(opened, make_index_document(links=("http://a.com/", "http://b.com/x")), make_index_document(key=2, links=("http://b.com/xy",)))
    assert found(opened, LinksTo("a.com")) == found(opened, LinksTo("http://b.com/x")) == [1]
    assert found(opened, LinksTo("http://b.com/")) == []


def test_daterange_whole_days_count(opened: Opened) -> None:
    moments = [datetime(2011, 3, 5, tzinfo=UTC), datetime(2011, 3, 5, 23, 59, 59, tzinfo=UTC), datetime(2011, 3, 6, tzinfo=UTC), None]
    put(opened, *[make_index_document(key=number, last_modified=moment) for number, moment in enumerate(moments, 1)])
    assert found(opened, DateRange(date(2011, 3, 5), date(2011, 3, 5))) == [1, 2]
    assert found(opened, DateRange(date(2011, 3, 6), None)) == [3]
    assert found(opened, DateRange(None, date(2011, 3, 6))) == [1, 2, 3]
    assert found(opened, DateRange(date(2012, 1, 1), date(2011, 1, 1))) == []
    assert found(opened, Not(DateRange(date(1, 1, 1), date(9999, 12, 31)))) == [4]


def test_number_range_numbers_of_the_text(opened: Opened) -> None:
    put(opened, *with_body("costs $1,250.50 now", "costs 300", "version 1.2.300", "a300 300b", "it is 12, or 13."))
    assert found(opened, NumberRange(200, 400)) == [2]
    assert found(opened, NumberRange(1250.5, 1250.5)) == [1]
    assert found(opened, NumberRange(12, 13)) == found(opened, NumberRange(13, 13)) == [5]
    assert found(opened, NumberRange(400, 200)) == []


def test_number_range_units_and_decimal_commas(opened: Opened) -> None:
    texts = ("a sack of 50kg", "a sack of 50 kg", "weighs 50", "only $50", "50 \u20ac", "1.299,00 \u20ac", "an 80GB disk", "1,299.00")
    put(opened, *with_body(*texts))
    assert found(opened, NumberRange(40, 60)) == [1, 2, 3, 4, 5]
    assert found(opened, NumberRange(40, 60, "kg")) == [1, 2]
    assert found(opened, NumberRange(40, 60, "usd")) == [3, 4]
    assert found(opened, NumberRange(1299, 1299)) == [6, 8]
    assert found(opened, NumberRange(10, 100, "gb")) == [7]
    assert found(opened, And((Word("sack"), Not(NumberRange(40, 60, "kg"))))) == []


def test_number_range_what_two_languages_read_differently(opened: Opened) -> None:
    english, german = with_body("1,299 pieces and 2.500", "1,299 Liter und 2.500 Seiten")
    put(opened, replace(english, language="en"), replace(german, language="de"))
    assert found(opened, NumberRange(1299, 1299)) == found(opened, NumberRange(2.5, 2.5)) == [1, 2]
    assert found(opened, NumberRange(1.2, 1.3)) == found(opened, NumberRange(2500, 2500)) == [2]


# --- metadata -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (60, None, [3, 4]),
        (None, 60, [1, 2, 3, 5, 6]),
        (9.5, 60, [2, 3, 6]),
        (60, 60, [3]),
        (-10, -1, [5]),
        (-1, 0, [1]),
        (0.0001, 0.5, []),
        (61, 60, []),
    ],
)
def test_metadata_numbers_compare_as_numbers(opened: Opened, low: float | None, high: float | None, wanted: list[int]) -> None:
    put(opened, *with_value("0", " 9.5 ", "$60", "1,000", "-3", "10", "60 or so", "2011-03-05", "1" * 40))
    assert found(opened, MetaNumbers("PRICE.now", low, high)) == wanted
    assert found(opened, MetaNumbers("price", None, None)) == []


def test_inmeta_values_with_units_are_numbers(opened: Opened) -> None:
    put(opened, *with_value("10GB", "500 MB", "50", "1.299,00 \u20ac", "$499.99", "ten GB", name="size"))
    assert found(opened, MetaNumbers("size", 10, 50)) == [1, 3]
    assert found(opened, MetaNumbers("size", 5, 600, "gb")) == [1]
    assert found(opened, MetaNumbers("size", 0, 2000, "eur")) == [3, 4]
    assert found(opened, MetaNumbers("size", 400, 500, "usd")) == [5]
    assert ordered(opened, Sort(name="size", is_descending=False)) == [1, 3, 5, 2, 4, 6]


def test_metadata_dates_in_any_form_compare_as_days(opened: Opened) -> None:
    put(opened, *with_value("2011-03-05", "Sat, 05 Mar 2011 23:00:00 GMT", "6 March 2011", "2011", "march", name="d"))
    assert found(opened, MetaDates("D", date(2011, 3, 5), date(2011, 3, 5))) == [1, 2]
    assert found(opened, MetaDates("d", date(2011, 3, 6), None)) == [3]
    assert found(opened, MetaDates("d", None, None)) == [1, 2, 3]


def test_metadata_several_values_each_count(opened: Opened) -> None:
    put(opened, make_index_document(metadata=(("p", "1"), ("p", "5"), ("q", "3"), ("p", "red car"), ("p", "blue"))))
    assert found(opened, MetaNumbers("p", 4, 6)) == [1]
    assert found(opened, MetaNumbers("p", 2, 4)) == []
    assert found(opened, MetaContains("p", "car blue")) == []
    assert found(opened, And((MetaContains("P", "BLUE"), MetaContains("p", "red-car")))) == [1]


def test_metadata_words_whole_and_beginnings(opened: Opened) -> None:
    put(opened, *with_value("Legal Affairs", "legality", "Paralegal", "the legal affair", "東京都", name="Dept"))
    assert found(opened, MetaContains("dept", "LEGAL")) == [1, 4]
    assert found(opened, MetaContains("dept", "legal", is_prefix=True)) == [1, 2, 4]
    assert found(opened, MetaContains("dept", "legal aff", is_prefix=True)) == [1, 4]
    assert found(opened, MetaContains("dept", "legal affairs")) == [1]
    assert found(opened, MetaContains("other", "legal", is_prefix=True)) == found(opened, MetaContains("dept", "?!")) == []
    assert found(opened, MetaContains("dept", "東京")) == [5]
    assert found(opened, MetaStarts("DEPT", "legal")) == [1, 2]
    assert found(opened, MetaStarts("dept", "legal a.*")) == []
    assert found(opened, Or((MetaStarts("dept", "the"), MetaStarts("dept", "para")))) == [3, 4]


def test_metadata_odd_questions_find_nothing(opened: Opened) -> None:
    put(opened, *with_value("v"))
    for text in ("(((", "[a-", "\\", "x" * 2_000, "é" * 600, "\ud800", "a" * 300 + " " + "b" * 300):
        assert found(opened, MetaStarts("price.now", text)) == found(opened, MetaStarts(text, "v")) == []
        assert found(opened, MetaContains("price.now", text, is_prefix=True)) == found(opened, FileType(text)) == []
        assert found(opened, Site(f"example.com/{text}")) == found(opened, MetaNumbers(text, 1, None)) == []


# --- order ----------------------------------------------------------------------------------------------------------------------


def test_sort_date_undated_come_last_both_ways(opened: Opened) -> None:
    moments = [None, datetime(2020, 1, 1, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC), None]
    put(opened, *[make_index_document(key=number, last_modified=moment) for number, moment in enumerate(moments, 1)])
    for is_whole in (True, False):
        assert ordered(opened, Sort(is_whole=is_whole)) == [4, 2, 3, 1, 5]
        assert ordered(opened, Sort(is_descending=False, is_whole=is_whole)) == [3, 2, 4, 1, 5]
        assert ordered(opened, Sort(is_whole=is_whole), start=1, num=2) == [2, 3]


def test_sort_metadata_numbers_then_dates_then_words_then_none(opened: Opened) -> None:
    values = ("10", "9", "Zebra", "ape", "2011-03-05", "-1")
    put(opened, *with_value(*values, name="S.o rt"), make_index_document(key=9))
    assert ordered(opened, Sort(name="s.o RT", is_descending=False)) == [6, 2, 1, 5, 4, 3, 9]
    assert ordered(opened, Sort(name="s.o rt")) == [3, 4, 5, 1, 2, 6, 9]
    assert ordered(opened, Sort(name="s.o rt"), start=2, num=3) == [5, 1, 2]
    assert ordered(opened, Sort(name="s.o rt"), Not(Word("x")), start=90) == []
    assert sorted(ordered(opened, Sort(name="unknown"))) == [1, 2, 3, 4, 5, 6, 9]


@pytest.mark.parametrize("sort", [Sort(), Sort(is_whole=False), Sort(name="n")])
@pytest.mark.parametrize(("start", "num"), [(0, 0), (-3, -1), (10**12, 10)])
def test_sort_out_of_bounds_still_counts(opened: Opened, sort: Sort, start: int, num: int) -> None:
    put(opened, *with_body("a", "a"))
    hits = opened[0].search(Word("a"), ANONYMOUS, start=start, num=num, sort=sort)
    assert (hits.hits, hits.total) == ((), 2)
