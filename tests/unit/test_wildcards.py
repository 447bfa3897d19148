import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.language import parse_query
from feedmill.core.query.text import render_query
from feedmill.core.text.analysis import fold_words
from feedmill.core.text.snippets import make_snippet
from feedmill.core.text.wildcards import compile_wildcard, fold_wildcard, is_wildcard
from feedmill.model.query import And, InTitle, Not, Phrase, Wildcard, Word


@pytest.mark.parametrize("text", ["cell*", "c*t", "colo*r", "a*b*c", "Käse*", "x1*", "ab**", "c*l*"])
def test_word_with_a_star_behind_its_first_letter_is_a_wildcard(text: str) -> None:
    assert is_wildcard(text)
    assert parse_query(text).root == Wildcard(text)


@pytest.mark.parametrize("text", ["*", "*cell", "a*", "cell", "a-b*", "$*", "休*", "a*b*c*d*e*f*g", "", "a_*", "x*'s"])
def test_other_words_are_none(text: str) -> None:
    assert not is_wildcard(text)


def test_wildcards_stand_where_words_do() -> None:
    assert parse_query("red cell* -bat*").root == And((Word("red"), Wildcard("cell*"), Not(Wildcard("bat*"))))
    assert parse_query("+cell*").root == Word("cell*", is_fixed=True)
    assert parse_query('"cell* phone"').root == Phrase("cell* phone")
    assert parse_query("allintitle:cell*").root == InTitle("cell*")


def test_wildcards_are_folded_and_mean_whole_words() -> None:
    wanted = compile_wildcard(fold_wildcard("KÄ*e"))
    assert fold_wildcard("KÄ*e") == "ka*e"
    assert [word for word in ("kae", "kase", "kaese", "kasen", "ake") if wanted.fullmatch(word)] == ["kae", "kase", "kaese"]


def test_wildcards_are_marked_in_snippets() -> None:
    snippet = make_snippet("hay " * 400 + "the Cellar and cells, a cancellation", ("cell*",), fold_words)
    assert [snippet.text[low:high] for low, high in snippet.marks] == ["Cellar", "cells"]


@given(st.text(alphabet='ab*+- "ä休', max_size=15))
def test_queries_with_stars_never_raise_and_come_back(text: str) -> None:
    root = parse_query(text).root
    assert parse_query(render_query(root)).root == root


@given(st.from_regex(re.compile(r"[a-c]{2}[a-c*]{0,5}"), fullmatch=True), st.text(alphabet="abc", max_size=8))
def test_wildcards_mean_what_the_pieces_in_order_do(text: str, word: str) -> None:
    if is_wildcard(text):
        expected = re.fullmatch(text.replace("*", "[a-c]*"), word) is not None
        assert (compile_wildcard(fold_wildcard(text)).fullmatch(word) is not None) == expected


def test_is_wildcard_very_many_stars_is_decided_at_once() -> None:
    """Were there two ways to share the stars out, it would take for ever."""
    assert not is_wildcard("a" + "*" * 5_000 + "-")
    assert parse_query("a" + "*" * 5_000 + "-").root is not None
