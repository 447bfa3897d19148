import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.typedvalues import is_within, numbers_of_text, range_pattern, read_number, sortable

_NUMBERS = st.floats(-1e15, 1e15)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        (" -1,234.5 ", -1234.5),
        ("$3", 3.0),
        ("-$3", -3.0),
        ("7 \u20ac", 7.0),
        ("-0", 0.0),
        ("", None),
        ("1e5", None),
        ("1,2", None),
        ("1.2.3", None),
        ("9" * 16, None),
        ("\u0663", None),
    ],
)
def test_read_number_forms(text: str, number: float | None) -> None:
    assert read_number(text) == number


def test_numbers_of_text_each_once_and_bounded() -> None:
    assert numbers_of_text("3 apples, 3.5 pears; 1,000 of 10.0.0.1 and v2") == [3.0, 3.5, 1000.0]
    assert len(numbers_of_text(" ".join(map(str, range(10_000))))) == 2_000


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
