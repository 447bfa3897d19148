import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.analysis import (
    blank_out,
    fold_in_place,
    fold_spaced,
    fold_words,
    gram_size,
    is_spaceless,
    lay_out,
    list_grams,
    list_raw_words,
    space_out,
    split_runs,
    split_words,
)
from feedmill.core.text.functionwords import find_function_words, list_function_words
from feedmill.core.text.wordforms import ACCENTED, FOLDED, MARKS, MAX_REMEMBERED, MAX_WORD_BYTES, WordForms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's O'Clock at 3.11_x!", "it s o clock at 3 11 x"),
        ("“Straße” – CAFÉ…", "strasse cafe"),
        ("re\u0301sume\u0301 soft\u00adhyphen", "resume softhyphen"),
        ("Łódź Ærø İstanbul ısı", "lodz aero istanbul isi"),
        ("ΑΣ Ας ά", "ασ ασ α"),
        ("Ёлка й Київ за\u0301мок", "елка й київ замок"),
        ("الْعَرَبِيَّة أحمد", "العربية احمد"),
        ("می\u200cخواهم ۱۲۳", "ميخواهم 123"),
        ("שָׁלוֹם", "שלום"),
        ("हिन्दी लड़का", "हिन्दी लडका"),
        ("বাংলা தமிழ் ಕನ್ನಡ", "বাংলা தமிழ் ಕನ್ನಡ"),
        ("東京ABC都", "東 京 abc 都"),
        ("ｶﾞｽ Ｆｕｌｌ", "ガ ス full"),
        ("น้ำไทย", "น ้ ํ า ไ ท ย"),
        ("서울에서", "서울에서"),
        ("\ud800 \x00", ""),
    ],
)
def test_lay_out_words_in_one_spelling(text: str, words: str) -> None:
    assert lay_out(text).split() == words.split()


def test_split_words_what_an_index_would_not_take_is_left_out() -> None:
    assert split_words("a " + "x" * (MAX_WORD_BYTES + 1) + " é" + "é" * MAX_WORD_BYTES) == ["a"]


@given(st.text(max_size=100))
def test_fold_returns_the_words_of_the_text_at_their_places(text: str) -> None:
    tokens = fold_words(text)
    assert [token for token, _, _ in tokens if len(token) <= MAX_WORD_BYTES] == split_words(text)
    places = [(start, end) for _, start, end in tokens]
    assert places == sorted(places)
    for token, start, end in tokens:
        assert 0 <= start < end <= len(text)
        assert token in split_words(text[start:end])


@given(st.text(max_size=100))
def test_lay_out_again_changes_nothing(text: str) -> None:
    laid = lay_out(text)
    laid.encode("utf-8")  # what no engine could store is gone
    assert split_words(laid) == split_words(text)


@given(st.text(st.sampled_from("aE1_. \n-éÉßŁøªµ²½ﬁＡαΣςПйİı’“…©🙂\u00ad\u0301東\ue000"), max_size=40))
def test_space_out_and_fold_spaced_as_a_search_for_words(text: str) -> None:
    text = f"{'plain words before '}{text}{' and behind'}"
    spaced = space_out(text)
    if spaced is not None:
        assert spaced.split() == list_raw_words(text)
        assert fold_spaced(spaced).split() == [form for word in list_raw_words(text) if (form := FOLDED[word])]


def test_space_out_every_letter_of_alphabets_as_a_search_for_words() -> None:
    found = 0
    for character in map(chr, [*range(0x80, 0x2E00), *range(0xA640, 0xAB70), *range(0xFB00, 0xFE00), *range(0x1D400, 0x1F700)]):
        text = f"plain words x{character}y and {character} {character}a A{character} behind"
        spaced = space_out(text)
        if spaced is not None:
            found += 1
            assert spaced.split() == list_raw_words(text), hex(ord(character))
            assert fold_spaced(spaced).split() == [form for word in list_raw_words(text) if (form := FOLDED[word])], hex(ord(character))
    assert found > 10_000


@pytest.mark.parametrize(
    "text",
    ["soft\u00adhyphen in a line", "a line with 東京 in it", "Все слова по-русски", "re\u0301sume\u0301 of a life", "İstanbul, İzmir"],
)
def test_space_out_what_needs_a_search_is_none(text: str) -> None:
    assert space_out(text) is None


def test_marks_are_marks_or_join_invisibly() -> None:
    start, position = 0, 0
    while position < len(MARKS):
        low, high = MARKS[position], MARKS[position]
        if MARKS[position + 1 : position + 2] == "-":
            high, position = MARKS[position + 2], position + 2
        position += 1
        for code in range(ord(low), ord(high) + 1):
            assert unicodedata.category(chr(code)) in ("Mn", "Mc", "Me", "Cf", "Cn", "Lo", "Po", "So"), hex(code)
        assert start <= ord(high)
    assert all(mark in MARKS for mark in ("\u200c", "\u00ad"))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("iPhone東京都?", [("iPhone", 0), ("東京都", 2)]),
        ("ภาษา 3.11", [("ภาษา", 3), (" 3.11", 0)]),
        ("서울, 부산 x", [("서울", 2), ("부산", 2), ("x", 0)]),
        ("?!", []),
    ],
)
def test_split_runs_cuts_where_scripts_change(text: str, pieces: list[tuple[str, int]]) -> None:
    assert split_runs(text) == pieces


def test_grams_overlap_and_a_short_text_is_one() -> None:
    assert list_grams("東京都", 2) == ["東京", "京都"]
    assert list_grams("東", 2) == ["東"]
    assert list_grams("", 2) == []
    assert [gram_size(word) for word in ("東", "ไทย", "မြန်မာ", "한국", "word", "한a")] == [2, 3, 3, 2, 0, 0]
    assert is_spaceless("かな")
    assert not is_spaceless("")


def test_accented_only_what_folding_changes_is_stored() -> None:
    raw = list_raw_words("Café cafe Привет ёлка re\u0301sume\u0301")
    assert [ACCENTED[word] for word in raw] == ["café", "", "", "ёлка", "résumé"]
    assert FOLDED["x" * 100] == "x" * 100
    assert FOLDED["é" * 101] == FOLDED["x" * 101] == ""


def test_forms_memory_is_bounded() -> None:
    class Numbered(WordForms):
        def make_form(self, word: str) -> str:
            return word

    forms = Numbered()
    for number in range(MAX_REMEMBERED + 5):
        assert forms[str(number)] == str(number)
    assert len(forms) == 5


def test_function_words_are_those_of_the_language_that_has_most() -> None:
    words = ["wie", "hoch", "ist", "der", "die", "turm"]
    assert find_function_words(words, ["en", "de"]) == {"wie", "ist", "der", "die"}
    assert find_function_words(["die", "hard"], ["en", "fr"]) == frozenset()
    assert find_function_words(["to", "be", "or", "not"], ["en"]) == frozenset()
    assert list_function_words("nb") == list_function_words("no") != frozenset()
    assert list_function_words("xx") == frozenset()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how much does parking cost", {"how", "much", "does"}),
        ("wie viele urlaubstage habe ich", {"wie", "viele", "habe", "ich"}),
        ("combien de jours puis je avoir", {"combien", "de", "puis", "je", "avoir"}),
        ("where do i find the report", {"where", "do", "i", "find", "the"}),
        ("much parking", set()),
        ("find report", set()),
        ("may bank holiday", set()),
        ("holidays in may", {"in", "may"}),
        ("in may", {"in"}),
        ("how much", {"how"}),
    ],
)
def test_fillers_are_function_words_beside_others_alone(query: str, expected: set[str]) -> None:
    assert find_function_words(query.split(), ["en", "de", "fr"]) == expected


@given(st.text(max_size=200))
def test_blank_out_any_text_keeps_the_words_where_they_stand(text: str) -> None:
    laid_out = blank_out(text)
    if laid_out is not None:
        assert len(laid_out) == len(text)
        assert [(match[0], *match.span()) for match in re.finditer(r"\S+", laid_out) if len(match[0]) <= 100] == fold_words(text)


@pytest.mark.parametrize(
    ("text", "laid_out"),
    [
        ("Don\u2019t, \u201cNow\u201d", "don t   now "),
        ("A \u2192 b\u2122 \U0001f52c", "a   b   "),
        ("caf\u00e9", None),
        ("a" * 1_000 + "\u00e9", None),
        ("cafe\u0301", None),
        ("a\u00adb", None),
        ("\ud83d", " "),
        ("", ""),
    ],
)
def test_blank_out_signs_are_blank_and_other_letters_and_marks_are_refused(text: str, laid_out: str | None) -> None:
    assert blank_out(text) == laid_out


@given(st.text(st.characters(max_codepoint=0x1FFF, exclude_characters="\u03a3"), max_size=200))
def test_fold_in_place_any_text_is_folded_letter_by_letter(text: str) -> None:
    assert fold_in_place(text) == "".join(map(fold_in_place, text))


@pytest.mark.parametrize("letter", ["\u00e9", "\u021b", "\u1e0b", "\u1ef9"])
def test_fold_in_place_takes_off_the_one_accent_in_a_text_of_another_script(letter: str) -> None:
    folded = fold_in_place("\u0434\u0430" * 1_000 + letter + "\u6570")
    assert folded[:2_000] == "\u0434\u0430" * 1_000
    assert folded[2_000].isascii()


def test_fold_in_place_many_accents_are_taken_off_as_few_are() -> None:
    letters = [chr(code) for code in range(0xC0, 0x250)]
    assert fold_in_place("".join(letters)) == "".join(map(fold_in_place, letters))
