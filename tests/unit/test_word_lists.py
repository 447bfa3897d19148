"""The word lists of ``core/text/words``: text files that people edit."""

from pathlib import Path

import pytest

from feedmill.core.text import wordlists
from feedmill.core.text.functionwords import list_fillers, list_function_words
from feedmill.core.text.units import CURRENCIES, find_unit
from feedmill.core.text.wordlists import list_names, read_list

WORDS = Path(wordlists.__file__).parent / "words"
FILES = sorted(WORDS.rglob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(WORDS)))
def test_word_list_file_names_its_source_and_repeats_nothing(file: Path) -> None:
    entries = read_list(str(file.relative_to(WORDS).with_suffix("")))
    assert "\n# Source: " in file.read_text("utf-8")
    assert entries == list(dict.fromkeys(entry.strip().lower() if file.parent != WORDS else entry for entry in entries))
    assert entries


def test_every_list_of_function_words_is_read_one_word_from_each_line() -> None:
    assert list_names("function") == {file.stem for file in FILES if file.parent.name == "function"}
    for language in list_names("function"):
        assert all(len(entry.split()) == 1 for entry in read_list(f"function/{language}"))
        assert list_function_words(language)


def test_no_filler_is_a_function_word_of_its_language() -> None:
    for language in list_names("filler"):
        assert all(len(entry.split()) == 1 for entry in read_list(f"filler/{language}"))
        assert list_fillers(language)
        assert list_fillers(language).isdisjoint(list_function_words(language))


def test_every_unit_of_the_list_is_found_by_all_its_spellings() -> None:
    for line in read_list("units"):
        name, _, spellings = line.partition(": ")
        assert {find_unit(spelling) for spelling in spellings.split()} <= {name}
    assert {find_unit(currency) for currency in CURRENCIES} >= CURRENCIES
