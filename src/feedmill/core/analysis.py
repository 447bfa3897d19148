"""How text becomes words, as far as it is the same for every index engine.

An engine splits at everything that is no letter or digit, folds case and accents. Scripts that write no blanks between words (Han,
kana, Thai, Lao, Khmer, Burmese) would come out as sentence-long words, so each of their characters is set apart before the engine
sees the text, when indexing and when asking alike: a run that a user types becomes a phrase of its characters, which finds exactly
the texts that hold the run. Accents written as characters of their own are composed first, or the engine would split at them.
Halves of surrogate pairs, which no engine can store, become blanks.
"""

import re
import unicodedata

_SPACELESS = (
    "\u0e01-\u0edf"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3031-\u3035\u3041-\u30ff\u31f0-\u31ff"  # iteration marks, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uff66-\uff9f"  # half-width kana
    "\U00020000-\U0003ffff"  # Han beyond the first plane
)
_ACCENTS = "\u0300-\u036f"
_LONE = "\ud800-\udfff"
_NEEDS_WORK = re.compile(f"[{_ACCENTS}{_SPACELESS}{_LONE}]")
_RUN = re.compile(f"[{_SPACELESS}]+")
_PIECE = re.compile(f"[^{_ACCENTS}][{_ACCENTS}]+|[{_SPACELESS}]|[{_LONE}]")

_LONE_ONE = re.compile(f"[{_LONE}]")
_LATIN = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")


def segment(text: str) -> str:
    """Returns the text with spaceless characters set apart and accents composed; most texts come back as they are, at little cost."""
    if text.isascii() or _NEEDS_WORK.search(text) is None:
        return text
    whole = _LONE_ONE.sub(" ", unicodedata.normalize("NFC", text))
    return _RUN.sub(lambda run: " " + " ".join(run[0]) + " ", whole)


def segment_with_places(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """Returns the text as ``segment`` does, and for each of its characters where it stood in the text given.

    Shape: places are (start, end) in the text given, None when nothing moved. Meant for short passages: it walks every character.
    """
    if text.isascii() or _NEEDS_WORK.search(text) is None:
        return text, None
    pieces: list[str] = []
    places: list[tuple[int, int]] = []
    position = 0
    for match in _PIECE.finditer(text):
        start, end = match.span()
        places.extend((index, index + 1) for index in range(position, start))
        found = match[0]
        made = _LONE_ONE.sub(" ", unicodedata.normalize("NFC", found)) if len(found) > 1 else _set_apart(found)
        pieces += (text[position:start], made)
        places.extend([(start, end)] * len(made))
        position = end
    pieces.append(text[position:])
    places.extend((index, index + 1) for index in range(position, len(text)))
    return "".join(pieces), places


def _set_apart(character: str) -> str:
    return " " if _LONE_ONE.match(character) else f" {unicodedata.normalize('NFC', character)} "


def is_spaceless(character: str) -> bool:
    """Whether the character belongs to a script that writes no blanks between words."""
    return _RUN.match(character) is not None


def split_runs(text: str) -> list[tuple[str, int]]:
    """Returns a text cut where spaceless runs begin and end, each piece with how many of its characters come near to a word.

    Shape: 0 for a piece of a script that writes blanks, 2 for Han and kana, 3 for scripts of letters; pieces without a letter or
    digit are left out.
    """
    pieces: list[tuple[str, int]] = []
    position = 0
    for match in _RUN.finditer(text):
        pieces += ((text[position : match.start()], 0), (match[0], 3 if match[0][0] < "\u3000" else 2))
        position = match.end()
    pieces.append((text[position:], 0))
    return [piece for piece in pieces if any(character.isalnum() for character in piece[0])]


def fold_in_place(text: str) -> str:
    """Returns the text in lower case and without Latin accents, each character at the place where it was.

    It is near to what an engine folds, and is meant for finding places in a text, not for deciding a match.
    """
    if text.isascii():
        return text.lower()
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(lower if len(lower := character.lower()) == 1 else character for character in text)
    return _LATIN.sub(_without_accent, folded)


def _without_accent(match: re.Match[str]) -> str:
    base = unicodedata.normalize("NFD", match[0])[0]
    return base if base.isascii() else match[0]


def fold_value(text: str) -> str:
    """Returns a value for comparing whole, without regard to letter case, composition and repeated white space."""
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
