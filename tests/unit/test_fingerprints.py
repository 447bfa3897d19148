"""Fingerprints of texts, and the groups that they make of a result list."""

import random
from collections.abc import Sequence

import pytest

from feedmill.core.ranking.nearduplicates import GROUPED, group_alike, group_page
from feedmill.core.text.fingerprints import FINGERPRINT_BYTES, find_alike, find_fingerprint
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
        assert 0 < whole < 1 << 8 * FINGERPRINT_BYTES
        others = [make_text(seed, changed=1), make_text(seed, changed=20), make_text(seed + 1_000)]
        assert find_alike([whole, *map(find_fingerprint, others)]) == [(0, 1)]


def test_layout_does_not_count() -> None:
    text = make_text(1)
    assert find_fingerprint(text) == find_fingerprint(text.replace(". ", ".\n\n   "))


@pytest.mark.parametrize("text", ["", "one sentence", "the same sentence again. " * 50, make_text(1, sentences=9), "a. b. c. " * 50])
def test_a_text_of_few_sentences_has_no_fingerprint(text: str) -> None:
    assert find_fingerprint(text) == 0


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
