"""Fingerprints of texts, and the groups that they make of a result list."""

import random
from collections.abc import Sequence

import pytest

from feedmill.core.ranking.nearduplicates import GROUPED, GroupedWalk, group_alike, group_page
from feedmill.core.text.fingerprints import (
    FINGERPRINT_BITS,
    PART_BITS,
    find_alike,
    find_fingerprint,
    is_alike,
    join_fingerprint,
    split_fingerprint,
)
from feedmill.model.search import Hit

WORDS = "river stone lamp winter garden letter engine cloud market bridge copper window".split()


def make_text(seed: int, sentences: int = 60, changed: int = 0) -> str:
    """Returns a text of its own for each seed, of which some sentences at the end are changed."""
    choice = random.Random(seed)
    kept = [" ".join(choice.choices(WORDS, k=9)) for _ in range(sentences)]
    return ". ".join([*kept[: sentences - changed], *(f"another sentence with the number {number}" for number in range(changed))])


def test_texts_that_are_nearly_the_same_are_alike() -> None:
    for seed in range(20):
        whole = find_fingerprint(make_text(seed))
        assert 0 < whole < 1 << FINGERPRINT_BITS
        others = [make_text(seed, changed=1), make_text(seed, changed=20), make_text(seed + 1_000)]
        marks = [whole, *map(find_fingerprint, others)]
        assert find_alike(marks) == [(0, 1)]
        assert [is_alike(one, other) for one in marks for other in (*marks, 0)].count(True) == len(marks) + 2
    assert not is_alike(0, 0)


def test_layout_does_not_count() -> None:
    text = make_text(1)
    assert find_fingerprint(text) == find_fingerprint(text.replace(". ", ".\n\n   "))


@pytest.mark.parametrize(
    "text", ["", "one sentence", "the same sentence again. " * 50, make_text(1, sentences=2), "a. b. c. " * 50, "é" * 999]
)
def test_a_text_that_says_little_has_no_fingerprint(text: str) -> None:
    assert find_fingerprint(text) == 0


@pytest.mark.parametrize("sentences", [3, 9])
def test_a_text_of_few_sentences_is_like_the_same_text_only(sentences: int) -> None:
    text = make_text(1, sentences)
    same, *others = text.replace(". ", ".\n\n   "), text.replace("river", "rivers"), f"{text}.", text.upper()
    marks = [find_fingerprint(one) for one in (text, same, *others)]
    assert all(marks)
    assert find_alike(marks) == [(0, 1)]


def test_long_text_without_sentences_has_no_fingerprint() -> None:
    table = "A long row of a table without an end. And another one! " + "1 2 3 " * 4_000
    assert find_fingerprint(table) == 0


def test_texts_of_one_pattern_are_not_alike() -> None:
    pattern = [f"sentence {number} of the pattern that all pages have" for number in range(30)]
    pages = [". ".join([*pattern, *(f"page {page} says this {number} of its own" for number in range(15))]) for page in range(100)]
    assert find_alike([find_fingerprint(page) for page in pages]) == []


def test_halves_make_the_fingerprint() -> None:
    mark = find_fingerprint(make_text(1))
    assert join_fingerprint(*split_fingerprint(mark)) == mark
    assert max(split_fingerprint(mark)) < 1 << PART_BITS
    assert (join_fingerprint(5, 0), join_fingerprint(0, 5), split_fingerprint(0)) == (0, 0, (0, 0))


def test_hits_stand_for_those_alike_in_their_order() -> None:
    one, other = find_fingerprint(make_text(1)), find_fingerprint(make_text(2))
    hits = [Hit(key=key, score=9.0 - key, fingerprint=mark) for key, mark in enumerate((one, 0, other, one ^ 0b101, 0, other, one))]
    assert [(hit.key, hit.alike) for hit in group_alike(hits)] == [(0, (3, 6)), (1, ()), (2, (5,)), (4, ())]


def list_documents(hits: Sequence[Hit]) -> list[int]:
    return [key for hit in hits for key in (hit.key, *hit.alike)]


@pytest.mark.parametrize("total", [5, 99, 100, 101, 130])
def test_pages_of_a_grouped_list_hold_each_document_once(total: int) -> None:
    marks = [find_fingerprint(make_text(seed)) for seed in range(7)]
    hits = [Hit(key=key, score=0.0, fingerprint=marks[key // 2 % 7] if key % 3 else 0) for key in range(total)]
    found: list[int] = []
    folded = set()
    for start in range(0, total, 10):
        page = group_page(hits[:GROUPED], start, 10, lambda begin, num: hits[begin : begin + num])
        assert page.before == len(found) or not page.hits
        found += list_documents(page.hits)
        folded.add(page.folded)
    assert sorted(found) == list(range(total))
    assert len(folded) == 1


def walk(hits: Sequence[Hit], start: int, num: int) -> GroupedWalk:
    """Adds hits until the page is full and another row follows."""
    made = GroupedWalk(start, num, is_grouped=True)
    for hit in hits:
        made.add(hit)
        if len(made.rows) > start + num:
            break
    return made


@pytest.mark.parametrize(("first", "num"), [(0, 10), (0, 3), (4, 10)])
def test_pages_of_a_list_that_is_grouped_while_it_is_made_agree(first: int, num: int) -> None:
    marks = [find_fingerprint(make_text(seed)) for seed in range(7)]
    hits = [Hit(key=key, score=0.0, fingerprint=marks[key // 2 % 7] if key % 5 else 0) for key in range(130)]
    found = list_documents(walk(hits, first, num).rows[:first])
    for start in range(first, 130, num):
        made = walk(hits, start, num)
        assert list_documents(made.rows[:start]) == found
        found += list_documents(made.rows[start : start + num])
    assert sorted(found) == list(range(130))
    assert walk(hits, first, num).folded > 0


def test_list_that_is_not_grouped_has_each_hit() -> None:
    made = GroupedWalk(0, 10, is_grouped=False)
    for key in range(3):
        made.add(Hit(key=key, score=0.0, fingerprint=5))
    assert [(hit.key, hit.alike) for hit in made.rows] == [(0, ()), (1, ()), (2, ())]
    assert made.folded == 0
