"""How text becomes words, the same for every index engine: when indexing, asking and highlighting.

- A word is a run of letters and digits. The marks that scripts write on letters (accents as characters of their own, vowel signs of
  Indic scripts, points of Hebrew and Arabic) and what joins invisibly (soft hyphens, joiners) belong to the word they stand in.
- Words are folded by ``core.wordforms``: letter case, accents, widths and other spellings of the same letter do not count.
- Scripts that write no blanks between words (Han, kana, Thai, Lao, Khmer, Burmese) would come out as sentence-long words, so each of
  their characters is a word of its own: a run that a user types becomes a phrase of its characters, which finds exactly the texts
  that hold the run.

What is split here goes to an engine as folded words joined by blanks, and no engine splits or folds again.
"""

import re
import unicodedata

from feedmill.core.wordforms import FOLDED, MARKS, MAX_WORD_BYTES

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

# a run of a spaceless script, or a word of another; what stands between is no word
_TOKEN = re.compile(f"[{_SPACELESS}]+|{_WORD}")
_ANY_SPACELESS = re.compile(f"[{_SPACELESS}]")
_RUN = re.compile(f"[{_SPACELESS}]+")
_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]+")
_ONE_WORD = re.compile(_WORD)
_NO_RUN = re.compile(f"[^{_SPACELESS}]+")
_LATIN = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")

# typographic quotes, dashes, blanks and signs, which many texts have that are ASCII otherwise
_TYPOGRAPHY = re.compile(
    "[\u0080-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u2000-\u200b\u200e-\u206f\u20a0-\u20cf]"
)

_PART_OF_A_WORD = re.compile(f"[{MARKS}{_SPACELESS}]")


class _StandsApart(dict[str, bool]):
    """Characters, and whether each is neither a letter nor a digit nor anything that belongs to a word; each looked at once."""

    def __missing__(self, character: str) -> bool:
        if len(self) >= MAX_CHARACTERS_KNOWN:
            self.clear()
        made = self[character] = not character.isalnum() and _PART_OF_A_WORD.match(character) is None
        return made


_STANDS_APART = _StandsApart()
_ASCII_BYTES = bytes(range(128))


# one pass that lowers letters and blanks out all that is neither letter nor digit
_ASCII = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
_ASCII_TABLE = _ASCII.encode().ljust(256)

MAX_CHARACTERS_KNOWN = 10_000
MANY_ACCENTS = 30
"""From how many different accented letters on a text is not gone through once for each."""


def lay_out(text: str) -> str:
    """Returns the folded words of a text, in order, joined by blanks; ASCII text costs next to nothing."""
    text = without_typography(text)
    if text.isascii():
        return text.translate(_ASCII)
    tokens = list_raw_words(text)
    if _ANY_SPACELESS.search(text) is None:
        return " ".join(map(FOLDED.__getitem__, tokens))
    return " ".join([" ".join(list_characters(token)) if is_spaceless(token) else FOLDED[token] for token in tokens])


def without_typography(text: str) -> str:
    """Returns the text with blanks for typographic signs that no word holds, which makes most texts of Latin script ASCII."""
    return text if text.isascii() else _TYPOGRAPHY.sub(" ", text)


def blank_out(text: str) -> str | None:
    """Returns a text of ASCII words in lower case, each where it was, and blanks for all else; None for a text that has other letters,
    or marks that belong to a word."""
    if text.isascii():
        return text.encode("ascii").translate(_ASCII_TABLE).decode("ascii")
    if not all(map(_STANDS_APART.__getitem__, _list_foreign(text))):
        return None
    # one sign for each character that is not ASCII, which then becomes a blank
    return text.encode("ascii", "replace").translate(_ASCII_TABLE).decode("ascii")


def _list_foreign(text: str) -> set[str]:
    """Returns the different characters that are not ASCII; bytes are passed over ten times as fast as characters."""
    return set(text.encode("utf-8", "surrogatepass").translate(None, _ASCII_BYTES).decode("utf-8", "surrogatepass"))


def split_words(text: str) -> list[str]:
    """Returns the folded words of a text, without those that are longer than an index takes."""
    return [word for word in lay_out(text).split() if len(word) <= MAX_WORD_BYTES]


def list_raw_words(text: str) -> list[str]:
    """Returns the words of a text in lower case, not folded; a run of a spaceless script is one."""
    if text.isascii():
        return text.translate(_ASCII).split()
    return _TOKEN.findall(text.lower())


def list_characters(run: str) -> list[str]:
    """Returns the words that a run of a spaceless script is split into: its characters, in one spelling each."""
    return list(unicodedata.normalize("NFKC", run).replace(" ", ""))


def fold_words(text: str) -> list[tuple[str, int, int]]:
    """Returns the folded words of a text with their places in it, in characters."""
    if text.isascii():
        return [(folded, *match.span()) for match in _TOKEN.finditer(text.lower()) if (folded := FOLDED[match[0]])]
    tokens: list[tuple[str, int, int]] = []
    for match in _TOKEN.finditer(text):
        raw, (start, end) = match[0], match.span()
        if not is_spaceless(raw):
            if folded := FOLDED[raw.lower()]:
                tokens.append((folded, start, end))
        elif unicodedata.is_normalized("NFKC", raw):
            tokens += ((character, start + index, start + index + 1) for index, character in enumerate(raw))
        else:
            tokens += _place_pieces(raw, start)
    return tokens


# what may melt into one character under normalisation
_PIECE = re.compile(rf".[\u3099\u309a\uff9e\uff9f{MARKS}\u0e31-\u0e4e\u0eb1-\u0ece\u102b-\u103e\u17b4-\u17d3]*", re.DOTALL)


def _place_pieces(run: str, start: int) -> list[tuple[str, int, int]]:
    return [
        (character, start + match.start(), start + match.end()) for match in _PIECE.finditer(run) for character in list_characters(match[0])
    ]


class _GramSizes(dict[str, int]):
    """First characters of words, and the ``gram_size`` of a run that begins so, 0 for other words; each looked at once."""

    def __missing__(self, character: str) -> int:
        if len(self) >= MAX_CHARACTERS_KNOWN:
            self.clear()
        is_of_run = _RUN.match(character) is not None
        made = self[character] = (3 if character < "\u3000" or "\ua9e0" <= character <= "\uaa7f" else 2) if is_of_run else 0
        return made


GRAM_SIZES = _GramSizes()


def is_spaceless(text: str) -> bool:
    """Whether the text begins with a character of a script that writes no blanks between words."""
    return GRAM_SIZES[text[:1]] > 0


def has_spaceless(text: str) -> bool:
    """Whether a character of such a script stands anywhere in the text."""
    return not text.isascii() and _ANY_SPACELESS.search(text) is not None


def gram_size(word: str) -> int:
    """Returns how many neighbouring characters of a word come near to a word of its language; 0 for scripts where a word is one."""
    if size := GRAM_SIZES[word[:1]]:
        return size
    return 2 if word[:1] >= "\u1100" and _HANGUL.fullmatch(word) else 0


def list_grams(text: str, size: int) -> list[str]:
    """Returns the overlapping pieces of a text of this many characters, the whole text where it is shorter."""
    if len(text) <= size:
        return [text] if text else []
    return [text[start : start + size] for start in range(len(text) - size + 1)]


def split_runs(text: str) -> list[tuple[str, int]]:
    """Returns a text cut where its words and spaceless runs begin and end, each piece as written with its ``gram_size``.

    Shape: what is no word between two words of one script stays with them, so that ``3.11`` is one piece; Hangul is cut at it.
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
    """Returns the text in lower case and without Latin accents, each character at the place where it was.

    It is near to what an index folds, and is meant for finding places in a text, not for deciding a match.
    """
    if text.isascii():
        return text.lower()
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(lower if len(lower := character.lower()) == 1 else character for character in text)
    accented = [letter for letter in _list_foreign(folded) if _LATIN.match(letter)]
    if len(accented) > MANY_ACCENTS:
        return _LATIN.sub(lambda match: _BASES[match[0]], folded)
    for letter in accented:
        folded = folded.replace(letter, _BASES[letter])
    return folded


class _Bases(dict[str, str]):
    """Letters of the Latin script without their accents, each worked out once."""

    def __missing__(self, letter: str) -> str:
        base = unicodedata.normalize("NFD", letter)[0]
        made = self[letter] = base if base.isascii() else letter
        return made


_BASES = _Bases()


def fold_value(text: str) -> str:
    """Returns a value for comparing whole, without regard to letter case, composition and repeated white space."""
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
