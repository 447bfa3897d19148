"""Words of which only pieces are given, such as ``cell*`` and ``colo*r``.

- A star means any characters of the word, or none. The first character is required, and at least two in total. A word that begins with a
  star or contains other signs is searched as words, as if it had no star.
- Pieces are compared with whole words as they are written, not with their stems. Letter case and accents do not count.
"""

import re
from functools import lru_cache

from feedmill.core.text.analysis import has_spaceless, split_words

MAX_PIECES = 6

# each turn of the group takes one star: there is one way to match, however many stars there are
_SHAPE = re.compile(r"[^\W_]+(?:\*[^\W_]*)+")
_STARS = re.compile(r"\*+")


def is_wildcard(text: str) -> bool:
    """Whether a word is a wildcard."""
    if "*" not in text or _SHAPE.fullmatch(text) is None or has_spaceless(text):
        return False
    return bool(list_pieces(text))


def list_pieces(text: str) -> tuple[str, ...]:
    """Returns the folded pieces between stars, "" after a final star; empty if they are no pieces of one word."""
    pieces = _STARS.split(text)
    # With each star, an engine has to visit more words of its dictionary.
    if len(pieces) > MAX_PIECES or sum(map(len, pieces)) < 2:
        return ()
    folded = [split_words(piece) if piece else [""] for piece in pieces]
    return tuple(one[0] for one in folded) if all(len(one) == 1 for one in folded) else ()


def fold_wildcard(text: str) -> str:
    """Returns a wildcard with its pieces folded."""
    return "*".join(list_pieces(text))


@lru_cache(maxsize=256)
def compile_wildcard(folded: str) -> re.Pattern[str]:
    """Returns the regular expression for the words that a folded wildcard matches."""
    return re.compile(".*".join(re.escape(piece) for piece in folded.split("*")))
