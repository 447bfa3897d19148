"""Decides which parts of a query must match.

Only plain words and phrases (and an OR of these alone) are optional; ``site:``, ``inurl:``, ``info:``, ``inmeta:`` and excluded terms
always apply. With ``auto`` everything must match first. If that finds fewer than ``ENOUGH`` documents, the loosened query is the whole
answer. It lists documents with all plain parts first, so pages, totals and all counts describe one list.

Some words are one word to the user and several to the index. A loosened query splits them, so that each part counts separately:

- a hyphenated word, and one with an apostrophe or a slash (``l'avion``, ``Tesla's``), into its words, without single letters;
- a run of a script without blanks into its overlapping pairs of characters (triples for scripts that spell words with letters, such as
  Thai), which approximate words without a dictionary; a Hangul word with its suffixes into its pairs of syllables. A hyphen in such a run
  joins nothing, since a whole sentence may surround it.

A word that the query contains twice counts twice.
Source: docs/reference/search-api.md.
"""

import re

from feedmill.core.query.nodes import parts_of
from feedmill.core.text.analysis import has_spaceless, list_grams, split_runs
from feedmill.model.query import And, AnyOf, Node, Or, Phrase, Plain, Word
from feedmill.model.search import Match

ENOUGH = 10
MAX_PIECES = 100

_HYPHENS = "-\u2010\u2011"
_HYPHEN = re.compile(f"[{_HYPHENS}]")
_JOINT = re.compile(f"[{_HYPHENS}'\u2019\u02bc/]")


def loosen(root: Node, match: Match) -> Node | None:
    """Returns the query with optional plain parts, None if nothing can be optional."""
    if match is Match.ALL:
        return None
    parts = parts_of(root)
    plain = tuple(piece for part in parts if is_plain(part) for piece in _pieces(part))
    if len(set(plain)) < 2:
        return None
    optional: Node = Or(plain[:MAX_PIECES]) if match is Match.ANY else AnyOf(plain[:MAX_PIECES])
    fixed = tuple(part for part in parts if not is_plain(part))
    return And((*fixed, optional)) if fixed else optional


def is_plain(part: Node) -> bool:
    """Whether a part is a plain word or phrase, or an OR of these alone."""
    if isinstance(part, Or):
        return all(is_plain(one) or _is_run(one) for one in part.parts)
    return isinstance(part, Plain)


def _is_run(part: Node) -> bool:
    """Whether a part consists of several words that have synonyms together."""
    return isinstance(part, And) and all(is_plain(one) for one in part.parts)


def _pieces(part: Node) -> list[Node]:
    if isinstance(part, Phrase) and (len(part.text.split()) > 1 or (has_spaceless(part.text) and not _HYPHEN.search(part.text))):
        return [part]
    if not isinstance(part, Word | Phrase):
        return [part]
    runs = split_runs(part.text)
    if all(length == 0 for _, length in runs):
        return _words_of(part)
    return [piece for text, length in runs for piece in _grams(text, length)]


def _words_of(part: Word | Phrase) -> list[Node]:
    words = [word for word in _JOINT.split(part.text) if any(character.isalnum() for character in word)]
    telling = [word for word in words if len(word) > 1] or words
    if len(words) < 2 or all(word.isdecimal() for word in words):
        return [part]
    return [Word(word) for word in telling]


def _grams(text: str, length: int) -> list[Node]:
    if length == 0:
        return _words_of(Word(text.strip(_HYPHENS)))
    return [Word(gram) for gram in list_grams(text, length)]
