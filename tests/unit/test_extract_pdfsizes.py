"""Headings of a PDF without an outline, by the size of its letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.readers.pdfsizes import find_headings
from feedmill.core.text.structure import HEADINGS, decode_structure
from feedmill.core.text.textblocks import build_blocks
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from tests.officefiles import make_sized_pdf

Line = tuple[float, str]
PROSE: list[Line] = [
    (10, "Each document is read once, and its words"), (10, "go into the index, where people find them"), (10, "again with little effort."),
]  # fmt: skip


def find(*pages: list[Line], left_out: list[set[int]] | None = None) -> list[tuple[int, str]]:
    """Returns the level and the words of each heading."""
    lines = [[line for _, line in page] for page in pages]
    sizes = [[size for size, _ in page] for page in pages]
    return [(each.level, each.words) for each in find_headings(lines, sizes, left_out or [set() for _ in pages])]


def read(*pages: list[Line], title: str = "") -> Extraction:
    return extract(Task(key=1, url="http://h/f.pdf", mimetype=None, data=make_sized_pdf(pages, title)), ExtractionLimits())


def test_lines_of_larger_letters_are_headings_with_levels_by_their_size() -> None:
    pages = [
        [(18.0, "Travel"), *PROSE, (14.0, "1 Booking"), *PROSE],
        [(14.0, "2 What to do when"), (14.0, "a train is late"), *PROSE, (12.0, "目次"), *PROSE],
    ]
    assert find(*pages) == [(0, "Travel"), (1, "1 Booking"), (1, "2 What to do when a train is late"), (2, "目次")]


@pytest.mark.parametrize(
    "line",
    [
        "Note:",
        "12",
        "x + y = z",
        "(see below)",
        r"\newcommand{\x}",
        "A",
        "• • •",
        "A sentence in large letters that ends like a sentence.",
        "and so on,",
        "word " * 40,
    ],
)
def test_other_large_lines_are_no_headings(line: str) -> None:
    assert find([*PROSE * 9, (14, line.strip()), *PROSE]) == []


def test_many_lines_of_large_letters_are_text() -> None:
    assert find([*PROSE * 9, *[(14.0, "large letters here")] * 4, *PROSE]) == []
    summary: list[Line] = [(12, "Each day has its own line"), (0, ""), (12, "And so has each night"), (0, "")]
    assert find([*summary * 3, *PROSE]) == []


def test_labels_that_repeat_are_no_headings() -> None:
    assert find([(12, "Note"), *PROSE, (12, "Note"), *PROSE, (12, "Forms"), *PROSE, (12, "NOTE"), *PROSE]) == [(0, "Forms")]


def test_names_below_the_title_are_no_headings() -> None:
    assert find([(18, "Travel"), (0, ""), (12, "Ann Author, May 2021"), *PROSE, (12, "Booking"), *PROSE]) == [(0, "Travel"), (1, "Booking")]
    assert find([(18, "Travel"), (12, "1 Booking"), *PROSE]) == [(0, "Travel"), (1, "1 Booking")]


def test_running_headers_are_no_headings() -> None:
    assert find([(14, "Annual Report"), *PROSE, (14, "Money"), *PROSE], left_out=[{0}]) == [(0, "Money")]


def test_pdf_without_an_outline_has_headings_and_a_title_by_size() -> None:
    found = read([(18, "Travel guide"), *PROSE, (14, "Booking a flight"), *PROSE])
    assert (found.title, found.headings) == ("Travel guide", "Travel guide\nBooking a flight")
    blocks = build_blocks(found.text, decode_structure(found.structure), found.headings)
    assert [found.text[block.start : block.end] for block in blocks if block.kind in HEADINGS] == ["Travel guide", "Booking a flight"]
    assert read([(18, "Travel guide"), *PROSE], title="Named").title == "Named"


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from([0, 8, 10, 12, 20]), st.text(alphabet="ab1 .:\\({", max_size=12).map(str.strip)), max_size=9),
        max_size=4,
    )
)
def test_any_lines_have_headings_in_order_that_are_lines(pages: list[list[Line]]) -> None:
    lines = [[line for _, line in page] for page in pages]
    found = find_headings(lines, [[size for size, _ in page] for page in pages], [set() for _ in pages])
    assert [(each.page, each.first) for each in found] == sorted({(each.page, each.first) for each in found})
    assert all(" ".join(lines[each.page][each.first : each.end]) == each.words for each in found)
    assert find_headings(lines, [[] for _ in pages], [set() for _ in pages]) == []
