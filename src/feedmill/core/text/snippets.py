"""Makes the snippet of a text: the piece that best shows why the text matched.

The search has two passes, so the work stays small however long the text is.

1. It searches the beginning (``SCANNED_CHARACTERS``, folded in a cheap way) for the words of the query. The window with the most different
   words wins, then the one with the most words, then the earliest. If the beginning holds none, it searches the rest for the words in their
   usual spelling, without folding.
2. It splits only the chosen window into words exactly as the index does, and highlights the words that match.

A snippet begins with the sentence of the first word if that is near, and has a sign between a heading and what follows it.

Most texts are ASCII except for typographic signs. In a laid-out text every other character is a blank, so each word lies between two blanks
and no letter must be examined separately.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence, Set
from functools import lru_cache
from itertools import pairwise

from feedmill.core.text.analysis import blank_out, fold_in_place, is_spaceless
from feedmill.core.text.wildcards import compile_wildcard
from feedmill.model.results import Snippet

Fold = Callable[[str], list[tuple[str, int, int]]]
"""Splits a text into folded words with their positions, as the index does."""

FindForms = Callable[[str, Set[str]], list[tuple[int, int]]]
"""Returns the ranges of words in a laid-out text that are among the wanted words or are forms of them, in order."""

FindCompounds = Callable[[str], Sequence[tuple[str, int]]]
"""Returns words of a text that hold a term, each with the number of the term. Shape: of the text as ``fold_in_place`` returns it."""

SNIPPET_CHARACTERS = 240
SCANNED_CHARACTERS = 200_000
SCANNED_FOLDED_CHARACTERS = 40_000
RAW_SCANNED_CHARACTERS = 2_000_000
MAX_TERMS = 12
MAX_PLACES = 60
MAX_TRIES = 2_000
_MORE_THAN_ALL = 2 * MAX_TERMS * MAX_PLACES
LEAD_CHARACTERS = 60

_BLANKS = re.compile(r"\s+")
# the end of a line or of a sentence; no sentence begins with a small letter; one class first is found twice as fast as alternatives
_SENTENCE_END = re.compile(r"""[.!?\n。！？](?:(?<=[\n。！？])|["'”’»)\]]*\s+(?![a-z]))""")
# the end of a line between two that may belong to different sentences; it begins with what the search can jump to
_BREAK = re.compile(r"""\n(?<=[^.!?:;,…·|–—\-/(=\\。！？：；，、．]\n)[^.:;,…·|–—\-/)=。：；，、]""")

# not the name of a function or file
_PLAIN_WORD = re.compile(r"""[^\W\d_]+(?:[-'’][^\W\d_]+)*[,;.:!?)\]"'”’»]*""")

SEPARATOR = " · "
LEAST_WIDTH = 60

_Places = list[tuple[int, int]]


def make_snippet(
    text: str,
    terms: Sequence[str],
    fold: Fold,
    size: int = SNIPPET_CHARACTERS,
    roots: Sequence[str] | None = None,
    find_forms: FindForms | None = None,
    find_compounds: FindCompounds | None = None,
) -> Snippet:
    """Returns the best passage with its highlights, or the beginning of the text if no term occurs.

    Shape: ``terms`` are folded words, phrases (folded words joined by blanks) or wildcards. ``roots`` say how each term may begin in a
    text, with a star where it may continue. ``fold`` returns every form of a term as that term; ``find_forms`` does the same for ASCII
    words. Units: ``size`` characters, approximately.
    """
    if text[:1].isspace():
        text = text.lstrip()
    wanted = terms[:MAX_TERMS]
    places = find_places(text, wanted if roots is None else roots[:MAX_TERMS], find_compounds=find_compounds)
    start = _best_start(places, size) if places else 0
    passage = _cut_snippet(text, start, size)
    return Snippet(text=passage, marks=tuple(find_marks(passage, wanted, fold, find_forms)))


def find_marks(passage: str, terms: Sequence[str], fold: Fold, find_forms: FindForms | None = None) -> _Places:
    """Returns the ranges of the terms in a passage; joins ranges that touch. Shape: as in ``make_snippet``."""
    if not terms or not passage:
        return []
    singles, sequences, wildcards = _read_terms(tuple(terms))
    # fast path for single words in a text that can be laid out: it needs neither folding nor tokens
    if find_forms is not None and not sequences and not wildcards and (laid_out := blank_out(passage)) is not None:
        return find_forms(laid_out, singles)
    places = fold(passage)
    tokens = [token for token, _, _ in places]
    # the indexes of the tokens to highlight: single words, then wildcards, then the words of each phrase
    covered = {index for index, token in enumerate(tokens) if token in singles}
    for wanted in wildcards:
        covered |= {index for index, token in enumerate(tokens) if wanted.fullmatch(token)}
    for words in sequences:
        covered |= _cover_sequence(tokens, words)
    return _join([places[index][1:] for index in sorted(covered)])


def count_terms(tokens: list[str], terms: Sequence[str]) -> dict[int, int]:
    """Returns how often a text holds each term, by the term's number, for those that it holds. Shape: ``tokens`` are its folded words."""
    often = Counter(tokens)
    counts: dict[int, int] = {}
    for number, term in enumerate(terms):
        words = term.split()
        if "*" in term:
            count = sum(map(bool, map(compile_wildcard(term).fullmatch, tokens)))
        elif len(words) > 1:
            count = len(_cover_sequence(tokens, words)) // len(words)
        else:
            count = often[term]
        if count:
            counts[number] = count
    return counts


@lru_cache(maxsize=256)
def _read_terms(terms: tuple[str, ...]) -> tuple[frozenset[str], list[list[str]], list[re.Pattern[str]]]:
    """Returns the single words of the terms, the phrases word by word, and the patterns of the wildcards."""
    sequences = [words for term in terms if "*" not in term and (words := term.split())]
    singles = frozenset(words[0] for words in sequences if len(words) == 1)
    return singles, [words for words in sequences if len(words) > 1], [compile_wildcard(term) for term in terms if "*" in term]


def _cover_sequence(tokens: list[str], words: list[str]) -> set[int]:
    """Returns the positions of all words that are part of an occurrence of the sequence."""
    size = len(words)
    return {
        place
        for start, token in enumerate(tokens)
        if token == words[0] and tokens[start : start + size] == words
        for place in range(start, start + size)
    }


def _join(ranges: _Places) -> _Places:
    joined: _Places = []
    for start, end in ranges:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


# --- finding the window ---------------------------------------------------------------------------------------------------------


def find_places(
    text: str, terms: Sequence[str], *, most: int = MAX_PLACES, scanned: int = 0, find_compounds: FindCompounds | None = None
) -> _Places:
    """Returns (position, number of the term) in the order of positions, fast and by the beginnings of words alone.

    Shape: ``terms`` are what ``make_snippet`` calls roots; ``most`` positions of each. Units: ``scanned`` characters, as many as a snippet
    needs by default.
    """
    # folding is slower than laying out, so less of a text with other characters is scanned
    size = scanned or (SCANNED_CHARACTERS if text[:SCANNED_CHARACTERS].isascii() else SCANNED_FOLDED_CHARACTERS)
    head = text[:size]
    laid_out = blank_out(head)
    places: _Places = []
    if laid_out is not None:
        # one blank on both sides, so that the first and the last word lie between blanks too
        laid_out = f" {laid_out} "
        for number, term in enumerate(terms):
            _add_whole_words(places, number, laid_out, term, most)
    else:
        head = fold_in_place(head)
        for number, term in enumerate(terms):
            places += [(place, number) for place in _occurrences(head, _first_word(term), 0, len(head), most)]
    # for a snippet only if they are needed: looking for them takes as long as for all else
    if find_compounds is not None and (scanned or len({number for _, number in places}) < len(terms)):
        for word, number in find_compounds(head if laid_out is None else fold_in_place(head)):
            if laid_out is None:
                places += [(place, number) for place in _occurrences(head, word, 0, len(head), most)]
            else:
                _add_whole_words(places, number, laid_out, blank_out(word) or word, most)
    if not places and len(text) > size:
        # no term is in the scanned part: searches the rest without folding it
        places = _find_raw(text, terms, size)
    places.sort()
    return places


def _first_word(term: str) -> str:
    first = term.split(" ", 1)[0]
    return term.replace(" ", "") if first and is_spaceless(first[0]) else first


@lru_cache(maxsize=256)
def _read_whole_word(term: str) -> tuple[str, int]:
    """Returns what to look for in a laid-out text for a term, and the characters to skip behind each place; "" for nothing.

    A star allows the word to continue, so no blank must follow. The leading blank and the word are skipped, but not the trailing blank.
    """
    word, star, _ = _first_word(term).partition("*")
    return (f" {word}" if star else f" {word} ") if word else "", len(word) + 1


def _add_whole_words(places: _Places, number: int, laid_out: str, term: str, most: int) -> None:
    """Adds the positions of a word in a laid-out text with a blank on both sides; positions refer to the text without these."""
    wanted, step = _read_whole_word(term)
    if not wanted:
        return
    find = laid_out.find
    # so that the first search starts at 0
    place = -step
    for _ in range(most):
        place = find(wanted, place + step)
        if place < 0:
            return
        places.append((place, number))


def _occurrences(text: str, word: str, start: int, end: int, most: int = MAX_PLACES) -> list[int]:
    found: list[int] = []
    word, star, _ = word.partition("*")
    # a script without blanks between words has no word borders to check
    whole = not (word and is_spaceless(word[0]))
    place = text.find(word, start, end) if word else -1
    for _ in range(MAX_TRIES):
        if place < 0 or len(found) == most:
            break
        after = place + len(word)
        # no letter or digit may precede the word, nor follow it unless it has a star
        if not whole or not (text[place - 1 : place].isalnum() or (not star and text[after : after + 1].isalnum())):
            found.append(place)
        place = text.find(word, after, end)
    return found


def _find_raw(text: str, terms: Sequence[str], start: int) -> _Places:
    # The more terms, the less of the text for each, so the whole search takes the same time at most.
    end = min(len(text), start + RAW_SCANNED_CHARACTERS // max(len(terms), 1))
    places: _Places = []
    for number, term in enumerate(terms):
        word = _first_word(term)
        # As people write a word most often: in lower case, and with a capital. Folding the rest of the text would take too long.
        for form in dict.fromkeys((word, word.capitalize())):
            places += ((place, number) for place in _occurrences(text, form, start, end))
    return places


def _best_start(places: _Places, size: int) -> int:
    # A window slides over the positions from ``start`` to ``place``. ``inside`` counts each term in it. ``worth`` prefers more different
    # words, then more words: ``_MORE_THAN_ALL`` exceeds every possible number of positions.
    reach = max(size - LEAD_CHARACTERS, size // 2)
    inside = [0] * MAX_TERMS
    behind = iter(places)
    start, gone = next(behind)
    worth = best = 0
    best_start = start
    for place, number in places:
        worth += 1 if inside[number] else _MORE_THAN_ALL
        inside[number] += 1
        # moves the start of the window until it is no wider than ``reach``
        while place - start > reach:
            inside[gone] -= 1
            worth -= 1 if inside[gone] else _MORE_THAN_ALL
            start, gone = next(behind)
        if worth > best:
            best, best_start = worth, start
    return best_start


# --- cutting it out -------------------------------------------------------------------------------------------------------------


def _cut_snippet(text: str, start: int, size: int) -> str:
    """Returns about ``size`` characters around ``start``, cut between words, with collapsed white space and an ellipsis where text is cut
    off.
    """
    begin = _word_start(text, max(0, start - LEAD_CHARACTERS), start)
    # twice the size, since collapsing white space may shorten the piece
    piece = text[begin : begin + 2 * size]
    if _BREAK.search(piece) is not None:
        piece = _join_lines(piece, begin - text.rfind("\n", 0, begin) - 1)
    passage = " ".join(piece.split())
    is_cut = begin + 2 * size < len(text)
    if len(passage) > size:
        passage, is_cut = _cut_end(passage, size), True
    ahead = text[max(0, begin - 200) : begin].strip() if begin else ""
    return ("… " if ahead else "") + passage + (" …" if is_cut and passage else "")


def _join_lines(piece: str, before: int) -> str:
    """Returns the lines of a piece in one, with a sign between two that do not belong to one sentence, such as a heading and its text.

    A sentence goes on behind a line that had no room for the first word of the next one, and before a word in lower case.
    Units: the first line has so many characters ``before`` the piece.
    """
    lines = [line for line in map(str.strip, piece.split("\n")) if line]
    joined = lines[:1]
    # the last line may be cut, but not to more than it has
    width = max(LEAST_WIDTH, before + len(lines[0]), *map(len, lines))
    for line, behind in pairwise(lines):
        size = len(line) if len(joined) > 1 else before + len(line)
        joined += (SEPARATOR if _begins_anew(line, behind.split(" ", 1)[0], width - size) else " ", behind)
    return "".join(joined)


def _begins_anew(line: str, word: str, room: int) -> bool:
    """Whether a word behind a line begins something else. Units: the line had room for so many characters more."""
    is_small = word[0].islower() and not line.isupper() and _PLAIN_WORD.fullmatch(word) is not None
    return 1 + len(word) <= room and not is_small and _BREAK.search(f"{line[-1]}\n{word[0]}") is not None


def _word_start(text: str, low: int, high: int) -> int:
    """Returns the position of a word between ``low`` and ``high``: behind the last sentence that ends there, else the first word."""
    if low == 0:
        return 0
    lead = text[low:high]
    if ends := [found.end() for found in _SENTENCE_END.finditer(lead)]:
        return low + ends[-1]
    blank = _BLANKS.search(lead)
    return low + blank.end() if blank else low


def _cut_end(passage: str, size: int) -> str:
    # In the second half only: a script without blanks, or one long word, is cut inside the word instead.
    blank = passage.rfind(" ", size // 2, size + 1)
    return passage[: blank if blank > 0 else size].rstrip(SEPARATOR)
