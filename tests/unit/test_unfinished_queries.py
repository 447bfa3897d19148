"""Queries whose last word is still being typed."""

import pytest

from feedmill.core.query.language import parse_query
from feedmill.core.query.unfinished import complete_last_word
from feedmill.model.query import And, Node, Or, Phrase, Wildcard, Word


def complete(text: str) -> Node:
    return complete_last_word(parse_query(text).root, text)


def test_last_word_matches_itself_and_what_begins_with_it() -> None:
    assert complete("wa") == Or((Word("wa"), Wildcard("wa*")))
    # a function word of another language than the words before it begins one of theirs: Danish ``har`` begins harvest
    assert complete("the har") == And((Word("the"), Or((Word("har"), Wildcard("har*")))))
    assert complete("the") == Or((Word("the"), Wildcard("the*")))
    assert complete("cold wa") == And((Word("cold"), Or((Word("wa"), Wildcard("wa*")))))
    assert complete('"cold wa') == And((Word("cold"), Or((Word("wa"), Wildcard("wa*")))))
    assert complete("용어") == Or((Word("용어"), Wildcard("용어*")))


def test_last_part_of_a_hyphenated_word_is_unfinished() -> None:
    assert complete("long-te") == Or((Phrase("long-te"), And((Word("long"), Wildcard("te*")))))
    assert complete("state-of-the-ar") == Or((Phrase("state-of-the-ar"), And((Word("state-of-the"), Wildcard("ar*")))))


def test_last_alternative_is_unfinished() -> None:
    assert complete("cold OR wa") == Or((Word("cold"), Word("wa"), Wildcard("wa*")))


FINISHED = (
    "",
    "w",
    "wa ",
    "wa)",
    "-wa",
    "+wa",
    '"wa"',
    "site:wa",
    "inmeta:a=wa",
    "wa*",
    "5..10",
    "long-t",
    "cold OR",
    "出張",
    "where is the",
)


@pytest.mark.parametrize("text", [*FINISHED, "allintitle: wa"])
def test_other_queries_are_finished(text: str) -> None:
    assert complete(text) == parse_query(text).root
