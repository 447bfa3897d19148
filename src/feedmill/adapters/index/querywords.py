"""The plain words of a query, as every engine searches and highlights them."""

from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from typing import TypeGuard

from feedmill.core.text.analysis import gram_size, is_spaceless, list_characters, list_grams, list_raw_words
from feedmill.core.text.wordforms import FOLDED, MAX_REMEMBERED_CHARACTERS
from feedmill.model.query import And, AnyOf, Node, Or, Phrase, Word

FIELD_WEIGHTS = {"title": 2.0, "body": 1.0, "words_of_url": 0.5, "words_of_metadata": 0.7}
"""How much a word counts in each field of a document's own words."""
NAVIGATION_WEIGHT = 0.1
"""How much a word with wildcards counts in the navigation of a document."""
MAX_PHRASE_WORDS = 200
MAX_TELLING = 4
"""The most words of a query whose function words a document may lack. Measured: with more, judged results get worse."""


def iter_query_words(node: Node) -> Iterator[str]:
    """Yields the texts of the plain words that make a document match better; excluded words are not among them."""
    return (leaf.text for leaf in _iter_leaves(node) if isinstance(leaf, Word))


def iter_open_words(node: Node) -> Iterator[str]:
    """Yields the same texts without those of words with a plus, which mean the word alone."""
    return (leaf.text for leaf in _iter_leaves(node) if isinstance(leaf, Word) and not leaf.is_fixed)


def iter_query_phrases(node: Node) -> Iterator[str]:
    """Yields the texts of the phrases that make a document match better."""
    return (leaf.text for leaf in _iter_leaves(node) if isinstance(leaf, Phrase))


def _iter_leaves(node: Node) -> Iterator[Node]:
    """Yields the parts of a query that are not made of others. What is excluded is within its own part."""
    if isinstance(node, And | Or | AnyOf):
        for part in node.parts:
            yield from _iter_leaves(part)
    else:
        yield node


def read_single(text: str) -> str:
    """Returns a text in lower case if it is a single word or a single run of a spaceless script, else ""."""
    # The memory of the cache depends on the length of its keys, which a user chooses.
    return (_read_single if len(text) <= MAX_REMEMBERED_CHARACTERS else _read_single.__wrapped__)(text)


@lru_cache(maxsize=10_000)
def _read_single(text: str) -> str:
    raws = list_raw_words(text)
    return raws[0] if len(raws) == 1 and FOLDED[raws[0]] else ""


def list_demands(parts: Sequence[Node], function_words: Set[str]) -> tuple[tuple[Node, ...], ...]:
    """Returns which different parts a document must hold to come before others: all, and all but function words, which are given folded.

    Shape: of a long query only all, because a document that holds most of its words is no worse.
    """
    wanted = tuple(dict.fromkeys(parts))
    telling = list_telling(wanted, function_words)
    if not telling or len(telling) > MAX_TELLING or len(telling) == len(wanted):
        return (wanted,)
    return (wanted, telling)


def list_finding(parts: Sequence[Node], function_words: Set[str]) -> tuple[Node, ...]:
    """Returns the parts of which a document must hold one: function words alone find nothing, because nearly every document holds some.

    Shape: all parts, if all are function words, or if the only one is a single letter, which may be a name (``vitamin a``).
    """
    telling = list_telling(parts, function_words)
    left = [part for part in parts if part not in telling]
    is_letter = len(left) == 1 and isinstance(left[0], Word) and len(left[0].text) == 1
    return tuple(parts) if not telling or is_letter else telling


def list_telling(parts: Sequence[Node], function_words: Set[str]) -> tuple[Node, ...]:
    """Returns the parts that are no function words. A word with a plus is none."""
    return tuple(part for part in parts if not (_is_plain_word(part) and FOLDED[read_single(part.text)] in function_words))


def _is_plain_word(part: Node) -> TypeGuard[Word]:
    return isinstance(part, Word) and not part.is_fixed


def list_run_grams(raw: str) -> list[str]:
    """Returns the different groups of ``gram_size`` neighbours in a run, or nothing for a run that is too short."""
    size = gram_size(raw)
    run = "".join(list_characters(raw)) if is_spaceless(raw) else FOLDED[raw]
    if is_spaceless(raw) and len(run) < size:
        return []
    return list(dict.fromkeys(list_grams(run, size)))[:MAX_PHRASE_WORDS]
