import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.ranking.collapsing import PER_DIRECTORY, ResultCollapser, directory_of
from feedmill.model.results import Collapsing, Result, Snippet
from tests.builders.results import make_result


def result(url: str, text: str) -> Result:
    return make_result(url, snippet=Snippet(text=text))


@pytest.mark.parametrize(
    ("url", "directory"),
    [
        ("http://a.com", "http://a.com/"),
        ("http://a.com/b/c?d=/e/f#/g", "http://a.com/b/"),
        ("http://a.com/b/", "http://a.com/b/"),
        ("\\\\host\\share", "\\\\host\\share"),
    ],
)
def test_directory_of_url_is_all_to_the_last_slash(url: str, directory: str) -> None:
    assert directory_of(url) == directory


def test_collapser_second_of_a_directory_moves_below_the_first_on_its_page() -> None:
    collapser = ResultCollapser(Collapsing())
    collapser.add_results(
        [
            result("http://a/d/1", "1"),
            result("http://b/1", "2"),
            result("http://a/d/2", "3"),
            result("http://a/d/3", "4"),
        ]
    )
    page = collapser.page(0, 10)
    assert [(one.url, one.is_second, one.more_in) for one in page] == [
        ("http://a/d/1", False, ""),
        ("http://a/d/2", True, "http://a/d/"),
        ("http://b/1", False, ""),
    ]
    assert [(one.url, one.is_second, one.more_in) for one in collapser.page(2, 1)] == [("http://a/d/2", False, "http://a/d/")]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5))), st.integers(1, 7), st.integers(1, 5))
def test_collapser_pages_hold_each_shown_result_once_whatever_the_steps(found: list[tuple[int, int]], step: int, num: int) -> None:
    results = [result(f"http://a/{directory}/{place}", str(text)) for place, (directory, text) in enumerate(found)]
    collapser = ResultCollapser(Collapsing())
    for begin in range(0, len(results), step):
        collapser.add_results(results[begin : begin + step])
    shown = [one.url for start in range(0, len(results), num) for one in collapser.page(start, num)]
    assert sorted(shown) == sorted(each.url for each in collapser.shown)
    assert len(shown) + collapser.left_out == len(results)
    directories = [directory_of(url) for url in shown]
    assert all(directories.count(directory) <= PER_DIRECTORY for directory in directories)
    assert len({each.snippet.text for each in collapser.shown}) == len(collapser.shown)
