"""Passages hold the whole text and end where a reader would pause."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.passages import LEAST_CHARACTERS, MOST_CHARACTERS, split_passages, split_ranges

TEXTS = st.text(st.sampled_from("ab. \n!?。é𐀀\u2028"), max_size=4_000)


@given(TEXTS)
def test_passages_hold_every_character_that_is_no_blank_once(text: str) -> None:
    passages = split_passages(text)
    assert "".join("".join(passage.text.split()) for passage in passages) == "".join(text.split())


@given(TEXTS)
def test_passages_stand_where_they_say_and_are_bounded(text: str) -> None:
    passages = split_passages(text)
    assert all(text[passage.start : passage.end] == passage.text for passage in passages)
    assert all(0 < len(passage.text) <= MOST_CHARACTERS and passage.text == passage.text.strip() for passage in passages)
    assert [passage.start for passage in passages] == sorted(passage.start for passage in passages)


@pytest.mark.parametrize(
    ("boundary", "before"),
    [("\n\n", "word. " * 90 + "end"), ("\n", "word " * 90 + "end"), (". ", "word " * 90 + "end"), ("。", "字" * 600)],
)
def test_passage_ends_at_the_strongest_boundary_within_its_length(boundary: str, before: str) -> None:
    text = before + boundary + "x" * MOST_CHARACTERS
    assert split_passages(text)[0].text == (before + boundary).rstrip()


def test_short_lines_belong_to_one_passage() -> None:
    assert len(split_passages("Heading\n\nFirst line\n\nSecond line")) == 1


def test_passage_without_blanks_ends_at_the_most_characters() -> None:
    assert [len(passage.text) for passage in split_passages("x" * 2_500)] == [1_000, 1_000, 500]


def test_blank_text_has_no_passages() -> None:
    assert split_passages(" \n\t ") == []


def test_limit_bounds_the_number_of_passages() -> None:
    text = "word " * 2_000
    assert split_passages(text, limit=3) == split_passages(text)[:3]
    assert len(split_passages(text)[0].text) >= LEAST_CHARACTERS


def test_passages_of_ranges_stand_where_they_are_in_the_whole_text() -> None:
    text = "one two|hidden|three four"
    assert [(each.text, text[each.start : each.end]) for each in split_ranges(text, [(0, 7), (15, 25)])] == [
        ("one two", "one two"),
        ("three four", "three four"),
    ]
    assert [each.text for each in split_ranges(text, [(0, 7), (15, 25)], limit=1)] == ["one two"]
