"""Splits a text into words as people read them, with positions; for display, not for deciding a match."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from feedmill.core.text.analysis import fold_in_place, is_spaceless

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i"}


@dataclass(frozen=True, slots=True)
class PlainWord:
    """A word: its folded form and its position in the text."""

    folded: str
    start: int
    end: int


def iter_words(text: str) -> Iterator[PlainWord]:
    """Yields the words of a text; a run of a script without blanks is one word."""
    folded = fold_in_place(text)
    for found in _WORD.finditer(folded):
        yield PlainWord(found[0], found.start(), found.end())


def without_accents(word: str) -> str:
    """Returns a word without accents, which approximates the form in an index."""
    if word.isascii():
        return word
    spelt = "".join(_LETTERS.get(character, character) for character in word)
    return "".join(character for character in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(character))


def fold_word(word: str) -> str:
    """Returns a word in lower case without accents, as words of the function lists are folded."""
    return without_accents(word.lower())


def is_plain(word: str) -> bool:
    """Whether a word consists of letters of a script with blanks between words."""
    return word.isalpha() and not any(is_spaceless(character) for character in word)
