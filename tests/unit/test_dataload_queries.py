"""Queries of the Thunderstone appliance in the language of this server."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.language import parse_query
from feedmill.wire.dataload.queries import translate_query, write_restrictions
from tests.anytext import any_text


@pytest.mark.parametrize(
    ("query", "translated"),
    [
        ("", ""),
        ("red lamp", "red lamp"),
        ("+red -lamp", "red -lamp"),
        ("(red,dark blue) lamp", 'red OR "dark blue" lamp'),
        ("-(red,blue)", "-red -blue"),
        ("( , )", ""),
        ("()", ""),
        ("~lamp", "lamp"),
        ('"red lamp', '"red lamp"'),
        ("@0 a b c", "a OR b OR c"),
        ("@1 a b c", "a OR b a OR c b OR c"),
        ("@2 a b c", "a b c"),
        ("@9 a b", "a b"),
        ("@0 a b +c -d site:x.test", "a OR b c -d site:x.test"),
        ("mail@0", "mail@0"),
        ("site:x.test lamp", "lamp site:x.test"),
    ],
)
def test_query_is_translated(query: str, translated: str) -> None:
    assert translate_query(query) == translated


@given(st.integers(1, 5), st.integers(0, 6))
def test_some_terms_are_required_and_no_more(count: int, more: int) -> None:
    terms = [f"t{number}" for number in range(count)]
    clauses = [set(clause) for clause in read_clauses(translate_query(" ".join([f"@{more}", *terms])))]
    for size in range(count + 1):
        for chosen in combinations(terms, size):
            assert all(clause & set(chosen) for clause in clauses) == (size >= min(more + 1, count))


def read_clauses(text: str) -> list[list[str]]:
    """Returns the alternatives of each clause."""
    clauses: list[list[str]] = []
    joins = False
    for word in text.split():
        if word == "OR":
            joins = True
        elif joins:
            clauses[-1].append(word)
            joins = False
        else:
            clauses.append([word])
    return clauses


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ({}, ""),
        ({"tq": "annual -draft"}, "intitle:annual -intitle:draft"),
        ({"tq": '"annual report"'}, 'intitle:"annual report"'),
        ({"uq": "http://www.x.test/docs/*"}, "site:www.x.test/docs/"),
        ({"uq": "*report*.pdf"}, 'inurl:"report" inurl:"pdf"'),
        ({"uq": "*"}, ""),
        ({"mtq": "application/pdf"}, "filetype:pdf"),
        ({"mtq": "image/*"}, "filetype:gif OR filetype:jpg OR filetype:png"),
        ({"mtq": "x/unheard-of"}, 'filetype:"x/unheard-of"'),
        ({"mdlt": "2020-01-02"}, "daterange:..2020-01-01"),
        ({"mdlt": "2020-01-02 00:00:01"}, "daterange:..2020-01-02"),
        ({"mdgt": "2020-01-02", "mdlt": "2020-02-01"}, "daterange:2020-01-02..2020-01-31"),
        ({"mdgt": "soon"}, ""),
    ],
)
def test_parameters_are_written_as_restrictions(values: dict[str, str], written: str) -> None:
    assert write_restrictions(values) == written


@given(any_text(), any_text())
def test_any_text_is_translated_to_a_query_that_can_be_parsed(query: str, value: str) -> None:
    given_values = dict.fromkeys(("tq", "uq", "mtq", "mdlt", "mdgt"), value)
    parse_query(f"{translate_query(query)} {write_restrictions(given_values)}")
