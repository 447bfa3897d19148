"""Whether and how well one document matches a query, for the index in memory.

A score counts how often the words are in each field, with the weights of the engine's fields.
"""

from dataclasses import dataclass, replace

from feedmill.adapters.index.analysis import lay_out_whole, list_compound_stems, tagged_words
from feedmill.adapters.index.querywords import FIELD_WEIGHTS, NAVIGATION_WEIGHT, list_demands, list_finding, read_single
from feedmill.adapters.index.stemming import find_compound_stems, list_part_stems, list_query_stems, stems_of
from feedmill.core.query.patternsets import pattern_term
from feedmill.core.ranking.builtinfacets import built_in_term, built_in_values
from feedmill.core.ranking.indexterms import (
    filetype_term,
    filetype_terms,
    info_terms,
    link_terms,
    metadata_terms,
    name_term,
    path_term,
    site_terms,
    split_site,
    start_term,
    url_term,
    url_words,
    value_term,
)
from feedmill.core.ranking.scoring import HOLDS_ALL_BONUS
from feedmill.core.text.analysis import fold_value, gram_size, is_spaceless, list_grams, split_words
from feedmill.core.text.functionwords import find_function_words
from feedmill.core.text.measures import measures_of_text
from feedmill.core.text.typedvalues import DATE, NUMBER, first_second, is_within, last_second, typed_values
from feedmill.core.text.units import accepts_unit
from feedmill.core.text.wildcards import compile_wildcard, fold_wildcard, is_wildcard
from feedmill.core.text.wordforms import FOLDED
from feedmill.model.query import (
    Among,
    And,
    AnyOf,
    BuiltInEquals,
    DateRange,
    FileType,
    FromSource,
    Info,
    InText,
    InTitle,
    InUrl,
    Language,
    LinksTo,
    MatchAll,
    MetaContains,
    MetaDates,
    MetaEquals,
    MetaExists,
    MetaNumbers,
    MetaStarts,
    Node,
    Not,
    NumberRange,
    Or,
    Phrase,
    Related,
    Restriction,
    Site,
    UnderPattern,
    Wildcard,
    Word,
)
from feedmill.model.search import IndexDocument


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in the form that is matched: its words by field, and the terms for restrictions."""

    document: IndexDocument
    words: dict[str, list[str]]
    terms: frozenset[str]
    navigation: list[str]
    navigation_stems: list[str]
    compound_stems: frozenset[str]

    @classmethod
    def of(cls, document: IndexDocument) -> "Entry":
        """Makes the entry of a document."""
        texts = {
            "title": document.title,
            "body": document.body,
            "words_of_url": url_words(document.url),
            "words_of_metadata": "\n".join(value for _, value in document.list_text_metadata()),
        }
        anchors = "\n".join(document.anchors)
        stems = [lay_out_whole(text, stems_of(document.language)).stems.split() for text in (*texts.values(), anchors)]
        words = {name: split_words(text) for name, text in texts.items()} | {"stems": [stem for part in stems for stem in part]}
        terms = {f"site {term}" for term in site_terms(document.url)} | {f"metadata {term}" for term in metadata_terms(document.metadata)}
        navigation = lay_out_whole(document.navigation, stems_of(document.language))
        compounds = find_compound_stems(document.language, len(document.body))
        own, folded = "\n".join(texts.values()), " ".join(word for name in texts for word in words[name])
        compound_stems = frozenset(list_compound_stems(own, folded, compounds).split()) if compounds is not None else frozenset[str]()
        return cls(document, words, frozenset(terms), split_words(document.navigation), navigation.stems.split(), compound_stems)

    def without_compounds(self) -> "Entry":
        """Returns the entry in which no word is a part of another."""
        return replace(self, compound_stems=frozenset())

    def without_navigation(self) -> "Entry":
        """Returns the entry of the document's own words."""
        return replace(self, navigation=[], navigation_stems=[])


STEM_WEIGHT = 0.4
COMPOUND_WEIGHT = 0.2
_NO_DEMAND = -1.0
"""The score of a part without words, which demands nothing."""


def score_entry(root: Node, entry: Entry) -> float | None:
    """Returns the score of a whole query, or None for no match and for a query without words."""
    score = match_entry(root, entry)
    return None if score is None or score == _NO_DEMAND else score


def match_entry(node: Node, entry: Entry) -> float | None:
    """Returns the score of a part of a query: None for no match, ``_NO_DEMAND`` for a part without words."""
    match node:
        case Word(text, is_fixed):
            return _match_word(text, entry.without_compounds() if is_fixed else entry)
        case Phrase(text):
            return _or_navigation(_match_words(text, entry, FIELD_WEIGHTS), text, entry)
        case Wildcard(text):
            return _or_navigation(_match_pieces(text, entry, FIELD_WEIGHTS), text, entry)
        case MatchAll():
            return 0.0
        case And(parts):
            return _match_all(parts, entry)
        case Or(parts):
            return _match_any(parts, entry)
        case AnyOf(parts):
            functions = _find_function_words(parts, entry)
            some = _match_any(list_finding(parts, functions), entry)
            return some if some is None or some == _NO_DEMAND else some + _find_bonus(parts, functions, entry.without_navigation())
        case Not(part):
            score = match_entry(part, entry.without_compounds())
            return _NO_DEMAND if score == _NO_DEMAND else _when(score is None)
        case _:
            return _match_restriction(node, entry)


def _find_function_words(parts: tuple[Node, ...], entry: Entry) -> frozenset[str]:
    words = (FOLDED[read_single(part.text)] for part in parts if isinstance(part, Word))
    return find_function_words(words, [entry.document.language or ""])


def _find_bonus(parts: tuple[Node, ...], functions: frozenset[str], entry: Entry) -> float:
    demands = list_demands(parts, functions)
    return HOLDS_ALL_BONUS * sum(_match_all(parts, entry) is not None for parts in demands) / len(demands)


def _match_restriction(node: Restriction, entry: Entry) -> float | None:
    document = entry.document
    match node:
        case InUrl(text):
            return _match_place(url_words(text), entry, "words_of_url")
        case InTitle(text):
            return _match_place(text, entry, "title")
        case InText(text):
            return _or_navigation(_match_place(text, entry, "body"), text, entry)
        case Site(value):
            return _match_site(value, entry)
        case Language(code):
            return _when(document.language == code)
        case Info(url):
            return _when(url_term(document.url) in info_terms(url))
        case Related():
            return None
        case LinksTo(url):
            return _when(bool(set(link_terms(document.links)).intersection(info_terms(url))))
        case FileType(ending):
            return _when(filetype_term(ending) in filetype_terms(document.url, document.mimetype))
        case DateRange(first, last):
            date = document.last_modified
            return _when(date is not None and is_within(date.timestamp(), first_second(first), last_second(last)))
        case NumberRange(low, high, unit):
            measures = [measure for text in (document.title, document.body) for measure in measures_of_text(text, document.language)]
            return _when(any(is_within(number, low, high) and accepts_unit(unit, of) for number, of in measures))
        case UnderPattern(pattern):
            return _when(pattern_term(pattern) in document.patterns)
        case Among(keys):
            return _when(document.key in keys)
        case FromSource(datasource):
            return _when(document.datasource == datasource)
        case BuiltInEquals(name, value):
            held = built_in_values(document.url, document.mimetype, document.datasource, document.language).get(name)
            return _when(held is not None and built_in_term(name, held) == built_in_term(name, value))
        case _:
            return _when(_holds_metadata(node, entry))


_Metadata = MetaEquals | MetaExists | MetaStarts | MetaContains | MetaNumbers | MetaDates


def _holds_metadata(node: _Metadata, entry: Entry) -> bool:
    match node:
        case MetaEquals(name, value):
            return f"metadata {value_term(name, value)}" in entry.terms
        case MetaExists(name):
            return f"metadata {name_term(name)}" in entry.terms
        case MetaStarts(name, start):
            return any(term.startswith(f"metadata {start_term(name, start)}") for term in entry.terms)
        case MetaContains(name, text, is_prefix):
            words = tagged_words(name, text)
            return any(_holds_run(tagged_words(*pair), words, is_prefix=is_prefix) for pair in entry.document.metadata)
        case MetaNumbers(name, low, high, unit):
            return _holds_typed(entry, NUMBER, name, low, high, unit)
        case MetaDates(name, first, last):
            return _holds_typed(entry, DATE, name, first_second(first), last_second(last))


def _holds_run(words: list[str], run: list[str], *, is_prefix: bool) -> bool:
    if not run:
        return False
    if not is_prefix:
        return _count_runs(words, run) > 0
    starts = range(len(words) - len(run) + 1)
    return any(words[at : at + len(run) - 1] == run[:-1] and words[at + len(run) - 1].startswith(run[-1]) for at in starts)


def _holds_typed(entry: Entry, kind: str, name: str, low: float | None, high: float | None, unit: str = "") -> bool:
    wanted = (fold_value(name), kind)
    measures = [measure for found, of, measure in typed_values(entry.document.metadata) if wanted == (found, of)]
    return any(is_within(number, low, high) and accepts_unit(unit, of) for number, of in measures)


def _match_word(text: str, entry: Entry) -> float | None:
    """Matches a plain word as written, else by its stems, which count less, else as a part of compounds.

    A Hangul word is matched by its pairs of syllables.
    """
    exact, raw = _match_words(text, entry, FIELD_WEIGHTS), read_single(text)
    if exact is None and raw and not is_spaceless(raw):
        exact = _match_stems(raw, entry.words["stems"], entry)
        if exact is None and holds_part(raw, entry):
            return COMPOUND_WEIGHT
        if exact is None and (found := _match_stems(raw, entry.navigation_stems, entry)) is not None:
            return NAVIGATION_WEIGHT * found
    return _or_navigation(exact, text, entry)


def holds_part(raw: str, entry: Entry) -> bool:
    """Whether a document holds a compound of which a word in lower case is a part."""
    return not entry.compound_stems.isdisjoint(list_part_stems(raw, [entry.document.language or ""]))


def _match_stems(raw: str, stems: list[str], entry: Entry) -> float | None:
    if size := gram_size(raw):
        return STEM_WEIGHT if all(gram in stems for gram in list_grams(raw, size)) else None
    query_stems = list_query_stems(raw, [entry.document.language or ""])
    count = sum(1 for stem in stems if stem in query_stems)
    return STEM_WEIGHT * count if count else None


def _or_navigation(score: float | None, text: str, entry: Entry) -> float | None:
    """Returns the score of what was found elsewhere, else that in the navigation."""
    if score is not None:
        return score
    if is_wildcard(text):
        wanted = compile_wildcard(fold_wildcard(text))
        return NAVIGATION_WEIGHT if any(map(wanted.fullmatch, entry.navigation)) else None
    words = split_words(text)
    count = _count_runs(entry.navigation, words) if words else 0
    return NAVIGATION_WEIGHT * count if count else None


def _match_place(text: str, entry: Entry, name: str) -> float | None:
    match_terms = _match_pieces if is_wildcard(text) else _match_words
    return match_terms(text, entry, {name: 0.0})


def _match_pieces(text: str, entry: Entry, weights: dict[str, float]) -> float | None:
    wanted = compile_wildcard(fold_wildcard(text))
    return max((weight for name, weight in weights.items() if any(map(wanted.fullmatch, entry.words[name]))), default=None)


def _match_words(text: str, entry: Entry, weights: dict[str, float]) -> float | None:
    words = split_words(text)
    if not words:
        return None if any(character.isalnum() for character in text) else _NO_DEMAND
    counts = {name: _count_runs(entry.words[name], words) for name in weights}
    return max(count * weights[name] for name, count in counts.items()) if any(counts.values()) else None


def _count_runs(words: list[str], run: list[str]) -> int:
    return sum(1 for index in range(len(words) - len(run) + 1) if words[index : index + len(run)] == run)


def _match_site(value: str, entry: Entry) -> float | None:
    host, path = split_site(value)
    if not host and not path:
        return _NO_DEMAND
    is_below = path_term(entry.document.url).startswith(path)
    return _when((not host or f"site {host}" in entry.terms) and is_below)


def _match_all(parts: tuple[Node, ...], entry: Entry) -> float | None:
    scores = [score for score in (match_entry(part, entry) for part in parts) if score != _NO_DEMAND]
    if not scores:
        return _NO_DEMAND
    matched = [score for score in scores if score is not None]
    return sum(matched) if len(matched) == len(scores) else None


def _match_any(parts: tuple[Node, ...], entry: Entry) -> float | None:
    scores = [score for score in (match_entry(part, entry) for part in parts) if score != _NO_DEMAND]
    if not scores:
        return _NO_DEMAND
    matched = [score for score in scores if score is not None]
    return sum(matched) if matched else None


def _when(holds: bool) -> float | None:
    return 0.0 if holds else None
