import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.language import parse_query
from feedmill.core.query.terms import read_words, split_term
from feedmill.core.ranking.keymatches import KeyMatchTable, RelatedTable
from feedmill.model.serving import KeyMatch, KeyMatchKind, RelatedQuery


def fits(kind: str, term: str, query: str) -> bool:
    table = KeyMatchTable([KeyMatch(kind=KeyMatchKind(kind), term=term, url="http://x.com/")])
    return bool(table.find_keymatches(read_words(parse_query(query).root), 3))


@pytest.mark.parametrize(
    ("term", "query", "kinds"),
    [
        ("holiday", "holiday", "keyword phrase exact"),
        ("holiday", "HOLIDAY rules", "keyword phrase"),
        ("Holiday", "my holiday", "keyword phrase"),
        ("holiday", "holidays", ""),
        ("holiday rules", "rules of holiday", "keyword"),
        ("holiday rules", "the holiday rules", "keyword phrase"),
        ("holiday rules", "holiday rules", "keyword phrase exact"),
        ("holiday rules", '"holiday rules"', "keyword phrase exact"),
        ("holiday rules", "holiday-rules", "keyword phrase exact"),
        ("holiday rules", "holiday", ""),
        ("holiday rules", "rules holiday", "keyword"),
        ("holiday", "-holiday rules", ""),
        ("holiday", "holiday -rules", "keyword phrase"),
        ("holiday", "intitle:holiday", ""),
        ("holiday", "holiday site:a.com", "keyword phrase"),
        ("holiday", "holiday OR leave", "keyword phrase"),
        ("cafe", "Café", "keyword phrase exact"),
        ("STRASSE", "straße", "keyword phrase exact"),
        ("休暇", "休暇", "keyword phrase exact"),
        ("休暇", "休暇申請", "keyword phrase"),
        ("c#", "c", "keyword phrase exact"),
        ("?", "?", ""),
        ("x", "", ""),
    ],
)
def test_keymatch_kinds_fit_words_anywhere_in_a_row_or_all(term: str, query: str, kinds: str) -> None:
    assert [kind for kind in ("keyword", "phrase", "exact") if fits(kind, term, query)] == kinds.split()


def test_keymatches_come_in_their_order_each_url_once_and_so_many() -> None:
    terms = ("b", "a", "a b", "c", "b")
    table = KeyMatchTable(
        [KeyMatch(kind=KeyMatchKind.KEYWORD, term=term, url=f"http://x/{min(place, 3)}") for place, term in enumerate(terms)]
    )
    words = read_words(parse_query("a b c").root)
    assert [match.url for match in table.find_keymatches(words, 3)] == ["http://x/0", "http://x/1", "http://x/2"]
    assert len(table.find_keymatches(words, 50)) == 4
    assert table.find_keymatches(words, 0) == ()


def test_related_queries_are_offered_beside_exactly_their_term() -> None:
    table = RelatedTable([RelatedQuery(term="car", query="company car"), RelatedQuery(term="Car", query="garage")])
    assert table.find_related(read_words(parse_query("CAR").root)) == ("company car", "garage")
    assert table.find_related(read_words(parse_query("car park").root)) == ()
    assert table.find_related(read_words(parse_query("car site:x").root)) == ()
    assert table.find_related(read_words(parse_query("").root)) == ()


@given(st.text(max_size=30), st.sampled_from(list(KeyMatchKind)), st.text(max_size=10))
def test_keymatches_of_any_text_never_raise_and_fit_themselves(query: str, kind: KeyMatchKind, term: str) -> None:
    fits(kind.value, term, query)
    words = " ".join(split_term(term))
    if words and "or" not in words.split() and ":" not in words:
        assert fits(kind.value, term, f'"{words}"')
