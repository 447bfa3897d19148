"""What a query highlights: its words in all the forms that it finds, and its phrases as written.

The words of a passage are stemmed as the words of the query were. A word that shares a stem with a word of the query is returned as that
query word. A passage is short, and only words with the same beginning as a stem are stemmed.
"""

from collections.abc import Callable, Sequence, Set
from itertools import takewhile

from feedmill.adapters.index.analysis import MAX_TERMS, highlight_terms
from feedmill.adapters.index.querywords import iter_query_words, read_single
from feedmill.adapters.index.stemming import list_query_stems
from feedmill.core.text.analysis import fold_words, gram_size
from feedmill.core.text.snippets import Sought
from feedmill.core.text.wordforms import FOLDED
from feedmill.model.query import Node

LEAST_ROOT = 3
_START = 2


def seek(query: Node, languages: Sequence[str]) -> Sought:
    """Returns the terms to highlight in texts, with the stems of some languages."""
    terms = highlight_terms(query)
    singles = [raw for raw in map(read_single, iter_query_words(query)) if raw][:MAX_TERMS]
    stems = {FOLDED[raw]: list_query_stems(raw, languages) for raw in singles if not gram_size(raw)}
    hangul = tuple(FOLDED[raw] for raw in singles if gram_size(raw) and FOLDED[raw] >= "\uac00")
    roots = tuple(f"{term}*" if term in hangul else _find_root(term, stems.get(term, ())) for term in terms)
    forms = _Forms(stems, hangul, tuple(languages))
    return Sought(terms=terms, roots=roots, fold=forms.fold, find_forms=forms.find)


class IndexHighlighter:
    """Implements ``ports.Highlighter``. Shape: ``find_languages`` returns the languages in which the index may have words of a query."""

    def __init__(self, find_languages: Callable[[Node], Sequence[str]]) -> None:
        self._find_languages = find_languages

    def terms(self, query: Node) -> tuple[str, ...]:
        """Returns the words and phrases that a query would highlight, each as folded words joined by blanks."""
        return highlight_terms(query)

    def seek(self, query: Node) -> Sought:
        """Returns what a query highlights: its words in all forms that it finds."""
        return seek(query, self._find_languages(query))

    def fold(self, text: str) -> list[tuple[str, int, int]]:
        """Splits a text as the index does."""
        return fold_words(text)


def _find_root(term: str, stems: Sequence[str]) -> str:
    """Returns the common beginning of a word and its stems, with a star; the word itself if that beginning is too short to be useful."""
    forms = sorted([term, *stems]) if stems else [""]
    # In sorted order, the first and the last form share the least, so their beginning is that of all.
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(forms[0], forms[-1], strict=False))
    root = "".join(letter for letter, _ in shared)
    return f"{root}*" if len(root) >= LEAST_ROOT else term


class _Forms(dict[str, str]):
    """Maps each form of a query word to that word, by folded word. A word is looked up when it first occurs."""

    def __init__(self, stems: dict[str, list[str]], hangul: Sequence[str], languages: tuple[str, ...]) -> None:
        super().__init__()
        self._word_of = {stem: word for word, found in stems.items() for stem in found}
        self._starts = {stem[:_START] for stem in self._word_of}
        self._words = frozenset(stems)
        self._hangul = hangul
        self._languages = languages

    def fold(self, text: str) -> list[tuple[str, int, int]]:
        """Splits a text as the index does, and replaces forms by the words of the query."""
        return [(self[token], start, end) for token, start, end in fold_words(text)]

    def find(self, words: Set[str], wanted: Set[str]) -> set[str]:
        """Returns those of some folded words that are wanted words or forms of them. Only the few that begin like a stem are stemmed."""
        likely = [word for word in words if word[:_START] in self._starts]
        return {word for word in likely if self[word] in wanted} | (words & wanted)

    def __missing__(self, token: str) -> str:
        made = self[token] = self._recognise(token) if FOLDED[token] else ""
        return made

    def _recognise(self, token: str) -> str:
        if token in self._words:
            return token
        if self._hangul and (word := next((word for word in self._hangul if token.startswith(word)), None)) is not None:
            return word
        if token[:_START] not in self._starts:
            return token
        return next((self._word_of[stem] for stem in list_query_stems(token, self._languages) if stem in self._word_of), token)
