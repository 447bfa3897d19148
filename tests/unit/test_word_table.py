from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from feedmill.adapters.index.similarwords import SECOND_LETTERS, WordEnds, WordTable, count_allowed

WORDS = st.text(alphabet="abé1²", min_size=1, max_size=8)


@given(counted=st.dictionaries(WORDS, st.integers(1, 9)), word=WORDS, more_than=st.integers(0, 9))
def test_table_yields_the_near_words_in_more_documents(counted: dict[str, int], word: str, more_than: int) -> None:
    expected = {
        known: count
        for known, count in counted.items()
        if count > more_than and OSA.distance(word, known) <= count_allowed(word) and not any(map(str.isdigit, known))
    }
    found = list(WordTable(counted).iter_near(word, more_than))
    assert dict(found) == expected
    assert len(found) == len(expected)


def test_table_counts_its_words() -> None:
    assert len(WordTable({"one": 1, "three": 1, "3d": 5})) == 2


@given(known=st.dictionaries(WORDS, st.integers(1, 9)), word=WORDS)
def test_word_ends_find_another_first_letter_and_one_more(known: dict[str, int], word: str) -> None:
    ends, counted = WordEnds(), {one: count for one, count in known.items() if not any(map(str.isdigit, one))}
    ends.add(WordTable(counted))
    found = ends.list_near(word)
    assert found.items() <= counted.items()
    expected = {one for one in counted if one[1:] in (word, word[1:])}
    longer = {one for one in counted if one[1 : 1 + SECOND_LETTERS] == word[:SECOND_LETTERS]}
    assert found.keys() == expected | {one for one in longer if abs(len(one) - len(word)) <= count_allowed(word)}
