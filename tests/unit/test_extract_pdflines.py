"""The text of PDF pages: what is a heading, what is main text, and what is navigation."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.readers.pdflines import OutlineTitle, arrange
from feedmill.adapters.extract.structure import END, mark, mark_heading, only_structure, without_structure
from feedmill.core.text.structure import Kind

PROSE = ("A line of the text that is as long as", "most of the lines of this page are, and", "this is its last line.")
LINK = mark(Kind.LINK)


def read(*pages: list[str], outline: tuple[OutlineTitle, ...] = ()) -> tuple[list[str], list[str]]:
    """Returns the lines of the main text, headings with their level before them, and those of the navigation."""
    text, navigation, *_ = arrange(["\n".join(page) for page in pages], outline)
    for level in range(1, 7):
        text = re.sub(f"{re.escape(mark_heading(level))}([^{END[0]}]*){re.escape(END)}", rf"h{level} \1", text)
    return [line for line in without_structure(text).replace("\f", "").split("\n") if line], navigation.split("\n")


def test_table_of_contents_is_navigation_and_a_sign_stands_for_it() -> None:
    contents = ["Contents", "1 Introduction . . . . . 1", "2 Travel money . . . . . 2", "3 Forms . . . . . . . . 3"]
    main, navigation = read(["The manual.", *contents, *PROSE], [*PROSE], [*PROSE])
    assert main == ["The manual.", "…", *PROSE * 3]
    assert navigation == ["Contents", "1 Introduction 1", "2 Travel money 2", "3 Forms 3"]


def test_table_of_contents_on_several_pages_leaves_one_sign() -> None:
    contents = [["Manual i", *[f"{number} Part . . . . . {number}" for number in range(page, page + 6)]] for page in (1, 7, 13)]
    main, _ = read(["The manual.", *PROSE], *contents, ["1 Part", *PROSE], [*PROSE], [*PROSE], [*PROSE])
    assert main[:6] == ["The manual.", *PROSE, "…", "1 Part"]


def test_number_of_a_page_before_a_heading_is_no_part_of_it() -> None:
    main, _ = read(["1", "1 Introduction", *PROSE], outline=(OutlineTitle("1 Introduction", 0, 0),))
    assert main == ["1", "h1 1 Introduction", *PROSE]


def test_running_headers_and_footers_are_navigation_once() -> None:
    words = ["one", "two", "three", "four", "five"]
    texts = [[f"{word}: {line}" for line in (*PROSE, "And so on.")] for word in words]
    main, navigation = read(*[["Annual Report", *text, f"Page {number} of 5"] for number, text in enumerate(texts, 1)])
    assert main == [line for text in texts for line in text]
    assert navigation == ["Annual Report", *[f"Page {number} of 5" for number in range(1, 6)]]


def test_short_pages_keep_what_they_repeat() -> None:
    slides = [["Agenda", "First", "Second"], ["Agenda", "Third"], ["Agenda", "Last"]]
    assert read(*slides) == ([line for slide in slides for line in slide], [""])


def test_document_that_is_a_table_of_contents_is_its_text() -> None:
    index = ["Index", *[f"{word}, 3, 12" for word in ("accept", "address", "agree", "air", "allow", "answer", "approve", "arrive")]]
    assert read(index, index) == (index * 2, [""])


def test_title_of_the_outline_is_a_heading_on_its_page_alone() -> None:
    outline = (OutlineTitle("Travel money", 1, 1),)
    main, _ = read(
        ["Travel money", *PROSE], ["Travel money", *PROSE, "2.1 Travel money", *PROSE], ["Travel money", *PROSE], outline=outline
    )
    assert [line for line in main if "Travel" in line] == ["Travel money", "Travel money", "h2 2.1 Travel money", "Travel money"]


def test_title_on_several_lines_with_other_signs_is_a_heading() -> None:
    outline = (
        OutlineTitle("Chapter 2. How to “ﬁle” a travel expense", 0, 0),
        OutlineTitle("1 Money: an overview", 1, 0),
        OutlineTitle("A Notes", 0, 0),
    )
    main, _ = read(
        ["Chapter 2", 'How to "file" a', "TRAVEL EXPENSE", *PROSE, "Money - an overview", *PROSE, "Appendix A Notes"], outline=outline
    )
    assert main == ['h1 Chapter 2 How to "file" a TRAVEL EXPENSE', *PROSE, "h2 Money - an overview", *PROSE, "h1 Appendix A Notes"]


def test_title_on_the_page_behind_is_a_heading_and_one_that_no_page_has_is_none() -> None:
    main, _ = read(
        [*PROSE], ["Forms", *PROSE], outline=(OutlineTitle("Forms", 0, 0), OutlineTitle("Missing", 0, 1), OutlineTitle("", 0, 9))
    )
    assert main == [*PROSE, "h1 Forms", *PROSE]


def test_titles_without_a_page_are_headings_as_often_as_the_outline_has_them() -> None:
    outline = (OutlineTitle("Example", 1, None), OutlineTitle("Example", 2, None))
    main, _ = read(["1.1 Example", *PROSE, "Example", *PROSE, "Example"], outline=outline)
    assert main == ["h2 1.1 Example", *PROSE, "h3 Example", *PROSE, "Example"]


def test_marks_of_links_in_navigation_stay_in_the_main_text() -> None:
    contents = [f"{LINK}{number} Part{END} . . . . . {number}" for number in range(1, 6)]
    text, navigation, *_ = arrange(["\n".join([*contents, f"A {LINK}link{END}.", *PROSE]), "\n".join(PROSE * 3)], ())
    assert text.count(LINK) == 6
    assert only_structure(navigation) == ""


@given(
    st.lists(
        st.lists(st.sampled_from(["", "a 1", "a . . . . 2", "B", "A long line. It ends", "1.2 B", "b, 3", "7"]), max_size=12), max_size=6
    )
)
def test_every_word_is_in_the_main_text_or_the_navigation(pages: list[list[str]]) -> None:
    outline = (OutlineTitle("B", 0, 0), OutlineTitle("A", 1, 1), OutlineTitle("a 1 B", 2, 0))
    text, navigation, *_ = arrange(["\n".join(page) for page in pages], outline)
    words = set(re.findall(r"\w+", without_structure(text) + "\n" + navigation))
    assert words == {word for page in pages for line in page for word in re.findall(r"\w+", line)}


def test_page_of_many_lines_and_titles_costs_little() -> None:
    outline = tuple(OutlineTitle(f"title {number}", 0, 0) for number in range(200))
    began = time.process_time()
    arrange(["\n".join(["title", "a title 1 . . . . 3"] * 50_000)], outline)
    assert time.process_time() - began < 10
