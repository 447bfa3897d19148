"""Suggests spellings: similar words from documents that the user may see, if they find more.

Only words that hardly any document holds are replaced, and only a few of them; never the function words of a query, which are often rarer
than the words that matter. A suggestion is offered only if the corrected query finds more than the original one, for the same user and with
the same restrictions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from feedmill.core.query.matching import ENOUGH, loosen
from feedmill.core.ranking.scoring import HOLDS_TELLING_BONUS
from feedmill.core.text.functionwords import LANGUAGES, find_function_words
from feedmill.core.text.plainwords import is_plain, iter_words, without_accents
from feedmill.model.access import AccessFilter
from feedmill.model.query import And, AnyOf, Node, Or, Word
from feedmill.model.search import Match
from feedmill.ports import SearchIndex

MIN_CHARACTERS = 3
MAX_COUNTED = 12
MAX_DOUBTED = 3
TIMES_MORE = 10
SPELT_BY = 5


@dataclass(frozen=True, slots=True)
class BetterSpelling:
    """A better spelling of a query.

    ``replaces_nothing``: no document that the user may see holds all of what was typed, whether or not it holds the function words.
    """

    query: str
    replaces_nothing: bool


ReadTexts = Callable[[Sequence[int]], list[str]]
"""Returns titles and texts of documents by id, if the user may see them."""


def find_spelling(index: SearchIndex, query: str, root: Node, access: AccessFilter, read_texts: ReadTexts) -> BetterSpelling | None:
    """Returns a better spelling of the query, None if there is none. Shape: ``root`` is its tree with every word required."""
    better = {word: found for word, own in _list_doubted(index, root, access) if (found := _find_better(index, word, own, access))}
    if not better:
        return None
    total = index.search(root, access, start=0, num=0).total
    corrected = index.search(_replace(root, better), access, start=0, num=SPELT_BY)
    if corrected.total <= total:
        return None
    texts = read_texts([hit.key for hit in corrected.hits])
    spelling = _rewrite(query, {word: _find_spelling(good, texts) for word, good in better.items()})
    return BetterSpelling(spelling, replaces_nothing=not total and not _is_held_but_for_function_words(index, root, access))


def _is_held_but_for_function_words(index: SearchIndex, root: Node, access: AccessFilter) -> bool:
    loosened = loosen(root, Match.AUTO)
    hits = index.search(loosened, access, start=0, num=1).hits if loosened is not None else ()
    return bool(hits) and hits[0].score >= HOLDS_TELLING_BONUS


def _find_spelling(folded: str, texts: Sequence[str]) -> str:
    """Returns the form of a folded word in one of the texts, with its accents."""
    if not all(map(str.isascii, texts)):
        for text in texts:
            for word in iter_words(text):
                if without_accents(word.folded) == folded:
                    return text[word.start : word.end].lower()
    return folded


def _list_words(root: Node) -> list[str]:
    if isinstance(root, Word):
        return [root.text] if len(root.text) >= MIN_CHARACTERS and is_plain(root.text) else []
    if isinstance(root, And | Or | AnyOf):
        return list(dict.fromkeys(word for part in root.parts for word in _list_words(part)))
    return []


def _list_doubted(index: SearchIndex, root: Node, access: AccessFilter) -> list[tuple[str, int]]:
    """Returns the first words that few documents hold, each with how many do."""
    words = _list_words(root)
    functions = find_function_words(words, LANGUAGES)
    telling = [word for word in words if word not in functions][:MAX_COUNTED]
    counted = ((word, index.vocabulary.count(word, access)) for word in telling)
    return list(islice(((word, own) for word, own in counted if own < ENOUGH), MAX_DOUBTED))


def _find_better(index: SearchIndex, word: str, own: int, access: AccessFilter) -> str | None:
    return index.vocabulary.find_alike(word, access, own * TIMES_MORE)


def _replace(node: Node, better: dict[str, str]) -> Node:
    if isinstance(node, Word):
        return Word(better.get(node.text, node.text))
    if isinstance(node, And):
        return And(tuple(_replace(part, better) for part in node.parts))
    if isinstance(node, Or):
        return Or(tuple(_replace(part, better) for part in node.parts))
    return node


def _rewrite(query: str, better: dict[str, str]) -> str:
    """Replaces the corrected words and leaves everything else as it was typed."""
    pieces: list[str] = []
    position = 0
    folded = {next((one.folded for one in iter_words(word)), word): good for word, good in better.items()}
    for word in iter_words(query):
        good = folded.get(word.folded)
        if good is not None and query[word.start - 1 : word.start] not in (":", "=", "~", "-", "."):
            pieces += (query[position : word.start], good)
            position = word.end
    return "".join([*pieces, query[position:]])
