"""The words that are similar to a word, from the engine's dictionary and from tables of words in memory."""

import random
from pathlib import Path
from string import ascii_lowercase

import pytest
import tantivy
from rapidfuzz.distance import OSA

from feedmill.adapters.index.similarwords import count_allowed
from feedmill.adapters.index.tantivy import nearwords
from feedmill.adapters.index.tantivy.nearwords import FREQUENT, LOOKUPS_A_LETTER, NearWords, find_near_words
from feedmill.adapters.index.tantivy.reader import TantivyIndex
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import open_index, put

SOME, MANY = range(2, FREQUENT + 1), range(FREQUENT + 1, 3 * FREQUENT)


@pytest.fixture(scope="module")
def words() -> dict[str, int]:
    """Returns made-up words, each with its number of documents: many words that differ in few letters."""
    random_ = random.Random(4)
    made = {"".join(random_.choices("abcdé", k=random_.randrange(2, 8))) for _ in range(1_500)}
    made |= {random_.choice(ascii_lowercase) + word[1:] for word in sorted(made)}
    return {word: random_.choice(random_.choice((SOME, MANY))) for word in sorted(made)}


@pytest.fixture(scope="module")
def searcher(words: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> tantivy.Searcher:
    texts = [" ".join(word for word, count in words.items() if count > number) for number in range(max(MANY) + 1)]
    with open_index("tantivy", tmp_path_factory.mktemp("index") / "words") as opened:
        put(opened, *[make_index_document(key=number, title=text[:200], body=text) for number, text in enumerate(texts, 1)])
        assert isinstance(opened[0], TantivyIndex)
        found = opened[0].searcher
    assert found is not None
    return found


def list_alike(near: NearWords, word: str, more_than: int) -> dict[str, int]:
    """Returns the listed words among which a better spelling is chosen."""
    allowed = count_allowed(word)
    return {
        one: count for one, count in near.list_near(word, more_than).items() if count > more_than and OSA.distance(word, one) <= allowed
    }


def ask_for_all(searcher: tantivy.Searcher, near: NearWords, words: list[str], more_than: int) -> None:
    for word in words:
        new = NearWords(searcher, least=FREQUENT if more_than >= FREQUENT else 0)
        assert list_alike(near, word, more_than).keys() == list_alike(new, word, more_than).keys()


@pytest.mark.parametrize("more_than", [0, FREQUENT, 2 * FREQUENT])
def test_words_are_the_same_from_tables_and_from_the_dictionary(searcher: tantivy.Searcher, words: dict[str, int], more_than: int) -> None:
    near, asked = find_near_words(searcher, more_than), random.Random(5).sample(sorted(words), 60)
    ask_for_all(searcher, near, asked, more_than)
    for _ in range(LOOKUPS_A_LETTER * len(ascii_lowercase)):
        near.list_near("abc", more_than)
    assert near.has_read(ascii_lowercase) or more_than < FREQUENT
    ask_for_all(searcher, near, asked, more_than)


def test_words_are_the_same_where_not_all_fit(searcher: tantivy.Searcher, words: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = random.Random(6).sample(sorted(words), 60)
    monkeypatch.setattr(nearwords, "MAX_TABLED", 300)
    near = NearWords(searcher, least=FREQUENT)
    ask_for_all(searcher, near, asked, FREQUENT)
    assert sum(near.has_read(letter) for letter in ascii_lowercase) < len(ascii_lowercase) / 2


@pytest.mark.parametrize("listed", [3, 20, 60, 100, 150])
def test_words_with_another_first_letter_are_the_same_where_not_all_are_listed(
    searcher: tantivy.Searcher, words: dict[str, int], listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, whole = random.Random(7).sample(sorted(words), 60), NearWords(searcher, least=FREQUENT)
    expected = {word: {one for one in list_alike(whole, word, FREQUENT) if one[0] not in word[:2]} for word in asked}
    monkeypatch.setattr(nearwords, "MAX_KNOWN", listed)
    near = NearWords(searcher, least=FREQUENT)
    for word in asked * 20:
        assert {one for one in list_alike(near, word, FREQUENT) if one[0] not in word[:2]} == expected[word]


def test_tables_of_another_commit_are_others(tmp_path: Path) -> None:
    with open_index("tantivy", tmp_path / "index") as opened:
        index = opened[0]
        assert isinstance(index, TantivyIndex)
        for number in range(2):
            put(opened, *[make_index_document(key=100 * number + n, body=f"policy{'x' * number}") for n in range(FREQUENT + 1)])
            assert index.searcher is not None
            known = find_near_words(index.searcher, FREQUENT).list_near("policyz", FREQUENT)
            assert ("policyx" in known, "policy" in known) == (number == 1, True)
