from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.phrases import MAX_CHARACTERS, complete_from
from feedmill.core.text.plainwords import is_plain, iter_words, without_accents


def completed(typed: str, *titles: str) -> list[str]:
    return list(complete_from(titles, typed).values())


def test_complete_words_and_phrases_frequent_first_then_shorter() -> None:
    titles = ("Travel expenses 2026", "How to claim travel expenses", "Traveller's guide")
    assert completed("trav", *titles) == ["travel", "travel expenses", "traveller's", "traveller's guide", "travel expenses 2026"]


def test_complete_several_words_must_follow_each_other() -> None:
    assert completed("annual rep", "Annual report of the board", "Annual staff report") == ["annual report"]


def test_complete_finished_word_is_whole() -> None:
    assert completed("travel ", "Traveller", "Travel by train") == ["travel", "travel by train"]


def test_complete_goes_over_no_mark() -> None:
    assert completed("cats", "Cats. Dogs", "cats (big)", "cats - dogs") == ["cats", "cats - dogs"]


def test_complete_accents_do_not_matter_and_are_preserved() -> None:
    assert completed("größ", "Größe") == ["größe"]
    assert completed("groß", "Größe") == ["größe"]


def test_complete_script_without_blanks_returns_titles() -> None:
    assert completed("東京", "東京都の天気", "大阪") == ["東京都の天気"]


def test_complete_nothing_typed_is_nothing() -> None:
    assert completed("", "a") == completed("?!", "a") == []


@given(typed=st.text(max_size=20), titles=st.lists(st.text(max_size=120), max_size=5))
def test_complete_never_fails_and_stays_short(typed: str, titles: list[str]) -> None:
    for text in complete_from(titles, typed).values():
        assert text
        assert len(text) <= 2 * MAX_CHARACTERS


@given(st.text())
def test_iter_words_places_are_in_the_text(text: str) -> None:
    for word in iter_words(text):
        assert len(word.folded) == word.end - word.start


def test_plain_words() -> None:
    assert [is_plain(word) for word in ("word", "w0rd", "東京", "größe", "")] == [True, False, False, True, False]
    assert without_accents("größe") == "grosse"
    assert without_accents("naïveté") == "naivete"
