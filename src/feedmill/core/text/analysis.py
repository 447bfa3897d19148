"""How text becomes words, the same for every index engine, and for indexing, queries and highlighting.

- A word is a run of letters and digits. Combining marks (accents as separate characters, vowel signs of Indic scripts, points of Hebrew and
  Arabic) and invisible joiners (soft hyphens, zero-width joiners) belong to the word that they are in.
- ``core.text.wordforms`` folds words: letter case, accents, widths and other spellings of the same letter do not count.
- Scripts without blanks between words (Han, kana, Thai, Lao, Khmer, Burmese) would produce words as long as sentences. Each of their
  characters is therefore a separate word. A run that a user types becomes a phrase of its characters, which finds exactly the texts that
  hold the run.

An engine receives the result as folded words joined by blanks, and no engine splits or folds again.
"""

import re
import unicodedata

from feedmill.core.text.wordforms import FOLDED, MARKS, MAX_WORD_BYTES

HAN_AND_KANA = (
    "\u3005-\u3007\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # iteration marks, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uff66-\uff9f"  # half-width kana
    "\U00020000-\U0003ffff"  # Han beyond the first plane
)
_LETTERED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e81-\u0edf"  # Lao
    "\u1000-\u1049\u1050-\u109d\ua9e0-\ua9fe\uaa60-\uaa7f"  # Burmese
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9"  # Khmer
)
_SPACELESS = _LETTERED + HAN_AND_KANA + "\u3099\u309a"
_WORD = rf"[^\W_{_SPACELESS}]+(?:[{MARKS}]+[^\W_{_SPACELESS}]*)*"

# a run of a spaceless script, or a word of another script; the text between matches is no word
_TOKEN = re.compile(f"[{_SPACELESS}]+|{_WORD}")
_ANY_SPACELESS = re.compile(f"[{_SPACELESS}]")
_RUN = re.compile(f"[{_SPACELESS}]+")
# Syllables, and the letters that they consist of: modern ones, ancient ones and those for single use.
_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]+")
_ONE_WORD = re.compile(_WORD)
_NO_RUN = re.compile(f"[^{_SPACELESS}]+")
_LATIN = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")
_NOT_BEFORE_LATIN = bytes(byte for byte in range(256) if byte not in {*range(0xC3, 0xCA), 0xE1})
"""The bytes with which no letter that matches ``_LATIN`` begins in UTF-8."""

# typographic quotes, dashes, blanks and signs, which occur in many texts that are otherwise ASCII
_TYPOGRAPHY = re.compile(
    "[\u0080-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u2000-\u200b\u200e-\u206f\u20a0-\u20cf]"
)

_PART_OF_A_WORD = re.compile(f"[{MARKS}{_SPACELESS}]")


class _StandsApart(dict[str, bool]):
    """Caches, for each character, whether it is neither a letter nor a digit nor part of a word."""

    def __missing__(self, character: str) -> bool:
        if len(self) >= MAX_CHARACTERS_KNOWN:
            self.clear()
        made = self[character] = not character.isalnum() and _PART_OF_A_WORD.match(character) is None
        return made


_STANDS_APART = _StandsApart()
_ASCII_BYTES = bytes(range(128))


# translation table for one pass: lowers letters, and turns everything that is neither letter nor digit into a blank
_ASCII = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
_ASCII_TABLE = _ASCII.encode().ljust(256)
# the same for text in UTF-8, whose other characters stay
_UTF8_TABLE = _ASCII.encode() + bytes(range(128, 256))

MAX_CHARACTERS_KNOWN = 10_000
NEAR_CHARACTERS = 200
MANY_ACCENTS = 30
"""The number of different accented letters above which a text is folded in one pass instead of one pass for each letter."""
MOST_FOREIGN = 0.5
"""The bytes beyond ASCII for each character of a text, above which a search for its words takes no longer than anything else."""


def lay_out(text: str) -> str:
    """Returns the folded words of a text, in order, joined by blanks. ASCII text is fast."""
    if text.isascii():
        return text.translate(_ASCII)
    spaced = space_out(text)
    if spaced is not None:
        return fold_spaced(spaced)
    tokens = list_raw_words(without_typography(text))
    if not has_spaceless(text):
        return " ".join(map(FOLDED.__getitem__, tokens))
    return " ".join([" ".join(list_characters(token)) if is_spaceless(token) else FOLDED[token] for token in tokens])


def space_out(text: str) -> str | None:
    """Returns the words of a text in lower case, not folded, with blanks between them.

    Returns None for a text with marks, with a spaceless script, or with as many other letters as such a script has. For texts in Latin
    script it takes a fifth of the time of a search for words.
    """
    data = _drop_ascii(text)
    if len(data) > len(text) * MOST_FOREIGN:
        return None
    foreign = set(data.decode("utf-8", "surrogatepass"))
    apart = [character for character in foreign if not character.isalnum()]
    if len(apart) > MANY_ACCENTS or _PART_OF_A_WORD.search("".join(foreign).lower()) is not None:
        return None
    for character in apart:
        text = text.replace(character, " ")
    return text.lower().encode().translate(_UTF8_TABLE).decode()


def fold_spaced(spaced: str) -> str:
    """Returns the folded words of a text that ``space_out`` has returned, with blanks between them."""
    letters = set() if spaced.isascii() else _list_foreign(spaced)
    # a letter whose folded form is in ASCII has this form in every word
    if len(letters) > MANY_ACCENTS or not all(map(str.isascii, map(_LETTERS.__getitem__, letters))):
        return " ".join(map(FOLDED.__getitem__, spaced.split()))
    for letter in letters:
        spaced = spaced.replace(letter, _LETTERS[letter])
    return spaced


class _Letters(dict[str, str]):
    """Caches the folded forms of single letters, apart from those of words."""

    def __missing__(self, letter: str) -> str:
        if len(self) >= MAX_CHARACTERS_KNOWN:
            self.clear()
        made = self[letter] = FOLDED.make_form(letter)
        return made


_LETTERS = _Letters()


def without_typography(text: str) -> str:
    """Returns the text with blanks for typographic signs that no word contains. Most texts in Latin script become ASCII by this."""
    return text if text.isascii() else _TYPOGRAPHY.sub(" ", text)


def blank_out(text: str) -> str | None:
    """Returns a text of ASCII words in lower case at their original positions, with blanks for all other characters.

    Returns None for a text that has other letters, or marks that belong to a word.
    """
    if text.isascii():
        return text.encode("ascii").translate(_ASCII_TABLE).decode("ascii")
    # most texts that have other letters have one near their beginning, and all characters of a long text take a fifth of a millisecond
    if not (_has_no_other_letters(text[:NEAR_CHARACTERS]) and _has_no_other_letters(text)):
        return None
    # encoding replaces each other character by one "?", which then becomes a blank, so positions do not change
    return text.encode("ascii", "replace").translate(_ASCII_TABLE).decode("ascii")


def _has_no_other_letters(text: str) -> bool:
    return all(map(_STANDS_APART.__getitem__, _list_foreign(text)))


def _list_foreign(text: str) -> set[str]:
    """Returns the different characters that are not ASCII. Deleting ASCII from bytes is ten times as fast as testing characters."""
    return set(_drop_ascii(text).decode("utf-8", "surrogatepass"))


def _drop_ascii(text: str) -> bytes:
    """Returns the characters of a text that are not ASCII, in UTF-8."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII_BYTES)


def split_words(text: str) -> list[str]:
    """Returns the folded words of a text, without those that are longer than an index accepts."""
    return [word for word in lay_out(text).split() if len(word) <= MAX_WORD_BYTES]


def list_raw_words(text: str) -> list[str]:
    """Returns the words of a text in lower case, not folded. A run of a spaceless script counts as one word."""
    if text.isascii():
        return text.translate(_ASCII).split()
    return _TOKEN.findall(text.lower())


def list_characters(run: str) -> list[str]:
    """Returns the words that a run of a spaceless script is split into: its characters, each in one normalized spelling."""
    return list(unicodedata.normalize("NFKC", run).replace(" ", ""))


def fold_words(text: str) -> list[tuple[str, int, int]]:
    """Returns the folded words of a text with their positions in characters."""
    if text.isascii():
        return [(folded, *match.span()) for match in _TOKEN.finditer(text.lower()) if (folded := FOLDED[match[0]])]
    tokens: list[tuple[str, int, int]] = []
    for match in _TOKEN.finditer(text):
        raw, (start, end) = match[0], match.span()
        if not is_spaceless(raw):
            if folded := FOLDED[raw.lower()]:
                tokens.append((folded, start, end))
        # Normalization would change neither the number nor the places of the characters.
        elif unicodedata.is_normalized("NFKC", raw):
            tokens += ((character, start + index, start + index + 1) for index, character in enumerate(raw))
        else:
            tokens += _place_pieces(raw, start)
    return tokens


# a character with the marks that normalization may merge with it
_PIECE = re.compile(rf".[\u3099\u309a\uff9e\uff9f{MARKS}\u0e31-\u0e4e\u0eb1-\u0ece\u102b-\u103e\u17b4-\u17d3]*", re.DOTALL)


def _place_pieces(run: str, start: int) -> list[tuple[str, int, int]]:
    return [
        (character, start + match.start(), start + match.end()) for match in _PIECE.finditer(run) for character in list_characters(match[0])
    ]


class _GramSizes(dict[str, int]):
    """Caches the ``gram_size`` of runs by the first character of a word, 0 for other words."""

    def __missing__(self, character: str) -> int:
        if len(self) >= MAX_CHARACTERS_KNOWN:
            self.clear()
        is_of_run = _RUN.match(character) is not None
        # Three characters in the scripts with letters (Thai to Khmer and Burmese), two in Han and kana.
        made = self[character] = (3 if character < "\u3000" or "\ua9e0" <= character <= "\uaa7f" else 2) if is_of_run else 0
        return made


GRAM_SIZES = _GramSizes()


def is_spaceless(text: str) -> bool:
    """Whether the text begins with a character of a script that writes no blanks between words."""
    return GRAM_SIZES[text[:1]] > 0


def has_spaceless(text: str) -> bool:
    """Whether the text contains a character of a spaceless script."""
    return not text.isascii() and _ANY_SPACELESS.search(text) is not None


def gram_size(word: str) -> int:
    """Returns how many neighbouring characters approximate a word of the language; 0 for scripts that separate words."""
    if size := GRAM_SIZES[word[:1]]:
        return size
    return 2 if word[:1] >= "\u1100" and _HANGUL.fullmatch(word) else 0


def list_grams(text: str, size: int) -> list[str]:
    """Returns the overlapping pieces of a text that have this many characters, or the whole text if it is shorter."""
    if len(text) <= size:
        return [text] if text else []
    return [text[start : start + size] for start in range(len(text) - size + 1)]


def split_runs(text: str) -> list[tuple[str, int]]:
    """Returns a text cut at the borders of its words and spaceless runs, each piece as written with its ``gram_size``.

    Shape: a separator between two words of one script stays with them, so ``3.11`` is one piece; Hangul is cut at it.
    """
    pieces: list[tuple[str, int]] = []
    for match in re.finditer(rf"{_RUN.pattern}|{_NO_RUN.pattern}", text):
        if is_spaceless(match[0]):
            pieces.append((match[0], gram_size(match[0])))
            continue
        words = _ONE_WORD.findall(match[0])
        if any(gram_size(word) for word in words):
            pieces += ((word, gram_size(word)) for word in words)
        elif words:
            pieces.append((match[0], 0))
    return pieces


def fold_in_place(text: str) -> str:
    """Returns the text in lower case and without Latin accents. Every character retains its position.

    The result approximates what an index folds. Use it to find positions in a text, not to decide a match.
    """
    if text.isascii():
        return text.lower()
    folded = text.lower()
    # a few letters become two in lower case; those stay as they are, so that positions do not change
    if len(folded) != len(text):
        folded = "".join(lower if len(lower := character.lower()) == 1 else character for character in text)
    accented = _list_accented(folded)
    if len(accented) > MANY_ACCENTS:
        return _LATIN.sub(lambda match: _BASES[match[0]], folded)
    for letter in accented:
        folded = folded.replace(letter, _BASES[letter])
    return folded


def _list_accented(text: str) -> list[str]:
    """Returns the different letters of a text that match ``_LATIN``. The bytes of a text in another script soon tell that it has none."""
    if not text.encode("utf-8", "surrogatepass").translate(None, _NOT_BEFORE_LATIN):
        return []
    return [letter for letter in _list_foreign(text) if _LATIN.match(letter)]


class _Bases(dict[str, str]):
    """Caches Latin letters without their accents."""

    def __missing__(self, letter: str) -> str:
        # The first character of the decomposed letter. A letter without an ASCII base, such as the German sharp s, stays.
        base = unicodedata.normalize("NFD", letter)[0]
        made = self[letter] = base if base.isascii() else letter
        return made


_BASES = _Bases()


def fold_value(text: str) -> str:
    """Returns a value for comparison as a whole. Letter case, composition and repeated white space do not count."""
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
