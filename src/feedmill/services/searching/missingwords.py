"""Says which words of a query a result lacks, where documents that hold some words are listed too.

The index is asked, so a word counts as held in every form and place in which it finds a document. It is asked about the results of a page
alone, which the user may see.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from feedmill.core.query.matching import is_plain
from feedmill.core.query.nodes import parts_of
from feedmill.core.ranking.scoring import HOLDS_TELLING_BONUS
from feedmill.core.text.analysis import has_spaceless
from feedmill.core.text.functionwords import LANGUAGES, find_function_words
from feedmill.core.text.plainwords import fold_word
from feedmill.model.access import AccessFilter
from feedmill.model.lightdataclass import light_replace
from feedmill.model.query import And, Node, Or, Phrase, Word
from feedmill.model.results import Result
from feedmill.ports import SearchIndex

MAX_WORDS = 12


def name_missing(index: SearchIndex, root: Node, results: Sequence[Result], access: AccessFilter) -> tuple[Result, ...]:
    """Returns the results, each with the words and phrases of the query that it lacks. Function words are not named.

    Shape: ``root`` is the tree with every word required. Nothing is said of what other servers permitted.
    """
    keys = frozenset(result.key for result in results if result.score < HOLDS_TELLING_BONUS and not result.is_late)
    if not keys:
        return tuple(results)

    named = list(islice(_iter_named(root, _iter_languages(results)), MAX_WORDS))
    if not named:
        return tuple(results)
    found = index.vocabulary.find_holding([part for _, part in named], sorted(keys), access)
    lacking = [(text, keys - holding) for (text, _), holding in zip(named, found, strict=True)]
    return tuple(
        light_replace(result, missing=tuple(text for text, without in lacking if result.key in without)) if result.key in keys else result
        for result in results
    )


def _iter_languages(results: Sequence[Result]) -> Iterator[str]:
    """Yields all languages with function words: those of the results first, that of most results before others."""
    counts = Counter(result.language for result in results)
    yield from sorted(LANGUAGES, key=lambda language: (-counts[language], language))


def _iter_named(root: Node, languages: Iterable[str]) -> Iterator[tuple[str, Node]]:
    """Yields the plain parts of a query that can be named, as they were typed. A run of a script without blanks has no words to name."""
    named = {text: part for part in parts_of(root) if is_plain(part) and (text := _find_text(part)) and not has_spaceless(text)}
    functions = find_function_words((fold_word(text) for text in named), languages)
    for text, part in named.items():
        if fold_word(text) not in functions and any(map(str.isalnum, text)):
            yield text, part


def _find_text(part: Node) -> str:
    """Returns the text of a word or phrase; of one with synonyms, that which was typed."""
    if isinstance(part, Word | Phrase):
        return part.text
    if isinstance(part, And):
        return " ".join(map(_find_text, part.parts))
    return _find_text(part.parts[0]) if isinstance(part, Or) else ""
