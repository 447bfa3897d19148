import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.urls.wildcards import matches_wildcards


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("http://a/dir/*", "http://a/dir/page", True),
        ("http://a/dir/*", "http://a/dir/", True),
        ("http://a/dir/*", "http://a/dirt", False),
        ("*", "", True),
        ("http://a/b", "http://a/b", True),
        ("http://a/b", "http://a/bc", False),
        ("*.html", "http://a/b.html", True),
        ("http://a/?q=1", "http://a/xq=1", False),
        ("aba*aba", "ababa", False),
        ("A*", "a", False),
    ],
)
def test_star_means_any_characters(pattern: str, url: str, matches: bool) -> None:
    assert matches_wildcards(pattern, url) is matches


@given(pattern=st.text("ab*", max_size=8), url=st.text("ab", max_size=10))
def test_any_pattern_matches_as_its_regular_expression_does(pattern: str, url: str) -> None:
    expression = ".*".join(map(re.escape, pattern.split("*")))

    assert matches_wildcards(pattern, url) is (re.fullmatch(expression, url) is not None)
