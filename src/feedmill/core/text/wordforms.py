"""Folds words: one spelling for all forms that a reader takes for the same word.

Letter case, accents, full and half width, ligatures, digits of other scripts, soft hyphens and joiners do not count. The same is true of
the points of Hebrew and the vowel signs of Arabic, the letters that carry hamza, and the Persian forms of Arabic letters. Signs that make a
separate letter remain: the vowel signs and viramas of Indic scripts, the breve of Cyrillic, the marks of Thai. Words that folding changes
are also stored as they were written, so that an exact spelling can be preferred.

Folded words are cached. The cache is bounded, and very long words are not cached. ``fold_all`` folds very many words at once as the lines
of one text and caches none of them.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Literal

MARKS = (
    "\u00ad\u200c\u200d\ufe00-\ufe0f"  # what joins invisibly
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u08d3-\u08e1\u08e3-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957"
    "\u0962\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u09d7\u09e2\u09e3\u09fe\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83\u0abc"
    "\u0abe-\u0acd\u0ae2\u0ae3\u0afa-\u0aff\u0b01-\u0b03\u0b3c\u0b3e-\u0b57\u0b62\u0b63\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c"
    "\u0c3e-\u0c56\u0c62\u0c63\u0c81-\u0c83\u0cbc\u0cbe-\u0cd6\u0ce2\u0ce3\u0d00-\u0d03\u0d3b\u0d3c\u0d3e-\u0d4d\u0d57\u0d62\u0d63\u0d81-\u0d83"
    "\u0dca-\u0ddf\u0df2\u0df3\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e\u0f3f\u0f71-\u0f84\u0f86\u0f87\u0f8d-\u0fbc\u135d-\u135f\u1712-\u1714"
    "\u18a9\u1920-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1ace\u1b00-\u1b04\u1b34-\u1b44\u1b80-\u1b82\u1ba1-\u1bad\u1be6-\u1bf3\u1c24-\u1c37"
    "\u1cd0-\u1cf9\u1dc0-\u1dff\u20d0-\u20f0\u2de0-\u2dff\ua66f-\ua672\ua674-\ua67d\ua69e\ua69f\ua802\ua806\ua80b\ua823-\ua827\ua880\ua881"
    "\ua8b4-\ua8c5\ua8e0-\ua8f1\ua926-\ua92d\ua947-\ua953\ua980-\ua983\ua9b3-\ua9c0\uabe3-\uabea\uabec\uabed\ufb1e\ufe20-\ufe2f"
    "\U00011000-\U00011002\U00011038-\U00011046\U00011080-\U00011082\U000110b0-\U000110ba\U00011100-\U00011102\U00011127-\U00011134"
)
"""The marks that belong to a word, in the form of the inside of a regular expression's character class."""

MAX_WORD_BYTES = 100
MAX_REMEMBERED = 100_000
MAX_REMEMBERED_CHARACTERS = 100
MAX_CHARACTERS_KNOWN = 10_000

# vulgar fractions are one character each, but more than one word when they are decomposed
_FRACTIONS = re.compile("[\u00bc-\u00be\u2150-\u215f\u2189]")
_INVISIBLE = re.compile("[\u00ad\u200c\u200d\u0640\ufe00-\ufe0f]+")
_LINE_END = "\n"
_PLAIN = {
    "ø": "o",
    "đ": "d",
    "ð": "d",
    "ł": "l",
    "æ": "ae",
    "œ": "oe",
    "ı": "i",
    "þ": "th",
    "ħ": "h",
    "ŋ": "n",
    "ŧ": "t",
    "ё": "е",
    "ѐ": "е",
    "ѝ": "и",
    "ی": "ي",
    "ى": "ي",
    "ک": "ك",
    "ٱ": "ا",
    "ہ": "ه",
    "ھ": "ه",
    "\u093c": "",
    "\u0901": "\u0902",
    **dict.fromkeys("\u0300\u0301", ""),  # stress, which is all that is left of them above letters of no stripped script
}
# scripts whose marks are accents: Latin, Greek, Hebrew, Arabic; in Cyrillic only the stress marks
_STRIPPED = ((0x41, 0x24F), (0x370, 0x3FF), (0x590, 0x6FF), (0x1E00, 0x1FFF))
# the ranges in which Unicode has marks, in the first plane and beyond; a test checks all other code points
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_MARKED = ((0x300, 0x10000), (0x10000, 0xE0200))


class WordForms(dict[str, str]):
    """A cache of words and their forms. A form is computed when it is first read."""

    def __missing__(self, word: str) -> str:
        made = self.make_form(word)
        if len(word) <= MAX_REMEMBERED_CHARACTERS:
            # All at once, and not the least used: frequent words are back within a moment, and no order has to be maintained.
            if len(self) >= MAX_REMEMBERED:
                self.clear()
            self[word] = made
        return made

    def make_form(self, word: str) -> str:
        """Computes the form of one word."""
        raise NotImplementedError


class _Folded(WordForms):
    def make_form(self, word: str) -> str:
        return _bounded(_fold_word(word))


class _Accented(WordForms):
    def make_form(self, word: str) -> str:
        return "" if word.isascii() else find_accented(FOLDED[word], write_raw(word))


FOLDED = _Folded()
"""Maps words in lower case to their folded form, "" for one that is longer than an index accepts."""

ACCENTED = _Accented()
"""Maps words in lower case to their written form, "" if folding does not change them."""


def is_unaccented(word: str) -> bool:
    """Whether folding does not change a word in lower case."""
    return FOLDED[word] == write_raw(word)


def write_raw(word: str) -> str:
    """Returns a word as it is written, with its composition normalized."""
    return unicodedata.normalize("NFC", word)


def write_all(words: Sequence[str]) -> list[str]:
    """Returns each of many words as it is written. Shape: no word contains a line end."""
    return write_raw(_LINE_END.join(words)).split(_LINE_END)


def find_accented(folded: str, written: str) -> str:
    """Returns the value of ``ACCENTED`` for a word from its two forms."""
    return "" if folded == written else _bounded(written)


def fold_all(words: Sequence[str]) -> list[str]:
    """Returns the folded forms of many words in lower case, as ``FOLDED`` has them. Shape: no word contains a line end.

    It takes a tenth of the time of single look-ups and does not evict common words from the cache.
    """
    foreign = [word for word in words if not word.isascii()]
    lines = _LINE_END.join(foreign)
    forms = iter(map(_fold_word, foreign) if _FRACTIONS.search(lines) else _fold_lines(lines, "NFKC").split(_LINE_END))
    folded = (word if word.isascii() else next(forms) for word in words)
    # A character has at most four bytes, so a word of that many characters needs no encoding to be measured.
    return [form if len(form) <= MAX_WORD_BYTES // 4 else _bounded(form) for form in folded]


def _bounded(form: str) -> str:
    """Returns a form, "" for one that is longer than an index accepts."""
    # An index refuses longer terms, so a longer word is no word at all, in documents and in queries.
    return form if len(form.encode("utf-8", "replace")) <= MAX_WORD_BYTES else ""


def _fold_word(word: str) -> str:
    if word.isascii():
        return word
    return _fold_lines(word, "NFC" if _FRACTIONS.search(word) else "NFKC").replace(_LINE_END, "")


def _fold_lines(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """Returns the folded form of words, one on each line. No step crosses the end of a line."""
    # Normalized before ``casefold``: only then do letters such as the mathematical ones have a case.
    text = _INVISIBLE.sub("", unicodedata.normalize(form, text).casefold())
    return text if text.isascii() and text.isalnum() else without_accents(text).translate(_SPELT)


def without_accents(text: str) -> str:
    """Returns the text in composed form without the marks that are accents; the letter that carries a mark decides."""
    apart = unicodedata.normalize("NFD", text)
    is_wide = any(unicodedata.category(character) == "Mn" for character in set(_WIDE.findall(apart)))
    return unicodedata.normalize("NFC", _accents(is_wide=is_wide).sub("", apart))


@cache
def _accents(*, is_wide: bool) -> re.Pattern[str]:
    """Builds the pattern of all marks after a letter of a script whose marks are accents.

    Marks beyond the first plane are included only for texts that contain some. A character class with such marks is a list that is scanned
    for every character; one without them is a table.
    """
    marks = {code for low, high in _MARKED[: 2 if is_wide else 1] for code in range(low, high) if unicodedata.category(chr(code)) == "Mn"}
    letters = [code for low, high in _STRIPPED for code in range(low, high + 1) if code not in marks]
    mark, letter = _write_class(sorted(marks)), _write_class(letters)
    # Matches a mark and only then looks back: searching for a character class is many times faster than searching for a position.
    return re.compile(f"[{mark}](?<=[{letter}].)[{mark}]*", re.DOTALL)


def _write_class(codes: Sequence[int]) -> str:
    """Returns the inside of a regular expression's class for these code points, which must be sorted."""
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


class _Spelt(dict[int, str]):
    """Caches the plain spelling of characters: digits of all scripts as 0 to 9, "" for characters that belong to no word."""

    def __missing__(self, code: int) -> str:
        if len(self) >= MAX_CHARACTERS_KNOWN:
            self.clear()
        made = self[code] = _normalize(chr(code))
        return made


_SPELT = _Spelt()


def _normalize(character: str) -> str:
    spelt = _PLAIN.get(character, character)
    if spelt.isdecimal():
        return str(unicodedata.decimal(spelt))
    return spelt if not spelt or spelt.isalnum() or spelt == _LINE_END or unicodedata.category(spelt)[0] == "M" else ""
