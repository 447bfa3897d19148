"""Tables of contents and indexes among the lines of a text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.readers.contentslines import find_contents, find_dotted, without_leaders

PROSE = ["The server reads each document", "and writes its words into an index.", "It took 12 seconds for 3000", "documents of our own."]


def find(*lines: str, before: int = 20) -> list[str]:
    """Returns the lines that are found on the first page of several."""
    pages = [list(lines), *[PROSE] * before]
    return [line for line, is_found in zip(lines, find_contents(pages)[0], strict=True) if is_found]


@pytest.mark.parametrize("leaders", [" . . . . . . . ", "........", " …… ", " · · · · · ", " ______ "])
def test_lines_with_leaders_are_a_table_of_contents_with_its_label(leaders: str) -> None:
    entries = [f"1 Introduction{leaders}1", f"1.1 Who reads this{leaders}iv", f"2 Travel{leaders}12", f"A Forms{leaders}A-3"]
    assert find("A manual.", "Table of Contents", *entries, *PROSE) == ["Table of Contents", *entries]


def test_title_of_two_lines_is_an_entry() -> None:
    entries = [
        "1 What to do when a travel",
        "expense is late . . . . . 3",
        "2 Money . . . . . . . . 4",
        "3 More about the forms",
        "of the office . . . . 9",
    ]
    assert find("Contents", *entries) == ["Contents", *entries]


def test_lines_that_end_in_rising_numbers_of_pages_are_a_table_of_contents() -> None:
    entries = ["Introduction 1", "Travel 3", "Booking a flight 3", "Booking a hotel 7", "Money 9", "Forms 15"]
    assert find("Contents", *entries, *PROSE) == ["Contents", *entries]


def test_most_lines_that_end_in_numbers_of_pages_are_an_index() -> None:
    lines = [
        "A",
        *[f"{word}, 3, 12–14" for word in ("accept", "address", "agree", "air", "allow", "answer", "approve", "arrive")],
        "B",
        "bank, 4",
    ]
    assert find(*lines) == lines


@pytest.mark.parametrize(
    "lines",
    [
        PROSE,
        ["Coffee . . . . 3", "Please wait . . . .", "and so on ...."],
        ["Germany 83", "France 68", "Italy 59", "Spain 48", "Poland 37", "Greece 10", "Malta 1"],
        ["Germany 83000", "Greece 93000", "Malta 94000", "Spain 95000", "Poland 96000", "France 97000", "Italy 98000"],
        ["January 2021", "February 2021", "March 2021", "April 2021", "May 2021", "June 2021", "July 2021"],
        ["Total: 1", "Total: 2", "Total: 3", "Total: 4", "Total: 5", "Total: 6", "Total: 7"],
        [],
        [""],
    ],
)
def test_other_lines_are_text(lines: list[str]) -> None:
    assert find(*lines) == []


def test_entries_that_are_most_of_a_text_are_the_text() -> None:
    menu = ["Menu", "Coffee . . . . 3", "Tea . . . . . 2", "Water . . . . 1", "Soup . . . . 5"]
    assert find_contents([menu, ["We are open all day."]]) == [[False] * 5, [False]]


def test_entries_of_plain_text_have_leaders_and_numbers_that_never_go_down() -> None:
    contents = ["Contents", "Foreword ...... ii", "1. Travel . . . . . 3", "2. Money . . . . . 3", "3. Forms . . . . . 12"]
    prices = ["Coffee ........ 3", "Tea ........ 2", "Water ........ 1", "Soup ........ 5"]
    lines = ["A manual of the office.", *contents, *PROSE, *prices, *PROSE]
    assert [line for line, is_found in zip(lines, find_dotted(lines), strict=True) if is_found] == contents
    assert not any(find_dotted(contents))


def test_leaders_are_no_words() -> None:
    assert without_leaders("2.1 Travel and money . . . . . . 12") == "2.1 Travel and money 12"


@given(st.lists(st.lists(st.text(alphabet="ab1. ,…·_iv", max_size=30).map(str.strip), max_size=12), max_size=5))
def test_any_lines_have_an_answer_each(pages: list[list[str]]) -> None:
    assert [len(found) for found in find_contents(pages)] == [len(lines) for lines in pages]
    assert [len(find_dotted(lines)) for lines in pages] == [len(lines) for lines in pages]


@pytest.mark.parametrize(
    "line", [". " * 50_000, "a " * 50_000 + "1", "." * 100_000 + " 1 x", "a, " * 40_000 + "1", "…" * 50_000, "1 " * 50_000]
)
def test_long_line_costs_little(line: str) -> None:
    began = time.process_time()
    find_contents([[line] * 3, ["a"]])
    assert time.process_time() - began < 1
