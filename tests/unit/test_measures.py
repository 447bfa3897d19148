import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.core.text.measures import MAX_TEXT_NUMBERS, Quantity, measures_of_text, read_measure, read_number, read_range
from tests.anytext import any_numbers, any_text
from tests.thorough import count_examples


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        (" -1,234.5 ", -1234.5),
        ("\u22125", -5.0),
        ("-0", 0.0),
        ("1.299,00", 1299.0),
        ("1.299.000", 1299000.0),
        ("1,2", 1.2),
        ("0,125", 0.125),
        ("1.299", 1.299),
        ("1,299", 1299.0),
        ("1'299.50", 1299.5),
        ("1 299,00", 1299.0),
        ("1\u00a0299", 1299.0),
        ("12,34,567", 1234567.0),
        ("", None),
        ("1e5", None),
        ("1.2.3", None),
        ("1,299,00", None),
        ("1,299.00.5", None),
        ("10.0.0.1", None),
        ("192.168.100.200", None),
        ("2011-03-05", None),
        ("5.12.2011", None),
        ("12:30", None),
        ("555-1234", None),
        ("9" * 16, None),
        ("\u0663", None),
        ("2,375.9,5", None),
        ("1.618,2.718", None),
        ("0.125,0.250", None),
        ("12,34,567.8,9", None),
        ("1\n234", None),
        ("1\t234", None),
        ("1\u3000234", None),
        ("1\u2007234", 1234.0),
        ("1\u2007234,5", 1234.5),
        ("1\n234,5", None),
        ("A4", None),
        ("300b", None),
    ],
)
def test_read_number_forms(text: str, number: float | None) -> None:
    assert read_number(text) == number


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("$3", Quantity(3.0, "usd")),
        ("-$3", Quantity(-3.0, "usd")),
        ("7 \u20ac", Quantity(7.0, "eur")),
        ("\u20ac7", Quantity(7.0, "eur")),
        ("USD 499.99", Quantity(499.99, "usd")),
        ("US$ 499.99", Quantity(499.99, "usd")),
        ("1.299,00 EUR", Quantity(1299.0, "eur")),
        ("1.299 \u20ac", Quantity(1299.0, "eur")),
        ("$1.299", Quantity(1.299, "usd")),
        ("50kg", Quantity(50.0, "kg")),
        ("50 Kilos", Quantity(50.0, "kg")),
        ("10GB", Quantity(10.0, "gb")),
        ("2.5 m\u00b2", Quantity(2.5, "m2")),
        ("-4 \u00b0C", Quantity(-4.0, "degc")),
        ("130 km/h", Quantity(130.0, "kmh")),
        ("15 %", Quantity(15.0, "pct")),
        ("5000\u5186", Quantity(5000.0, "yen")),
        ("3 apples", None),
        ("kg 50", None),
        ("$5 EUR", None),
    ],
)
def test_read_measure_units(text: str, measure: Quantity | None) -> None:
    assert read_measure(text) == measure


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("5", "10", (5.0, 10.0, "")),
        ("$5", "10", (5.0, 10.0, "usd")),
        ("5", "10kg", (5.0, 10.0, "kg")),
        ("5kg", "10 kilos", (5.0, 10.0, "kg")),
        ("", "10GB", (None, 10.0, "gb")),
        ("$5", "10\u20ac", None),
        ("5", "x", None),
        ("", "", None),
    ],
)
def test_read_range_one_unit_for_both_ends(low: str, high: str, expected: tuple[float | None, float | None, str] | None) -> None:
    assert read_range(low, high) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3 apples, 3.5 pears; 1,000 of 10.0.0.1 and v2", [(3, ""), (3.5, ""), (1000, "")]),
        ("a truck of 7500kg, or 7.5 t; 10GB", [(7500, "kg"), (7.5, "t"), (10, "gb")]),
        ("$499.99, 1,299.00 and 1.299,00 \u20ac", [(499.99, "usd"), (1299, ""), (1299, "eur")]),
        ("1 299,00 \u20ac or CHF 1'299.50", [(1299, "eur"), (1299.5, "chf")]),
        ("Weight (kg): 200, width in cm: 7", [(200, "kg"), (7, "cm")]),
        ("10-20 kg, 24/7", [(10, "kg"), (20, "kg"), (24, ""), (7, "")]),
        ("\u4ef7\u683c50\u5143\u4ee5\u4e0b", [(50, "yen")]),
        ("on 2024-05-17, 17.05.2023 or 5/17/2022 at 12:30", [(2024, ""), (2023, ""), (2022, "")]),
        ("call +49 30 123456, (555) 123-4567 or 555-123-4567", []),
        ("1.2.3, 1.2.300, 192.168.100.200, 10.0.0.0/8", [(8, "")]),
        ("a300 300b 3f0a 3D 5th 0x1F COVID-19", [(3, "d"), (19, "")]),
        ("the 1960s", [(1960, "s")]),
        ("5 in 3 a day", [(5, ""), (3, "")]),
        ("chapters 100 200 300", [(100, ""), (200, ""), (300, "")]),
        ("1,2,3", []),
        ("2,375.9,5 and 12,34,567.8,9", []),
        ("1.618,2.718 kg; 0.125,0.250", [(1.618, ""), (2.718, "kg"), (0.125, ""), (0.25, "")]),
        ("1\n234 5\t678 9\u3000012", [(1, ""), (234, ""), (5, ""), (678, ""), (9, ""), (12, "")]),
        ("9" * 100 + " 1" + ",111" * 50, []),
    ],
)
def test_measures_of_text_forms(text: str, found: list[tuple[float, str]]) -> None:
    assert measures_of_text(text) == found


@pytest.mark.parametrize(
    ("language", "text", "numbers"),
    [
        ("en", "1,299 and 1.5", [1299, 1.5]),
        ("de", "1,299 und 1.500", [1299, 1.299, 1.5, 1500]),
        ("de", "1.299 \u20ac", [1299]),
        ("fr", "1 299 pages", [1299, 1, 299]),
        (None, "1.299", [1.299]),
    ],
)
def test_measures_of_text_what_may_be_read_in_two_ways(language: str | None, text: str, numbers: list[float]) -> None:
    assert [measure.number for measure in measures_of_text(text, language)] == numbers


def test_measures_of_text_each_once_and_bounded() -> None:
    assert measures_of_text("7 7.0 7 kg 7kg") == [(7.0, ""), (7.0, "kg")]
    assert len(measures_of_text(" ".join(map(str, range(10_000))))) == MAX_TEXT_NUMBERS


@pytest.mark.parametrize(
    "piece", ["1", "1,", "1.", "1 ", "111 ", "1-", "(1", "+1 ", "$", "a:", "1\u00a0111", "(kg)", "1/1:", "\u5186", "1'"]
)
def test_measures_of_text_repeated_pieces_take_no_time(piece: str) -> None:
    begun = time.thread_time()
    measures_of_text(piece * 100_000)
    assert time.thread_time() - begun < 10.0


@settings(max_examples=count_examples(300))
@given(any_numbers() | any_text(), st.sampled_from([None, "en", "de", "fr"]))
def test_measures_any_text_returns_numbers_below_the_limit(text: str, language: str | None) -> None:
    measure = read_measure(text)
    assert all(0 <= number < 1e15 for number, _ in measures_of_text(text, language))
    assert measure is None or -1e15 < measure.number < 1e15


@pytest.mark.parametrize("sign", [*",.'\u2019- :/\t\n\x0b\x1c\x85\u00a0\u2007\u2009\u2028\u202f\u3000", ", ", ". "])
@pytest.mark.parametrize("other", list(",.' \t\u2007\u3000"))
def test_measures_every_way_of_dividing_digits_reads_something_or_nothing(sign: str, other: str) -> None:
    for groups in itertools.product(["1", "12", "123", "1234"], repeat=3):
        for written in (groups[0] + sign + groups[1] + other + groups[2], other.join((sign.join(groups), "7", "890"))):
            read_measure(written)
            measures_of_text(f"a {written} b", "de")
            read_range(written, "9")


@given(st.integers(0, 10**12), st.sampled_from(["", "kg", " EUR", "GB"]))
def test_thousands_are_read_alike_however_they_are_divided(number: int, unit: str) -> None:
    written = f"{number:,}.25"
    german = written.translate({ord(","): ".", ord("."): ","})
    assert read_number(written + unit) == read_number(german + unit) == number + 0.25
