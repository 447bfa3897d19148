"""One spelling for all that a reader takes for the same word.

Letter case, accents, full and half width, ligatures, digits of other scripts, soft hyphens and joiners do not count; nor do the points
of Hebrew and the vowel signs of Arabic, the letters that carry hamza, and the Persian forms of Arabic letters. What makes a letter of
its own stays: the vowel signs and viramas of Indic scripts, the breve of Cyrillic, the marks of Thai. Words that the folding changes
are kept beside it as they were written, so that an exact spelling can be preferred.

Every word is folded once and remembered; the memory is bounded, and a very long word is not kept.
"""

import re
import unicodedata

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

# vulgar fractions are one character each, and more than one word when taken apart
_FRACTIONS = re.compile("[\u00bc-\u00be\u2150-\u215f\u2189]")
_INVISIBLE = dict.fromkeys([0xAD, 0x200C, 0x200D, 0x640, *range(0xFE00, 0xFE10)])
_PLAIN = str.maketrans(
    {
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
    }
)
# scripts whose marks are accents: Latin, Greek, Hebrew, Arabic; in Cyrillic the stress alone
_STRIPPED = ((0x41, 0x24F), (0x370, 0x3FF), (0x590, 0x6FF), (0x1E00, 0x1FFF))
_STRESS = dict.fromkeys([0x300, 0x301])


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
        folded = _fold(word)
        return folded if len(folded.encode("utf-8", "replace")) <= MAX_WORD_BYTES else ""


class _Accented(WordForms):
    def make(self, word: str) -> str:
        if word.isascii() or is_unaccented(word):
            return ""
        written = write_raw(word)
        return written if len(written.encode("utf-8", "replace")) <= MAX_WORD_BYTES else ""


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


def _fold(word: str) -> str:
    if word.isascii():
        return word
    folded = unicodedata.normalize("NFC" if _FRACTIONS.search(word) else "NFKC", word).casefold().translate(_INVISIBLE)
    if not folded.isascii():
        folded = _without_accents(folded).translate(_PLAIN)
    if any(character.isdecimal() and not character.isascii() for character in folded):
        folded = "".join(str(unicodedata.decimal(character)) if character.isdecimal() else character for character in folded)
    return folded if folded.isalnum() else "".join(one for one in folded if one.isalnum() or unicodedata.category(one)[0] == "M")


def _without_accents(text: str) -> str:
    """Returns the text without the marks that are accents, judged by the letter that carries them."""
    kept: list[str] = []
    is_stripping = False
    for character in unicodedata.normalize("NFD", text):
        if unicodedata.category(character) != "Mn":
            code = ord(character)
            is_stripping = any(low <= code <= high for low, high in _STRIPPED)
        elif is_stripping:
            continue
        kept.append(character)
    stripped = "".join(kept)
    return unicodedata.normalize("NFC", stripped).translate(_STRESS)
