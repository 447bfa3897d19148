"""Translates a query tree into a query of the engine.

``words`` builds the query of a plain word. A phrase may be in any of the word fields. Its score is that of its best field with a share of
the others: a phrase in the title counts more, and one in every field does not count four times. Filters (``site:``, ``inmeta:``,
``info:`` and the access filter) never add to a score.

A part without words (``???``) is left out. A query that has only such parts finds nothing. A word that holds letters or digits, but is
too long for the analyzer, finds nothing either.
"""

from collections.abc import Callable, Sequence

from tantivy import FieldType, Occur, Query

from feedmill.adapters.index.analysis import NAVIGATION_WORD, navigation_words, tagged_words
from feedmill.adapters.index.querywords import FIELD_WEIGHTS, MAX_PHRASE_WORDS, NAVIGATION_WEIGHT, list_demands, list_finding
from feedmill.adapters.index.tantivy.accessfilter import filter_by_access
from feedmill.adapters.index.tantivy.schema import build_schema
from feedmill.adapters.index.tantivy.words import (
    NAVIGATION,
    OTHER_FIELDS_SHARE,
    WordQueries,
    boosted,
    in_field,
)
from feedmill.core.query.nodes import parts_of
from feedmill.core.query.patternsets import pattern_term
from feedmill.core.ranking.builtinfacets import built_in_term
from feedmill.core.ranking.indexterms import filetype_term, info_terms, name_term, split_site, start_term, url_words, value_term
from feedmill.core.ranking.scoring import HOLDS_ALL_BONUS
from feedmill.core.text.analysis import fold_value, split_words
from feedmill.core.text.typedvalues import DATE, NUMBER, first_second, last_second, text_pattern, typed_pattern
from feedmill.core.text.wildcards import is_wildcard, list_pieces
from feedmill.model.access import AccessFilter
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

MAX_START_BYTES = 900

MAX_SINGLE_KEYS = 100
"""So many keys are looked up one by one. More are a set of terms, through which the engine goes by an automaton."""


def build_query(root: Node, access: AccessFilter, word_queries: WordQueries) -> Query:
    """Builds the whole query: documents that match the tree and have a class that the user may see."""
    return filter_by_access(build_unfiltered(root, word_queries), access, word_queries.searcher)


def build_unfiltered(root: Node, word_queries: WordQueries) -> Query:
    """Builds the query of the tree without the access filter.

    Its callers must remove what the user may not see, as ``find_permitted`` and ``classfacets`` do.
    """
    return _Translator(word_queries).translate(root) or Query.empty_query()


def build_filter(node: Node) -> Query:
    """Builds the query of a restriction, or of every document. A restriction without words matches nothing."""
    if isinstance(node, MatchAll):
        return Query.all_query()
    assert not isinstance(node, Word | Phrase | Wildcard | And | Or | AnyOf | Not), "a restriction alone"
    return _restrict(node) or Query.empty_query()


def build_keys(keys: Sequence[int]) -> Query:
    """Builds the query of documents by their keys, each looked up by itself. Without keys it finds nothing."""
    schema, should, term_query = build_schema(), Occur.Should, Query.term_query
    return Query.boolean_query([(should, term_query(schema, "key", key, "basic")) for key in sorted(keys)])


def finds_nothing(root: Node, word_queries: WordQueries) -> bool:
    """Returns whether a word that every match must hold is in no document. False where that is not known at once."""
    return any(isinstance(part, Word) and word_queries.finds_nothing(part.text) for part in parts_of(root))


class _Translator:
    """Translates the parts of one tree into the engine's queries; None for a part without words."""

    def __init__(self, word_queries: WordQueries, *, in_navigation: bool = True, in_compounds: bool = True) -> None:
        self._word_queries = word_queries
        self._in_navigation = in_navigation
        self._in_compounds = in_compounds

    def translate(self, node: Node) -> Query | None:
        """Returns the engine's query for a node, or None if the node has no words."""
        match node:
            case Word(text, is_fixed):
                in_compounds = self._in_compounds and not is_fixed
                return self._word_queries.build(text, in_navigation=self._in_navigation, in_compounds=in_compounds)
            case Phrase(text):
                return self._word_queries.build_phrase(text, in_navigation=self._in_navigation)
            case Wildcard(text):
                return _wildcard(text, in_navigation=self._in_navigation)
            case MatchAll():
                return _filter(Query.all_query())
            case And(parts):
                return self._all_of(parts)
            case Or(parts):
                return _combine([self._standing_alone(part) for part in parts], _any_of)
            case AnyOf(parts):
                return self._some_of(parts)
            case Not():
                return self._standing_alone(node)
            case _:
                translated = _restrict(node)
                return None if translated is None else _filter(translated)

    def _all_of(self, parts: Sequence[Node]) -> Query | None:
        clauses: list[tuple[Occur, Query]] = []
        for part in parts:
            if isinstance(part, Not):
                # the word itself alone: who excludes applications wants to see forms of applications
                excluded = _Translator(self._word_queries, in_navigation=self._in_navigation, in_compounds=False).translate(part.part)
                if excluded is not None:
                    clauses.append((Occur.MustNot, excluded))
            elif (translated := self.translate(part)) is not None:
                clauses.append((Occur.Must, translated))
        if not clauses:
            return None
        # The engine finds nothing by exclusions alone.
        if all(occur == Occur.MustNot for occur, _ in clauses):
            clauses.append((Occur.Must, _filter(Query.all_query())))
        return Query.boolean_query(clauses)

    def _some_of(self, parts: Sequence[Node]) -> Query | None:
        functions = self._word_queries.function_words
        finding = list_finding(parts, functions)
        some = _combine([self._standing_alone(part) for part in finding], _any_of)
        # A word of a menu finds a document, but does not place it before those that hold the other words in their text.
        whole = _Translator(self._word_queries, in_navigation=False, in_compounds=self._in_compounds)
        demands = list_demands(parts, functions)
        every = [query for query in map(whole._all_of, demands) if query is not None]
        if some is None or not every:
            return some
        # Optional with large constant scores: documents with all words come first, then those without function words, and the others
        # still match.
        bonuses = [(Occur.Should, Query.const_score_query(query, HOLDS_ALL_BONUS / len(every))) for query in every]
        others = [query for part in parts if part not in finding and (query := self.translate(part)) is not None]
        return Query.boolean_query([(Occur.Must, some), *((Occur.Should, query) for query in others), *bonuses])

    def _standing_alone(self, part: Node) -> Query | None:
        return self._all_of([part]) if isinstance(part, Not) else self.translate(part)


def _wildcard(text: str, *, in_navigation: bool) -> Query:
    """Builds the query of a word with wildcards. Each field scores as if the word were in it once."""
    fields = [boosted(_pieces_in(field, text), weight) for field, weight in FIELD_WEIGHTS.items()]
    if in_navigation:
        fields.append(boosted(_pieces_in(NAVIGATION, text, NAVIGATION_WORD), NAVIGATION_WEIGHT))
    return Query.disjunction_max_query(fields, OTHER_FIELDS_SHARE)


def _pieces_in(field: str, text: str, sign: str = "") -> Query:
    return Query.regex_query(build_schema(), field, _escape(sign) + _ANYTHING.join(map(_escape, list_pieces(text))))


def _place(field: str, text: str) -> Query | None:
    """Builds the query of consecutive words, or of one word with wildcards, in one field."""
    return _pieces_in(field, text) if is_wildcard(text) else _words(text, lambda words: in_field(field, words))


def _place_in_navigation(text: str) -> Query | None:
    if is_wildcard(text):
        return _pieces_in(NAVIGATION, text, NAVIGATION_WORD)
    return _words(text, lambda words: in_field(NAVIGATION, navigation_words(words, NAVIGATION_WORD)))


def _restrict(node: Restriction) -> Query | None:
    """Returns the query of a restriction, or None if it has no words."""
    match node:
        case InUrl(text):
            return _place("words_of_url", url_words(text))
        case InTitle(text):
            return _place("title", text)
        case InText(text):
            return _combine([_place("body", text), _place_in_navigation(text)], _any_of)
        case Site(value):
            return _site(value)
        case Language(code):
            return _raw("language", code)
        case Info(url):
            return _any_of([_raw("url", term) for term in info_terms(url)])
        case Related():
            return Query.empty_query()
        case LinksTo(url):
            return _any_of([_raw("links", term) for term in info_terms(url)])
        case FileType(ending):
            return _raw("filetype", filetype_term(ending))
        case DateRange(first, last):
            # The last second of a day has a fraction, which the field does not.
            ends = [None if second is None else int(second) for second in (first_second(first), last_second(last))]
            return Query.range_query(build_schema(), "date", FieldType.Integer, ends[0], ends[1])
        case NumberRange(low, high, unit):
            return _typed(text_pattern(low, high, unit))
        case UnderPattern(pattern):
            return _raw("patterns", pattern_term(pattern))
        case FromSource(datasource):
            return _raw("datasource", datasource)
        case Among(keys):
            return _among(keys)
        case BuiltInEquals(name, value):
            return _raw("metadata", built_in_term(name, value))
        case _:
            return _restrict_metadata(node)


_Metadata = MetaEquals | MetaExists | MetaStarts | MetaContains | MetaNumbers | MetaDates


def _restrict_metadata(node: _Metadata) -> Query | None:
    match node:
        case MetaEquals(name, value):
            return _raw("metadata", value_term(name, value))
        case MetaExists(name):
            return _raw("metadata", name_term(name))
        case MetaStarts(name, start):
            return _starting("metadata", start_term(name, start))
        case MetaContains(name, text, is_prefix):
            return _tagged(tagged_words(name, text)[:MAX_PHRASE_WORDS], is_prefix=is_prefix)
        case MetaNumbers(name, low, high, unit):
            return _typed(typed_pattern(NUMBER, fold_value(name), low, high, unit))
        case MetaDates(name, first, last):
            return _typed(typed_pattern(DATE, fold_value(name), first_second(first), last_second(last)))


def _typed(pattern: str | None) -> Query:
    return Query.regex_query(build_schema(), "typed", pattern) if pattern else Query.empty_query()


def _starting(field: str, start: str) -> Query:
    # The engine takes patterns of up to 1,000 states, about one for each byte. Bytes beyond the limit are not compared.
    compared = start.encode("utf-8", "replace")[:MAX_START_BYTES].decode("utf-8", "ignore")
    return Query.regex_query(build_schema(), field, _escape(compared) + _ANYTHING)


def _tagged(words: list[str], *, is_prefix: bool) -> Query:
    if not words:
        return Query.empty_query()
    if not is_prefix:
        return in_field("tagged", words)
    if len(words) == 1:
        return _starting("tagged", words[0])
    return Query.regex_phrase_query(build_schema(), "tagged", [*map(_escape, words[:-1]), _escape(words[-1]) + _ANYTHING])


def _words(text: str, build: Callable[[list[str]], Query]) -> Query | None:
    words = split_words(text)[:MAX_PHRASE_WORDS]
    if words:
        return build(words)
    return Query.empty_query() if any(character.isalnum() for character in text) else None


def _site(value: str) -> Query | None:
    host, path = split_site(value)
    parts = [_raw("site", host)] if host else []
    if path.endswith("/"):
        parts.append(_raw("site", path))
    elif path:
        parts.append(_starting("path", path))
    if not parts:
        return None
    return Query.boolean_query([(Occur.Must, part) for part in parts])


# A dot that also matches line ends, which values may contain.
_ANYTHING = "(?s:.)*"
_SPECIAL = {ord(character): f"\\{character}" for character in "\\.+*?()|[]{}^$"}


def _escape(text: str) -> str:
    return text.translate(_SPECIAL)


def _combine(translated: Sequence[Query | None], how: Callable[[list[Query]], Query]) -> Query | None:
    present = [query for query in translated if query is not None]
    return how(present) if present else None


def _any_of(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])


def _among(keys: Sequence[int]) -> Query:
    return build_keys(keys) if len(keys) <= MAX_SINGLE_KEYS else Query.term_set_query(build_schema(), "key", list(keys))


def _raw(field: str, term: str) -> Query:
    return Query.term_query(build_schema(), field, term, "basic")


def _filter(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
