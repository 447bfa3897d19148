"""Which part of a query is embedded, and which part holds for documents near to it."""

import pytest

from feedmill.core.query.language import parse_query
from feedmill.core.query.matching import loosen
from feedmill.core.query.semantic import find_restrictions, find_text, widen
from feedmill.model.query import Among, And, AnyOf, MatchAll, Not, Or, Site, Word
from feedmill.model.search import Match


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("company car", "company car"),
        ('"company car" policy', "company car policy"),
        ("car site:a.test -truck inmeta:kind=policy", "car"),
        ("car OR automobile", "car automobile"),
        ("+car", "car"),
        ("info:http://a.test/", ""),
        ("site:a.test", ""),
        ("-car", ""),
        ("", ""),
        (f"{'x' * 600} {'y' * 600}", f"{'x' * 600} {'y' * 399}"),
    ],
)
def test_text_holds_the_plain_words_alone(query: str, text: str) -> None:
    assert find_text(parse_query(query).root) == text


def test_restrictions_are_everything_but_the_optional_words() -> None:
    root = And((Word("car"), Word("red", is_fixed=True), Site("a.test"), Not(Word("truck")), Or((Word("a"), Site("b.test")))))
    assert find_restrictions(root) == And((Word("red", is_fixed=True), Site("a.test"), Not(Word("truck")), Or((Word("a"), Site("b.test")))))
    assert find_restrictions(Word("car")) == MatchAll()


def test_widened_query_finds_documents_beside_the_words_within_the_restrictions() -> None:
    strict = And((Word("company"), Word("car"), Site("a.test")))
    assert widen(strict, [7, 3]) == And((Site("a.test"), Or((And((Word("company"), Word("car"))), Among((7, 3))))))
    loosened = loosen(strict, Match.AUTO)
    assert loosened is not None
    assert widen(loosened, [7]) == And((Site("a.test"), Or((AnyOf((Word("company"), Word("car"))), Among((7,))))))
    assert widen(Word("car"), [7]) == Or((Word("car"), Among((7,))))
