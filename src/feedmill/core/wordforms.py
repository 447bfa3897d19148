"""One spelling for all that a reader takes for the same word.

Letter case, accents, full and half width, ligatures, digits of other scripts, soft hyphens and joiners do not count; nor do the points
of Hebrew and the vowel signs of Arabic, the letters that carry hamza, and the Persian forms of Arabic letters. What makes a letter of
its own stays: the vowel signs and viramas of Indic scripts, the breve of Cyrillic, the marks of Thai. Words that the folding changes
are kept beside it as they were written, so that an exact spelling can be preferred.

Every word is folded once and remembered; the memory is bounded, and a very long word is not kept. Very many words at once are folded as
the lines of one text, and none of them is kept (``fold_all``).
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
"""The marks that belong to a word, as a regular expression's character class is written inside."""

MAX_WORD_BYTES = 100
MAX_REMEMBERED = 100_000
MAX_REMEMBERED_CHARACTERS = 100
MAX_CHARACTERS_KNOWN = 10_000

# vulgar fractions are one character each, and more than one word when taken apart
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
# scripts whose marks are accents: Latin, Greek, Hebrew, Arabic; in Cyrillic the stress alone
_STRIPPED = ((0x41, 0x24F), (0x370, 0x3FF), (0x590, 0x6FF), (0x1E00, 0x1FFF))
# where Unicode has marks, first plane and beyond; a test looks at all other code points too
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_MARKED = ((0x300, 0x10000), (0x10000, 0xE0200))


class WordForms(dict[str, str]):
    """Words and what becomes of them; a word is worked out when it is first asked for."""

    def __missing__(self, word: str) -> str:
        made = self.make(word)
        if len(word) <= MAX_REMEMBERED_CHARACTERS:
            if len(self) >= MAX_REMEMBERED:
                self.clear()
            self[word] = made
        return made

    def make(self, word: str) -> str:
        """Works out one word."""
        raise NotImplementedError


class _Folded(WordForms):
    def make(self, word: str) -> str:
        return _bounded(_fold(word))


class _Accented(WordForms):
    def make(self, word: str) -> str:
        return "" if word.isascii() else find_accented(FOLDED[word], write_raw(word))


FOLDED = _Folded()
"""Words in lower case and their folded form; "" for what is longer than an index takes."""

ACCENTED = _Accented()
"""Words in lower case as they are written, "" where folding changes nothing."""


def is_unaccented(word: str) -> bool:
    """Whether folding leaves a word in lower case as it is."""
    return FOLDED[word] == write_raw(word)


def write_raw(word: str) -> str:
    """Returns a word as it is written, its composition alone made one."""
    return unicodedata.normalize("NFC", word)


def write_all(words: Sequence[str]) -> list[str]:
    """Returns each of many words as it is written. Shape: no word holds the end of a line."""
    return write_raw(_LINE_END.join(words)).split(_LINE_END)


def find_accented(folded: str, written: str) -> str:
    """Returns what ``ACCENTED`` has of a word by its two forms."""
    return "" if folded == written else _bounded(written)


def fold_all(words: Sequence[str]) -> list[str]:
    """Returns the folded forms of many words in lower case, as ``FOLDED`` has them. Shape: no word holds the end of a line.

    It takes a tenth of the time of a call for each, and does not drive the usual words out of the memory.
    """
    foreign = [word for word in words if not word.isascii()]
    lines = _LINE_END.join(foreign)
    forms = iter(map(_fold, foreign) if _FRACTIONS.search(lines) else _fold_lines(lines, "NFKC").split(_LINE_END))
    folded = (word if word.isascii() else next(forms) for word in words)
    return [form if len(form) <= MAX_WORD_BYTES // 4 else _bounded(form) for form in folded]


def _bounded(form: str) -> str:
    """Returns a form, "" for one that is longer than an index takes."""
    return form if len(form.encode("utf-8", "replace")) <= MAX_WORD_BYTES else ""


def _fold(word: str) -> str:
    if word.isascii():
        return word
    return _fold_lines(word, "NFC" if _FRACTIONS.search(word) else "NFKC").replace(_LINE_END, "")


def _fold_lines(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """Returns the folded form of words, each a line: no step looks beyond the end of one."""
    text = _INVISIBLE.sub("", unicodedata.normalize(form, text).casefold())
    return text if text.isascii() and text.isalnum() else without_accents(text).translate(_SPELT)


def without_accents(text: str) -> str:
    """Returns the text without the marks that are accents, judged by the letter that carries them; in composed form."""
    apart = unicodedata.normalize("NFD", text)
    is_wide = any(unicodedata.category(character) == "Mn" for character in set(_WIDE.findall(apart)))
    return unicodedata.normalize("NFC", _accents(is_wide=is_wide).sub("", apart))


@cache
def _accents(*, is_wide: bool) -> re.Pattern[str]:
    """Builds the pattern of all marks behind a letter of a script whose marks are accents.

    Marks beyond the first plane are looked for in texts alone that have some: a class that holds them is a list, which is gone through
    for every character, another one is a table.
    """
    marks = {code for low, high in _MARKED[: 2 if is_wide else 1] for code in range(low, high) if unicodedata.category(chr(code)) == "Mn"}
    letters = [code for low, high in _STRIPPED for code in range(low, high + 1) if code not in marks]
    mark, letter = _write_class(sorted(marks)), _write_class(letters)
    # looks for a mark and only then back: the search for a class of characters is many times faster than that for a place
    return re.compile(f"[{mark}](?<=[{letter}].)[{mark}]*", re.DOTALL)


def _write_class(codes: Sequence[int]) -> str:
    """Returns the inside of a regular expression's class that holds these code points, which come in order."""
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


class _Spelt(dict[int, str]):
    """Characters in their plain spelling: digits of all scripts as 0 to 9, "" for what is no part of a word. Each is looked at once."""

    def __missing__(self, code: int) -> str:
        if len(self) >= MAX_CHARACTERS_KNOWN:
            self.clear()
        made = self[code] = _spell(chr(code))
        return made


_SPELT = _Spelt()


def _spell(character: str) -> str:
    spelt = _PLAIN.get(character, character)
    if spelt.isdecimal():
        return str(unicodedata.decimal(spelt))
    return spelt if not spelt or spelt.isalnum() or spelt == _LINE_END or unicodedata.category(spelt)[0] == "M" else ""
