"""Headings of a PDF without an outline by the size of its letters, and paragraphs by the places of its lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.readers.pdfsizes import Measure, find_headings, find_paragraphs
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
    measures = [[Measure(size) for size, _ in page] for page in pages]
    return [(each.level, each.words) for each in find_headings(lines, measures, left_out or [set() for _ in pages])]


def place(*lines: tuple[float, float, float, str]) -> list[str]:
    """Returns the paragraphs of lines. Shape: of each its left and right end, its distance from the line before, and its words."""
    foot = 0.0
    measures = []
    for left, right, step, words in lines:
        foot -= step
        measures.append(Measure(10, left, foot, left, right, foot, (right - left) / len(words)))
    going_on = find_paragraphs([words for *_, words in lines], measures)
    text = "".join(words + (" " if goes_on else "|") for (*_, words), goes_on in zip(lines, going_on, strict=True))
    return text.removesuffix("|").split("|")


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


def test_paragraph_goes_on_where_the_next_word_had_no_room() -> None:
    assert place(
        (50, 240, 12, "A ragged line whose next word is"),
        (50, 232, 12, "nevertheless long, goes on; and"),
        (50, 120, 12, "this is its end."),
        (50, 236, 12, "Another paragraph begins there,"),
        (50, 100, 12, "and ends."),
    ) == ["A ragged line whose next word is nevertheless long, goes on; and this is its end.", "Another paragraph begins there, and ends."]


def test_paragraph_ends_at_a_gap_an_indent_and_an_entry_of_a_list() -> None:
    full = "a line that fills all of its column"
    assert place((50, 250, 12, full), (50, 250, 12, full), (50, 250, 20, full), (50, 250, 12, full)) == [f"{full} {full}"] * 2
    assert place((50, 250, 12, full), (65, 250, 12, full), (50, 250, 12, full)) == [full, f"{full} {full}"]
    assert place((50, 250, 12, full), (65, 250, 12, full), (65, 250, 12, full)) == [f"{full} {full} {full}"]
    assert place((50, 250, 12, full), (50, 250, 12, f"2. {full}"), (62, 250, 12, full)) == [full, f"2. {full} {full}"]


def test_rows_of_a_table_stay_rows() -> None:
    rows = ["Travel by train 1,200 1,310", "Travel by air 900 850", "Hotels 77 81"]
    assert place(*[(50, 250, 12, row) for row in rows]) == rows
    cells = ["octave start a session", "octave file run the commands", "octave --help describe the options of it"]
    assert place(*[(50, 50 + 5.0 * len(cell), 12, cell) for cell in cells]) == cells


def test_line_of_a_script_without_blanks_goes_on_where_it_is_full() -> None:
    first, last, other = "文書は一度だけ読まれ、その言葉は索引に", "書かれます。人は", "それで見つけます。早く簡単に確実に、いつも"
    assert place((50, 250, 12, first), (50, 150, 12, last), (50, 250, 12, other)) == [f"{first} {last}", other]


def test_lines_whose_places_are_not_known_end_there() -> None:
    assert find_paragraphs(["a", "", "b"], [Measure(), Measure(), Measure()]) == [False] * 3
    assert find_paragraphs([], []) == []


def test_pdf_has_paragraphs_by_the_places_of_its_lines() -> None:
    found = read(
        [
            (10, "Each document is read once, and its words"),
            (10, "go on."),
            (10, "The index is the place where people look"),
            (10, "1. first"),
        ]
    )
    blocks = build_blocks(found.text, decode_structure(found.structure), found.headings)
    assert [found.text[block.start : block.end] for block in blocks] == [
        "Each document is read once, and its words\ngo on.",
        "The index is the place where people look",
        "1. first",
    ]


def test_word_divided_at_the_end_of_a_line_keeps_the_places_of_both_parts() -> None:
    pages = [[(10, "Each document is read once, and its ma-"), (10, "ny words go into the index, where people"), (10, "find them.")]]
    data = make_sized_pdf(pages)
    found = extract(Task(key=1, url="http://h/f.pdf", mimetype=None, data=data), ExtractionLimits())
    blocks = build_blocks(found.text, decode_structure(found.structure), found.headings)
    assert [found.text[block.start : block.end] for block in blocks] == [
        "Each document is read once, and its many words go into the index, where people\nfind them."
    ]


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
    measures = [
        [Measure(size, 0, -20.0 * number, 0, len(line), -20.0 * number, size and 1) for number, (size, line) in enumerate(page)]
        for page in pages
    ]
    found = find_headings(lines, measures, [set() for _ in pages])
    assert [len(find_paragraphs(*each)) for each in zip(lines, measures, strict=True)] == list(map(len, lines))
    assert [(each.page, each.first) for each in found] == sorted({(each.page, each.first) for each in found})
    assert all(" ".join(lines[each.page][each.first : each.end]) == each.words for each in found)
    assert find_headings(lines, [[] for _ in pages], [set() for _ in pages]) == []
