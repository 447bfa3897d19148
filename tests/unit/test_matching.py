import pytest

from feedmill.core.query.language import parse_query
from feedmill.core.query.matching import loosen
from feedmill.model.query import And, AnyOf, Node, Not, Or, Phrase, Site, Word
from feedmill.model.search import Match

A, B = Word("a"), Word("b")


@pytest.mark.parametrize(
    ("query", "root"),
    [
        ("a b", AnyOf((A, B))),
        ('a "b c"', AnyOf((A, Phrase("b c")))),
        ("a b site:x.com", And((Site("x.com"), AnyOf((A, B))))),
        ("a b -c", And((Not(Word("c")), AnyOf((A, B))))),
        ("a OR b c", AnyOf((Or((A, B)), Word("c")))),
        ("a b OR site:x.com", None),
        ("a", None),
        ("a site:x.com", None),
        ("a OR b", None),
        ("site:x.com inmeta:y", None),
        ("", None),
        ("a a", None),
        ("東京の天気", AnyOf((Word("東京"), Word("京の"), Word("の天"), Word("天気")))),
        ("東京 site:x.jp", None),
        ("氧-18多少?", AnyOf((Word("氧"), Word("18"), Word("多少")))),
        ("参加AS-206试飞", AnyOf((Word("参加"), Word("AS"), Word("206"), Word("试飞")))),
        ("iPhone東京都?", AnyOf((Word("iPhone"), Word("東京"), Word("京都")))),
        ("ไทยแลนด์", AnyOf(tuple(Word("ไทยแลนด์"[start : start + 3]) for start in range(6)))),
        ('"東京の天気"', None),
        ("a b a", AnyOf((A, B, A))),
        ("high-speed flow", AnyOf((Word("high"), Word("speed"), Word("flow")))),
        ("l'avion Tesla’s and/or", AnyOf((Word("avion"), Word("Tesla"), Word("and"), Word("or")))),
        ("3.11 24/7", AnyOf((Word("3.11"), Word("24/7")))),
        ("서울의 인구는", AnyOf((Word("서울"), Word("울의"), Word("인구"), Word("구는")))),
    ],
)
def test_loosen_auto_only_plain_parts_become_optional(query: str, root: Node | None) -> None:
    assert loosen(parse_query(query).root, Match.AUTO) == root


def test_loosen_any_ranks_by_any_and_all_loosens_nothing() -> None:
    assert loosen(parse_query("東京の").root, Match.ALL) is None
    root = parse_query("a b site:x.com").root
    assert loosen(root, Match.ANY) == And((Site("x.com"), Or((A, B))))
    assert loosen(root, Match.ALL) is None
