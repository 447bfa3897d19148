"""Titles lose the name of their site where most results of its host end with it."""

import pytest

from feedmill.http.search.titles import MAX_SHOWN_TITLE, find_site_ends, is_named_by, shorten_title, show_title, skip_heading
from feedmill.model.results import Marks, Result, Snippet
from tests.builders.results import make_result


def make_titles(*titles: str, host: str = "docs.example.com") -> list[Result]:
    return [make_result(f"http://{host}/{number}", title=title) for number, title in enumerate(titles)]


def show(results: list[Result]) -> list[str]:
    ends = find_site_ends(results)
    return [show_title(result, ends).text for result in results]


@pytest.mark.parametrize(
    "end", [" — Python 3.11 documentation", " - Django", " | Well-known site", ": Reference Manual", " · 水鳥", " (the lake)"]
)
def test_end_that_most_titles_of_a_host_have_is_left_out(end: str) -> None:
    assert show(make_titles(f"Herons{end}", f"On - Lakes{end}", f"Nests{end}", "Other")) == ["Herons", "On - Lakes", "Nests", "Other"]


@pytest.mark.parametrize(
    ("title", "is_same"),
    [
        ("Herons", True),
        ("Herons — Birds of the lake", True),
        ("Herons - Birds", True),
        ("Herons of the lake", False),
        ("Nests - Herons", False),
        ("", False),
    ],
)
def test_title_is_a_heading_with_or_without_the_name_of_its_site(title: str, is_same: bool) -> None:
    assert is_named_by(title, "Herons") is is_same
    assert not is_named_by(title, "")


def test_end_of_few_titles_or_of_several_hosts_stays() -> None:
    few = make_titles("Herons - Birds", "Nests - Birds")
    assert show(few) == ["Herons - Birds", "Nests - Birds"]
    assert show([*few, *make_titles("Lakes - Birds", host="other.example.com")])[0] == "Herons - Birds"
    others = make_titles("Herons - Birds", "Nests - Birds", "Lakes - Birds", "Rain - Sky", "Snow - Sky")
    assert show(others)[0] == "Herons - Birds"
    assert show(make_titles("Same - Birds", "Same - Birds", "Same - Birds"))[0] == "Same - Birds"


def test_number_in_parentheses_is_no_name_of_a_site() -> None:
    assert show(make_titles("fork (2)", "open (2)", "read (2)")) == ["fork (2)", "open (2)", "read (2)"]


def test_end_with_a_word_of_the_query_stays() -> None:
    results = make_titles("Herons - Birds", "Nests - Birds", "Lakes - Birds")
    marked = make_result("http://docs.example.com/9", title="Rain - Birds", title_marks=((0, 4), (7, 12)))
    assert show([*results, marked])[-2:] == ["Lakes", "Rain - Birds"]


def test_title_that_is_only_an_end_or_none_is_no_error() -> None:
    odd = [make_result("http://docs.example.com/8", title=None), make_result("http://[", title=" - Birds")]
    assert show([*make_titles("Herons - Birds", "Nests - Birds", "Lakes - Birds"), *odd])[-2:] == ["", " - Birds"]


def test_long_title_is_cut_after_a_word_with_the_marks_before() -> None:
    title = shorten_title("word " * 60, ((0, 4), (200, 204)))
    assert len(title.text) <= MAX_SHOWN_TITLE + 2
    assert (title.text[-2:], title.marks) == (" …", ((0, 4),))


@pytest.mark.parametrize(
    ("text", "marks", "title", "shown"),
    [
        ("Travel · Trains come first; travel late.", ((0, 6), (29, 35)), "Travel", ("Trains come first; travel late.", ((20, 26),))),
        ("Travel · Trains come first; travel late.", ((29, 35),), "Travel – Example Ltd", ("Trains come first; travel late.", ((20, 26),))),
        ("Travel · Trains come first.", (), "Travel", ("Trains come first.", ())),
        # the only mark is in the heading
        ("Travel · Trains come first.", ((0, 6),), "Travel", None),
        ("Travel · Trains come first; travel late.", ((29, 35),), "Travels", None),
        ("… Travel · Trains, travel", ((19, 25),), "Travel", None),
        ("Travel", ((0, 6),), "Travel", None),
        ("Travel · ", ((0, 6),), "Travel", None),
        (" · Trains", (), "", None),
    ],
)
def test_skip_heading_leaves_out_the_title_that_stands_above(text: str, marks: Marks, title: str, shown: tuple[str, Marks] | None) -> None:
    snippet = Snippet(text=text, marks=marks)
    assert skip_heading(snippet, title) == (snippet if shown is None else Snippet(text=shown[0], marks=shown[1]))
