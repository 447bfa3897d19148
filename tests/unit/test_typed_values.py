import re

from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.typedvalues import (
    NUMBER,
    is_within,
    range_pattern,
    sortable,
    split_typed_term,
    text_number_terms,
    text_pattern,
    typed_pattern,
    typed_terms,
)
from feedmill.core.text.units import accepts_unit

_NUMBERS = st.floats(-1e15, 1e15)


@given(_NUMBERS, _NUMBERS)
def test_sortable_sorts_as_numbers_do(one: float, other: float) -> None:
    if one != other:
        assert (sortable(one) < sortable(other)) is (one < other)


@given(st.none() | _NUMBERS, st.none() | _NUMBERS, _NUMBERS)
def test_range_pattern_matches_exactly_what_lies_within(low: float | None, high: float | None, number: float) -> None:
    pattern = range_pattern(low, high)
    for one in (number, *[end for end in (low, high) if end is not None]):
        one += 0.0  # minus nothing never becomes a term
        expected = is_within(one, low, high)
        assert (pattern is not None and re.fullmatch(pattern, sortable(one)) is not None) is expected


@given(st.floats(-1e12, 1e12), st.sampled_from(["", "kg", "usd", "eur"]), st.sampled_from(["", "kg", "usd"]))
def test_patterns_match_the_terms_whose_unit_is_accepted(number: float, unit: str, wanted_unit: str) -> None:
    text, value = f"{abs(number):.2f}{unit}", f"{number:.2f}{unit}"
    (term,), (typed,) = text_number_terms([text]), typed_terms((("n", value),))
    patterns = text_pattern(None, None, wanted_unit), typed_pattern(NUMBER, "n", None, None, wanted_unit)
    for pattern, one in zip(patterns, (term, typed), strict=True):
        assert pattern is not None
        assert (re.fullmatch(pattern, one) is not None) is accepts_unit(wanted_unit, unit)


def test_typed_terms_of_one_name_are_split_alike_whatever_their_unit() -> None:
    terms = typed_terms((("Size", "10 GB"), ("size", "500"), ("when", "2024-05-17")))
    heads = [split_typed_term(term)[0] for term in terms]
    assert heads[0] == heads[1] != heads[2]
    assert [split_typed_term(term)[1] for term in terms[:2]] == [sortable(10.0), sortable(500.0)]
