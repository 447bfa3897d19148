"""Stems: words without their inflection, by Snowball's rules for the language of the text.

A word is stemmed in its document's language if that language uses the word's script, else in the usual language of the script. So an
English name in a Russian text is stemmed as English. An accented word has two stems if they differ, that of the word as written and that
of the folded word. It is found with and without its accents.

A query does not say its language. Its words get the stems of every language of the index that uses their script. That is right for a
text in any of these languages, also for a short text whose language was detected wrongly.
"""

import threading
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import Stemmer

from feedmill.core.text.analysis import gram_size, list_grams
from feedmill.core.text.compounds import LANGUAGES as COMPOUNDING
from feedmill.core.text.compounds import compounds_of, find_language
from feedmill.core.text.wordforms import FOLDED, MAX_REMEMBERED_CHARACTERS, MAX_WORD_BYTES, WordForms, fold_all, write_raw

LANGUAGES = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english", "eo": "esperanto",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali",
    "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "st": "sesotho", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Languages that are stemmed, by ISO 639-1, with Snowball's names for them."""

_SCRIPTS = (
    (0x0000, 0x024F, "latin"), (0x1E00, 0x1EFF, "latin"), (0x0370, 0x03FF, "greek"), (0x1F00, 0x1FFF, "greek"),
    (0x0400, 0x052F, "cyrillic"), (0x0530, 0x058F, "armenian"), (0x0590, 0x05FF, "hebrew"), (0x0600, 0x077F, "arabic"),
    (0x0900, 0x097F, "devanagari"), (0x0B80, 0x0BFF, "tamil"),
)  # fmt: skip
_WRITTEN_IN = {
    "ar": ("arabic",), "fa": ("arabic",), "el": ("greek",), "hy": ("armenian",), "hi": ("devanagari",), "ne": ("devanagari",),
    "ru": ("cyrillic",), "sr": ("cyrillic", "latin"), "ta": ("tamil",), "yi": ("hebrew",),
}  # fmt: skip
_USUAL = {
    "latin": "en", "cyrillic": "ru", "greek": "el", "arabic": "ar", "devanagari": "hi", "armenian": "hy", "tamil": "ta",
}  # fmt: skip
_LATIN = ("latin",)


class Stems(WordForms):
    """The stems of words in lower case for a document of one language: one stem, or two joined by a blank."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language
        self._scripts = _WRITTEN_IN.get(language, _LATIN) if language in LANGUAGES else ()
        self._stem_latin = _stemmer(LANGUAGES[language if "latin" in self._scripts else _USUAL["latin"]]).stemWord

    def make_form(self, word: str) -> str:
        """Stems one word. A word that is too long for an index has no stem; a Hangul word has its pairs of syllables."""
        # most new words of a text are of this kind, their own folded form, and many of them are numbers
        if word.isascii():
            if len(word) > MAX_WORD_BYTES:
                return ""
            if word.isdigit():
                return word
            with _TURN:
                made = self._stem_latin(word)
            return made if made and len(made) <= MAX_WORD_BYTES else word
        if size := gram_size(word):
            return " ".join(list_grams(FOLDED[word], size))
        script = find_script(word)
        language = self._language if script in self._scripts else _USUAL.get(script, "")
        return " ".join(stem(word, language))

    def make_all(self, words: Sequence[str], folded: Sequence[str], written: Sequence[str]) -> list[str]:
        """Stems many words by their forms, those of one script together, without caching them."""
        made: list[str] = list(folded)
        for script, places in _group_by_script(written).items():
            language = self._language if script in self._scripts else _USUAL.get(script, "")
            # In parts: between two of them, a query in another thread gets the stemmer.
            for start in range(0, len(places) if language in LANGUAGES else 0, _TOGETHER):
                some = places[start : start + _TOGETHER]
                stems = _stem_all([folded[place] for place in some], [written[place] for place in some], language)
                for place, stemmed in zip(some, stems, strict=True):
                    made[place] = stemmed
        for place, word in enumerate(words):
            if not word.isascii() and (size := gram_size(word)):
                made[place] = " ".join(list_grams(folded[place], size))
        return made


def _group_by_script(written: Sequence[str]) -> dict[str, list[int]]:
    """Returns the positions of the words of each script."""
    scripts = {start: find_script(start) for start in {word[:1] for word in written}}
    groups: dict[str, list[int]] = {}
    for place, word in enumerate(written):
        groups.setdefault(scripts[word[:1]], []).append(place)
    return groups


def _stem_all(folded: Sequence[str], written: Sequence[str], language: str) -> list[str]:
    """Returns the stems of words in one language, one or two joined by a blank, in the form of ``stem``."""
    with _TURN:
        stemmer = _stemmer(LANGUAGES[language])
        made = stemmer.stemWords(folded)
        # An empty word has no stem, so only words that folding changes get a second one.
        exact = stemmer.stemWords(["" if one == other else one for one, other in zip(written, folded, strict=True)])
    others = fold_all(exact) if any(exact) else exact
    # almost every word has a single stem, and a short one
    return [
        stemmed if stemmed and not other and len(stemmed) <= MAX_WORD_BYTES // 4 else " ".join(_choose(whole, stemmed, other))
        for whole, stemmed, other in zip(folded, made, others, strict=True)
    ]


def _choose(folded: str, stemmed: str, exact: str) -> list[str]:
    """Returns the different stems of a word, or its folded form if no stem fits into an index."""
    if not folded:
        return []
    return list(dict.fromkeys(one for one in (stemmed, exact) if one and len(one.encode()) <= MAX_WORD_BYTES)) or [folded]


@cache
def stems_of(language: str | None) -> Stems:
    """Returns the stems of a document's language; None: the language is unknown."""
    return Stems(language if language in LANGUAGES else "")


COMPOUND = "~c:"
"""The prefix of the stem of a word that is a part of a compound; alone, it marks documents with compounds. No stem begins with it."""

SHORT_CHARACTERS = 200
"""In a text up to this length the language is often in doubt, so its words are divided by the rules of every language."""


class CompoundStems(WordForms):
    """The stems of the words that folded words contain, each after the prefix, joined by blanks; "" for words that are no compounds.

    Shape: ``language`` is None for texts whose language is in doubt.
    """

    def __init__(self, language: str | None) -> None:
        super().__init__()
        self._compounds = [compounds_of(code) for code in (COMPOUNDING if language is None else [find_language(language)])]
        self._stems = stems_of(language)

    def make_form(self, word: str) -> str:
        """Divides one word, and stems what it contains."""
        parts = [part for compounds in self._compounds for part in compounds.list_parts(word)]
        stems = dict.fromkeys(stem for part in parts for stem in self._stems.make_form(part).split())
        return " ".join(f"{COMPOUND}{stem}" for stem in stems)

    def stem_joined(self, word: str) -> str:
        """Returns the stems of a hyphenated word that is written together."""
        return " ".join(f"{COMPOUND}{stem}" for stem in self._stems[word].split())


def find_compound_stems(language: str | None, characters: int) -> CompoundStems | None:
    """Returns the stems of compounds for a text of a language, None where no word is divided. Units: the text has so many characters."""
    may_hold = characters <= SHORT_CHARACTERS if language is None else find_language(language)
    return _compound_stems_of(language) if may_hold else None


@cache
def _compound_stems_of(language: str | None) -> CompoundStems:
    return CompoundStems(language)


def stem(word: str, language: str) -> list[str]:
    """Returns the stems of a word in lower case in one language; the folded word if the language has no rules."""
    folded = FOLDED[word]
    if not folded or language not in LANGUAGES:
        return [folded] if folded else []
    with _TURN:
        stemmer = _stemmer(LANGUAGES[language])
        made, written = stemmer.stemWord(folded), write_raw(word)
        exact = FOLDED[stemmer.stemWord(written)] if folded != written else ""
    return _choose(folded, made, exact)


# a stemmer holds its working state inside itself
_TURN = threading.Lock()
# a query waits for the lock no longer than stemming this many words takes
_TOGETHER = 10_000


@cache
def _stemmer(name: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(name, 0)


def list_query_stems(word: str, languages: Iterable[str]) -> list[str]:
    """Returns all stems that a word in lower case may have in an index of these languages, likeliest first, and its folded form."""
    # The memory of the cache depends on the length of its keys, which a user chooses.
    find = _list_query_stems if len(word) <= MAX_REMEMBERED_CHARACTERS else _list_query_stems.__wrapped__
    return list(find(word, tuple(languages)))


def list_part_stems(word: str, languages: Iterable[str]) -> list[str]:
    """Returns the stems that a word in lower case may have as a part of compounds in an index of these languages, each after the prefix."""
    stems = list_query_stems(word, [language for language in languages if find_language(language)])
    return [f"{COMPOUND}{stem}" for stem in stems]


@lru_cache(maxsize=20_000)
def _list_query_stems(word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    script = find_script(word)
    ordered = dict.fromkeys([*(code for code in languages if script in _WRITTEN_IN.get(code, _LATIN)), _USUAL.get(script, "")])
    found = dict.fromkeys(one for code in ordered for one in stem(word, code))
    return tuple(found | dict.fromkeys([FOLDED[word]] if FOLDED[word] else []))


def find_script(word: str) -> str:
    """Returns the script of a word by its first letter, "" for a script without stems. Digits are Latin."""
    if word.isascii():
        return "latin"
    code = ord(write_raw(word)[0])
    return next((name for low, high, name in _SCRIPTS if low <= code <= high), "")
