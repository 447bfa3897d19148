import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.urls.expressions import MAX_EXPRESSION_CHARACTERS, MAX_TEXT_CHARACTERS, Expression
from feedmill.core.urls.patterns import parse_pattern
from feedmill.model.errors import BadRequest
from tests.anytext import any_text

_PIECES = [
    "a",
    "(",
    ")",
    "(?:",
    "|",
    "*",
    "+",
    "?",
    "{2,}",
    "{1000}",
    "[^/]",
    "[[:alpha:]]",
    "\\",
    "\\w",
    "^",
    "$",
    ".",
    "(?=",
    "(?i)",
    "\\1",
    "\u00e9",
    "[",
    "]",
]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a(b", "at position 2"),
        ("a)b", "at position 2"),
        ("ab[z-a]", "invalid character class range, at position 4"),
        (r"(a)x\1", "a back reference cannot be run in linear time, at position 5"),
        (r"(?P<n>a)(?P=n)", "a back reference cannot be run in linear time, at position 9"),
        ("x(?=a)", "looking around cannot be run in linear time, at position 2"),
        ("x(?!a)", "looking around cannot be run in linear time, at position 2"),
        ("xy(?<=a)b", "looking around cannot be run in linear time, at position 3"),
        (r"a\\.b(?<!a)b", "looking around cannot be run in linear time, at position 6"),
        ("x(?>a)", "this kind of group cannot be run in linear time, at position 2"),
        ("xa*+", "at position"),
        ("ab{2000}", "more than 1,000 repetitions, at position 3"),
        ("[[a]]", "no regular expression"),
        ("x\ud800", "half a character at position 2"),
        ("a{0,900}b{0,900}c{0,900}d{0,900}", "is too large"),
        ("x" * (MAX_EXPRESSION_CHARACTERS + 1), "is longer than"),
        ("", "is missing"),
    ],
)
def test_expression_that_cannot_be_run_is_refused_with_its_place(expression: str, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        Expression(expression)
    assert message in str(refused.value)


@pytest.mark.parametrize("expression", ["(a|a)*$", "(a+)+b", r"(\w+){2,}x", "(?:[^/]*)*x", "(a|aa)+$", "(.*a){20}", "(x?){200}x{200}"])
@pytest.mark.parametrize("sign", ["a", "x", "/", "\u00e9"])
def test_expression_takes_time_that_grows_with_the_text_alone(expression: str, sign: str) -> None:
    pattern = parse_pattern(f"regexp:{expression}")
    begun = time.thread_time()
    for _ in range(5):
        pattern.matches(f"http://a.test/{sign * MAX_TEXT_CHARACTERS}!")
    assert time.thread_time() - begun < 10.0


@pytest.mark.parametrize(
    ("expression", "text", "is_found"),
    [
        (r"a\Z", "ba", True),
        (r"a\Z", "ab", False),
        (r"a\\Z", "ba", True),
        (r"\\d\\d", "x12", True),
        (r"[[:upper:]][[:digit:]]", "xA1", True),
        ("(?i)abc", "xABC", True),
        ("(?P<host>a)", "a", True),
        ("gr\u00f6\u00dfe", "/gr\u00f6\u00dfe/", True),
        ("a.c", "a\ud800c", True),
        (r"\x2f$", "a/", True),
        ("a{2,3}$", "baa", True),
    ],
)
def test_expression_is_found_anywhere(expression: str, text: str, is_found: bool) -> None:
    assert Expression(expression).is_in(text) is is_found


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join) | any_text(), any_text())
def test_expression_any_text_is_run_or_refused(text: str, url: str) -> None:
    for sign in ("regexp", "regexpCase", "regexpIgnoreCase", "contains", "www?"):
        try:
            pattern = parse_pattern(f"{sign}:{text}")
        except BadRequest:
            continue
        pattern.matches(url)
