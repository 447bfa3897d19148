"""Completes a user's input from titles.

A title must contain the input word by word; the last word may be unfinished. The completion continues to the end of that word, and up to
``MAX_MORE`` words further. A longer completion does not end with a word of three letters or fewer, which would often be incomplete. All
completions are in lower case. For scripts without blanks between words, whole titles that contain the input are the completions.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from feedmill.core.text.analysis import fold_in_place, is_spaceless
from feedmill.core.text.plainwords import PlainWord, iter_words

MAX_MORE = 2
MIN_LAST_CHARACTERS = 4
MAX_CHARACTERS = 80


def complete_from(titles: Iterable[str], typed: str) -> dict[str, str]:
    """Returns completions by their folded form, the most frequent first and the shorter first among equals."""
    start = [word.folded for word in iter_words(typed)]
    if not start:
        return {}
    counts: dict[str, int] = {}
    shown: dict[str, str] = {}
    spaceless = any(is_spaceless(character) for character in start[-1])
    # Each title once: one that a thousand documents share counts once.
    for title in dict.fromkeys(titles):
        found = _whole(title, typed) if spaceless else _pieces(title, start, is_finished=typed[-1:].isspace())
        for folded, text in dict(found).items():
            counts[folded] = counts.get(folded, 0) + 1
            shown.setdefault(folded, text)
    best = sorted(counts, key=lambda folded: (-counts[folded], len(folded), folded))
    return {folded: shown[folded] for folded in best}


def _whole(title: str, typed: str) -> Iterator[tuple[str, str]]:
    if len(title) <= MAX_CHARACTERS and fold_in_place(typed.strip()) in fold_in_place(title):
        yield fold_in_place(title), title


def _pieces(title: str, start: list[str], *, is_finished: bool) -> Iterator[tuple[str, str]]:
    words = list(iter_words(title))
    size = len(start)
    for at in range(len(words) - size + 1):
        if not _begins(words[at : at + size], start, is_finished=is_finished):
            continue
        for end in range(at + size, min(at + size + MAX_MORE, len(words)) + 1):
            text = title[words[at].start : words[end - 1].end]
            is_whole = end == at + size or len(words[end - 1].folded) >= MIN_LAST_CHARACTERS
            if is_whole and len(text) <= MAX_CHARACTERS and _is_joined(title, words[at:end]):
                yield " ".join(word.folded for word in words[at:end]), " ".join(text.lower().split())


def _is_joined(title: str, words: list[PlainWord]) -> bool:
    """Whether only blanks and hyphens separate the words."""
    return all(not title[one.end : other.start].strip(" -\t") for one, other in pairwise(words))


def _begins(words: list[PlainWord], start: list[str], *, is_finished: bool) -> bool:
    *whole, last = start
    if [word.folded for word in words[:-1]] != whole:
        return False
    return words[-1].folded == last if is_finished else words[-1].folded.startswith(last)
