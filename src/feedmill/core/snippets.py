"""The passage of a text that shows best why it was found.

The text is looked at twice. First its beginning (``SCANNED_CHARACTERS``, cheaply folded) is searched for the query's words, and the
window that holds most different ones wins, then the one with most of them, then the earliest. Where the beginning holds none, the
rest is tried for the words as they are usually written, without folding it. Then only the window is split into words exactly as the
index does, and the words that matched are marked; so the work stays small however long the text is.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedmill.core.analysis import fold_in_place, is_spaceless
from feedmill.core.wildcards import compile_wildcard
from feedmill.model.search import Snippet

Fold = Callable[[str], list[tuple[str, int, int]]]
"""Splits a text into folded words with their places, as the index does."""

SNIPPET_CHARACTERS = 240
SCANNED_CHARACTERS = 200_000
SCANNED_FOLDED_CHARACTERS = 40_000
RAW_SCANNED_CHARACTERS = 2_000_000
MAX_TERMS = 12
MAX_PLACES = 60
MAX_TRIES = 2_000
LEAD_CHARACTERS = 60

_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Sought:
    """What a query highlights.

    Shape: ``terms`` are folded words, phrases as folded words joined by blanks, or wildcards; ``roots`` how each may begin in a text,
    with a star where it may go on; ``fold`` gives every form of a term as that term.
    """

    terms: tuple[str, ...]
    roots: tuple[str, ...]
    fold: Fold


def find_snippet(text: str, sought: Sought) -> Snippet:
    """Returns the best passage of a text for a query."""
    return make_snippet(text, sought.terms, sought.fold, roots=sought.roots)


def make_snippet(
    text: str, terms: Sequence[str], fold: Fold, size: int = SNIPPET_CHARACTERS, roots: Sequence[str] | None = None
) -> Snippet:
    """Returns the best passage with its marks, from the beginning of the text where no term occurs.

    Shape: ``terms`` and ``roots`` as in ``Sought``. Units: ``size`` characters, about.
    """
    if text[:1].isspace():
        text = text.lstrip()
    wanted = list(terms[:MAX_TERMS])
    places = _find_places(text, wanted if roots is None else list(roots[:MAX_TERMS]))
    start = _best_start(places, size) if places else 0
    passage = _cut(text, start, size)
    return Snippet(text=passage, marks=tuple(find_marks(passage, wanted, fold)))


def find_marks(passage: str, terms: Sequence[str], fold: Fold) -> list[tuple[int, int]]:
    """Returns where the terms stand in a passage; ranges that touch are joined."""
    if not terms or not passage:
        return []
    tokens = fold(passage)
    sequences = [words for term in terms if "*" not in term and (words := term.split())]
    singles = {words[0] for words in sequences if len(words) == 1}
    covered = {index for index, (token, _, _) in enumerate(tokens) if token in singles}
    for wanted in [compile_wildcard(term) for term in terms if "*" in term]:
        covered |= {index for index, (token, _, _) in enumerate(tokens) if wanted.fullmatch(token)}
    for words in sequences:
        if len(words) > 1:
            covered |= _cover_sequence([token for token, _, _ in tokens], words)
    return _join([tokens[index][1:] for index in sorted(covered)])


def _cover_sequence(tokens: list[str], words: list[str]) -> set[int]:
    """Returns the places of all words that stand in a sequence."""
    size = len(words)
    return {
        place
        for start, token in enumerate(tokens)
        if token == words[0] and tokens[start : start + size] == words
        for place in range(start, start + size)
    }


def _join(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


# --- finding the window ---------------------------------------------------------------------------------------------------------


def _find_places(text: str, terms: Sequence[str]) -> list[tuple[int, int]]:
    """Returns (place, number of the term) in the order of places."""
    size = SCANNED_CHARACTERS if text[:SCANNED_CHARACTERS].isascii() else SCANNED_FOLDED_CHARACTERS
    head = fold_in_place(text[:size])
    places: list[tuple[int, int]] = []
    for number, term in enumerate(terms):
        places += ((place, number) for place in _occurrences(head, _first_word(term), 0, len(head)))
    if not places and len(text) > size:
        places = _find_raw(text, terms, size)
    places.sort()
    return places


def _first_word(term: str) -> str:
    first = term.split(" ", 1)[0]
    return term.replace(" ", "") if first and is_spaceless(first[0]) else first


def _occurrences(text: str, word: str, start: int, end: int) -> list[int]:
    found: list[int] = []
    word, star, _ = word.partition("*")
    whole = not (word and is_spaceless(word[0]))
    place = text.find(word, start, end) if word else -1
    for _ in range(MAX_TRIES):
        if place < 0 or len(found) == MAX_PLACES:
            break
        after = place + len(word)
        if not whole or not (text[place - 1 : place].isalnum() or (not star and text[after : after + 1].isalnum())):
            found.append(place)
        place = text.find(word, after, end)
    return found


def _find_raw(text: str, terms: Sequence[str], start: int) -> list[tuple[int, int]]:
    end = min(len(text), start + RAW_SCANNED_CHARACTERS // max(len(terms), 1))
    places: list[tuple[int, int]] = []
    for number, term in enumerate(terms):
        word = _first_word(term)
        for form in dict.fromkeys((word, word.capitalize())):
            places += ((place, number) for place in _occurrences(text, form, start, end))
    return places


def _best_start(places: Sequence[tuple[int, int]], size: int) -> int:
    reach = max(size - LEAD_CHARACTERS, size // 2)
    window: deque[tuple[int, int]] = deque()
    inside: Counter[int] = Counter()
    best, best_start = (0, 0), places[0][0]
    for place, number in places:
        window.append((place, number))
        inside[number] += 1
        while place - window[0][0] > reach:
            _, gone = window.popleft()
            inside[gone] -= 1
        worth = (sum(1 for count in inside.values() if count), len(window))
        if worth > best:
            best, best_start = worth, window[0][0]
    return best_start


# --- cutting it out -------------------------------------------------------------------------------------------------------------


def _cut(text: str, start: int, size: int) -> str:
    """Returns about ``size`` characters around ``start``, cut between words, white space collapsed, an ellipsis where text is left out."""
    begin = _word_start(text, max(0, start - LEAD_CHARACTERS), start)
    piece = text[begin : begin + 2 * size]
    passage = _BLANKS.sub(" ", piece).strip()
    is_cut = begin + len(piece) < len(text)
    if len(passage) > size:
        passage, is_cut = _cut_end(passage, size), True
    ahead = text[max(0, begin - 200) : begin].strip() if begin else ""
    return ("… " if ahead else "") + passage + (" …" if is_cut and passage else "")


def _word_start(text: str, low: int, high: int) -> int:
    """Returns the place of the first word at or after ``low``, behind a sentence's end where one is near, at most ``high``."""
    if low == 0:
        return 0
    lead = text[low:high]
    for sentence in re.finditer(r"[.!?\n]\s+|[。！？]", lead):
        return low + sentence.end()
    blank = _BLANKS.search(lead)
    return low + blank.end() if blank else low


def _cut_end(passage: str, size: int) -> str:
    blank = passage.rfind(" ", size // 2, size + 1)
    return passage[: blank if blank > 0 else size].rstrip()
