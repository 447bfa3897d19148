"""What a query highlights: its words in all the forms that it finds, and its phrases as written.

Function words are highlighted inside phrases only, unless the query has no other words, and choose no passage.

In a text of a language that writes words together, a compound is a form of the words that it contains (``Urlaubsantrag`` of ``Antrag``).

The words of a passage are stemmed as the words of the query were. A word that shares a stem with a word of the query counts as that
word. A passage is short, and only words with the same beginning as a stem are stemmed.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence, Set
from functools import partial
from itertools import takewhile
from types import MappingProxyType

from feedmill.adapters.index.analysis import MAX_TERMS, highlight_terms
from feedmill.adapters.index.querywords import iter_open_words, iter_query_words, read_single
from feedmill.adapters.index.stemming import COMPOUND, CompoundStems, find_compound_stems, list_part_stems, list_query_stems
from feedmill.core.text.analysis import blank_out, fold_words, gram_size
from feedmill.core.text.compounds import iter_hyphenated
from feedmill.core.text.functionwords import find_function_words
from feedmill.core.text.snippets import FindCompounds, FindForms, count_terms, find_marks, find_places, make_snippet
from feedmill.core.text.wordforms import FOLDED
from feedmill.model.query import Node
from feedmill.model.results import Snippet

MOST_PLACES = 1_000
FUNCTION_WEIGHT = 0.1
LEAST_ROOT = 3
MAX_TRIES = 500
_START = 2


class FormsHighlighter:
    """Implements ``ports.Highlighter`` with the stems of some languages."""

    def __init__(self, query: Node, languages: Sequence[str]) -> None:
        self._terms = highlight_terms(query)
        singles = [raw for raw in map(read_single, iter_query_words(query)) if raw][:MAX_TERMS]
        stems = {FOLDED[raw]: list_query_stems(raw, languages) for raw in singles if not gram_size(raw)}
        self._open = {FOLDED[raw]: raw for raw in map(read_single, iter_open_words(query)) if FOLDED[raw] in stems}
        hangul = tuple(FOLDED[raw] for raw in singles if gram_size(raw) and FOLDED[raw] >= "\uac00")
        self._roots = tuple(f"{term}*" if term in hangul else _find_prefix(term, stems.get(term, ())) for term in self._terms)
        functional = find_function_words(self._terms, languages)
        self._marked = tuple(term for term in self._terms if term not in functional)
        self._marked_roots = tuple(root for term, root in zip(self._terms, self._roots, strict=True) if term not in functional)
        self._weights = tuple(FUNCTION_WEIGHT if term in functional else 1.0 for term in self._terms)
        self._make_forms = partial(_Forms, stems, hangul, tuple(languages))
        self._forms = self._make_forms()
        self._with_compounds: dict[str | None, _Forms] = {}

    def make_snippet(self, text: str, language: str | None = None) -> Snippet:
        """Returns the passage of a text that best shows the words of the query, with their positions in it."""
        forms = self._forms_in(language, text)
        find_compounds = forms.compounds_of(self._marked)
        return make_snippet(
            text, self._marked, forms.fold, roots=self._marked_roots, find_forms=_find_quickly(forms), find_compounds=find_compounds
        )

    def find_marks(self, text: str, language: str | None = None) -> tuple[tuple[int, int], ...]:
        """Returns the start and end positions of the words to highlight in a text."""
        forms = self._forms_in(language, text)
        return tuple(find_marks(text, self._marked, forms.fold, _find_quickly(forms)))

    @property
    def weights(self) -> tuple[float, ...]:
        """How much each word or phrase of the query counts: function words little, where there are others."""
        return self._weights

    def find_terms(self, text: str, language: str | None = None) -> list[tuple[int, int]]:
        """Returns where words of the query begin, each with its number, quickly and not exactly."""
        find_compounds = self._forms_in(language, text).compounds_of(self._terms)
        return find_places(text, self._roots, most=MOST_PLACES, scanned=len(text), find_compounds=find_compounds)

    def count_terms(self, text: str, language: str | None = None) -> dict[int, int]:
        """Returns how often a text holds each word of the query, by its number."""
        return count_terms(self._forms_in(language, text).list_tokens(text), self._terms)

    def _forms_in(self, language: str | None, text: str) -> "_Forms":
        """Returns the forms in a text of a language."""
        compounds = find_compound_stems(language, len(text)) if self._open else None
        if compounds is None:
            return self._forms
        forms = self._with_compounds.get(language)
        if forms is None:
            parts = {stem: word for word, raw in self._open.items() for stem in list_part_stems(raw, [language or ""])}
            forms = self._with_compounds[language] = self._make_forms(parts=parts, compounds=compounds)
        return forms


def _find_quickly(forms: "_Forms") -> FindForms | None:
    """Returns how forms are found by their beginnings, None if compounds are forms, which may begin with anything."""
    return None if forms.has_compounds else forms.find_forms


def _find_prefix(term: str, stems: Sequence[str]) -> str:
    """Returns the common beginning of a word and its stems, with a star; the word itself if that beginning is too short to be useful."""
    forms = sorted([term, *stems]) if stems else [""]
    # In sorted order, the first and the last form share the least, so their beginning is that of all.
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(forms[0], forms[-1], strict=False))
    root = "".join(letter for letter, _ in shared)
    return f"{root}*" if len(root) >= LEAST_ROOT else term


class _Forms(dict[str, str]):
    """Maps each form of a query word to that word, by folded word. A word is looked up when it first occurs."""

    def __init__(
        self,
        stems: dict[str, list[str]],
        hangul: Sequence[str],
        languages: tuple[str, ...],
        parts: Mapping[str, str] = MappingProxyType({}),
        compounds: CompoundStems | None = None,
    ) -> None:
        super().__init__()
        self._parts = parts
        self._compounds = compounds
        self._word_of = {stem: word for word, found in stems.items() for stem in found}
        self._starts = {stem[:_START] for stem in self._word_of}
        # as they stand in a text with a blank on both sides of each word; a start of one letter is a whole word
        self._laid_starts = [f" {start}" if len(start) == _START else f" {start} " for start in self._starts if start.isascii()]
        self._words = frozenset(stems)
        self._hangul = hangul
        self._languages = languages

    @property
    def has_compounds(self) -> bool:
        """Whether compounds are forms of the words that they contain."""
        return self._compounds is not None

    def compounds_of(self, terms: Sequence[str]) -> FindCompounds | None:
        """Returns how compounds that contain terms are found in a text, None if compounds are no forms."""
        if self._compounds is None:
            return None
        numbers = {term: number for number, term in enumerate(terms)}
        roots = {_find_root(stem.removeprefix(COMPOUND)) for stem, word in self._parts.items() if word in numbers}
        letters = {stem[:1] for stem in self._word_of}

        def find_compounds(folded: str) -> list[tuple[str, int]]:
            held = {word: FOLDED[word] for root in roots for word in _list_words_around(folded, root)}
            held |= {folded[start:end]: joined for joined, start, end in iter_hyphenated(folded, letters)}
            return [(word, numbers[term]) for word, one in held.items() if (term := self[one]) in numbers and term != word]

        return find_compounds

    def fold(self, text: str) -> list[tuple[str, int, int]]:
        """Splits a text as the index does, and replaces forms by the words of the query."""
        tokens = [(self[token], start, end) for token, start, end in fold_words(text)]
        return tokens if self._compounds is None else self._join_hyphenated(text, tokens)

    def _join_hyphenated(self, text: str, tokens: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
        """Returns the words of a text with those that are written together in the query as one, unless they hold words of it apart."""
        apart = [start for term, start, _ in tokens if term in self._words]
        places = [start for _, start, _ in tokens]
        whole = list(tokens)
        for word, start, end in iter_hyphenated(text):
            if (term := self[word]) in self._words and bisect_left(apart, start) == bisect_left(apart, end):
                first, behind = bisect_left(places, start), bisect_left(places, end)
                # the first of its words stands for all, and the others for nothing
                whole[first:behind] = [(term, start, end), *(("", end, end) for _ in range(first + 1, behind))]
        return whole

    def list_tokens(self, text: str) -> list[str]:
        """Returns the words that ``fold`` returns, without their places; quickly for a text that can be laid out."""
        laid_out = blank_out(text) if self._compounds is None else None
        return [token for token, _, _ in self.fold(text)] if laid_out is None else list(map(self.__getitem__, laid_out.split()))

    def find_forms(self, laid_out: str, wanted: Set[str]) -> list[tuple[int, int]]:
        """Returns the ranges of words in a laid-out text that are in ``wanted`` or are forms of one, in order.

        Only the few words that begin like a stem are looked at.
        """
        # A place in ``between`` is that of the blank before a word, so its word begins there in ``laid_out``.
        between = f" {laid_out} "
        find = between.find
        ranges: list[tuple[int, int]] = []
        for start in self._laid_starts:
            place = find(start)
            while place >= 0:
                end = find(" ", place + 1)
                word = between[place + 1 : end]
                if self[word] in wanted or word in wanted:
                    ranges.append((place, end - 1))
                # the blank behind a word is that before the next one
                place = find(start, end)
        for word in wanted:
            if word[:_START] not in self._starts:
                place = find(f" {word} ")
                while place >= 0:
                    end = place + len(word)
                    ranges.append((place, end))
                    place = find(f" {word} ", end)
        ranges.sort()
        return ranges

    def __missing__(self, token: str) -> str:
        made = self[token] = self._recognize(token) if FOLDED[token] else ""
        return made

    def _recognize(self, token: str) -> str:
        if token in self._words:
            return token
        if self._hangul and (word := next((word for word in self._hangul if token.startswith(word)), None)) is not None:
            return word
        if token[:_START] in self._starts:
            word = next((self._word_of[stem] for stem in list_query_stems(token, self._languages) if stem in self._word_of), None)
            if word is not None:
                return word
        if self._compounds is None:
            return token
        return next((self._parts[stem] for stem in self._compounds[token].split() if stem in self._parts), token)


def _find_root(stem: str) -> str:
    """Returns the beginning of a stem as it stands in a text that ``fold_in_place`` returns, which retains the German sharp s."""
    beginning = stem.partition("ss")[0]
    return beginning if len(beginning) >= LEAST_ROOT else stem


def _list_words_around(text: str, root: str) -> set[str]:
    """Returns the words of a text in which a root stands anywhere but at the beginning."""
    words: set[str] = set()
    place = text.find(root)
    for _ in range(MAX_TRIES):
        if place < 0:
            break
        start, end = place, place + len(root)
        if start and text[start - 1].isalpha():
            while start and text[start - 1].isalpha():
                start -= 1
            while text[end : end + 1].isalpha():
                end += 1
            words.add(text[start:end])
        place = text.find(root, end)
    return words
