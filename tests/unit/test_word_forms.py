import unicodedata

import pytest
from hypothesis import given

from feedmill.adapters.index.analysis import MANY_WORDS, AnalyzedText, lay_out_whole
from feedmill.adapters.index.stemming import Stems
from feedmill.core.text.analysis import list_raw_words
from feedmill.core.text.wordforms import ACCENTED, FOLDED, find_accented, fold_all, without_accents, write_all
from tests.anytext import any_text
from tests.thorough import IS_THOROUGH


def _without_accents_one_by_one(text: str) -> str:
    """Returns a text without accents as it is said: character by character, each mark judged by the letter before it."""
    characters: list[str] = []
    is_stripping = False
    for character in unicodedata.normalize("NFD", text):
        if unicodedata.category(character) != "Mn":
            is_stripping = any(
                low <= ord(character) <= high for low, high in ((0x41, 0x24F), (0x370, 0x3FF), (0x590, 0x6FF), (0x1E00, 0x1FFF))
            )
        elif is_stripping:
            continue
        characters.append(character)
    return unicodedata.normalize("NFC", "".join(characters))


def test_without_accents_every_code_point_is_judged_by_its_letter() -> None:
    # what follows the first two planes are ideographs, and code points without a letter
    every = list(map(chr, range(0x110000 if IS_THOROUGH else 0x20000)))
    joining = [one for one in every if unicodedata.category(one)[0] in "LM" and not "\u3400" <= one <= "\ud7a3" and one < "\U00017000"]
    for text in ("\n".join(every), "\n".join(f"a{one}\u0301\n\u0430\u0327{one}" for one in joining)):
        assert without_accents(text) == _without_accents_one_by_one(text)


@given(any_text())
def test_without_accents_any_text_is_judged_letter_by_letter(text: str) -> None:
    assert without_accents(text) == _without_accents_one_by_one(text)


def test_fold_all_every_letter_is_folded_as_alone() -> None:
    words = [character for character in map(chr, range(0x110000)) if character.isalnum() and not "\u4e00" <= character <= "\ud7a3"]
    words += [f"a{word}\u0301" for word in words[::7]]
    assert fold_all(words) == [FOLDED.make_form(word) for word in words]


@given(any_text())
def test_fold_all_words_of_any_text_are_folded_as_alone(text: str) -> None:
    words = list_raw_words(text)
    assert fold_all(words) == [FOLDED.make_form(word) for word in words]
    assert list(map(find_accented, fold_all(words), write_all(words))) == [ACCENTED.make_form(word) for word in words]


@pytest.mark.parametrize("language", ["en", "cs", "ru", "ar", "zz"])
@pytest.mark.parametrize("other", ["", "\u4e2d\u6587 "])
def test_lay_out_very_many_words_come_out_as_few_do(language: str, other: str) -> None:
    starts = [
        "running",
        "p\u0159\u00edli\u0161",
        "\u0431\u0435\u0433\u0430\u043b\u0438",
        "\u0627\u0644\u0643\u062a\u0627\u0628",
        "\ud55c\uad6d\uc5b4\ub97c",
        "\u00bdl",
        "ma\u00dfe",
        "x" * 99,
        "\u00e9" * 80,
        "\u0915\u094d\u0937",
    ]
    words = [f"{start}{number}s" for number in range(MANY_WORDS // 8) for start in starts]
    pieces = [other + " ".join(words[start : start + 1_000]) + "\n" for start in range(0, len(words), 1_000)]
    few = [lay_out_whole(piece, Stems(language)) for piece in pieces]
    many = lay_out_whole("".join(pieces), Stems(language))
    assert many == AnalyzedText(
        *(" ".join(filter(None, parts)) for parts in zip(*((f.words, f.stems, f.accented, f.folded) for f in few), strict=True))
    )


def test_lay_out_very_many_words_drives_no_word_out_of_the_memory() -> None:
    FOLDED.clear()
    usual = FOLDED["na\u00efve"]
    lay_out_whole(" ".join(f"caf\u00e9{number}" for number in range(MANY_WORDS + 1)), Stems("fr"))
    assert dict(FOLDED) == {"na\u00efve": usual}
