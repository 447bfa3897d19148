"""The words of a text as the index keeps them: one analyser for writing, asking and highlighting."""

from tantivy import Filter, Index, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from feedmill.core.analysis import fold_value, segment, segment_with_places
from feedmill.core.typedvalues import name_digest
from feedmill.model.search import And, InText, InTitle, Node, Or, Phrase, Some, Word

WORDS = "words"
"""The name under which the analyser is registered; engines forget it when they close."""

TAGGED = "tagged"
"""The name of the analyser that splits at blanks and changes nothing, for words that were split and folded before."""

MAX_TOKEN_BYTES = 100
MAX_TERMS = 100


def words_analyzer() -> TextAnalyzer:
    """Builds the analyser: split at what is no letter or digit, lower case, no accents, nothing of more than ``MAX_TOKEN_BYTES``."""
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    return builder.filter(Filter.remove_long(MAX_TOKEN_BYTES)).filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()


def register(index: Index) -> None:
    """Tells an open index its analysers."""
    index.register_tokenizer(WORDS, words_analyzer())
    index.register_tokenizer(TAGGED, TextAnalyzerBuilder(Tokenizer.whitespace()).build())


_ANALYZER = words_analyzer()


def split_words(text: str) -> list[str]:
    """Returns the folded words of a text."""
    return _ANALYZER.analyze(segment(text))


def fold(text: str) -> list[tuple[str, int, int]]:
    """Returns the folded words of a text with their places in it, in characters."""
    segmented, places = segment_with_places(text)
    tokens = _ANALYZER.pre_tokenize(segmented).tokens
    if places is None:
        return [(token.text, token.char_offset_from, token.char_offset_to) for token in tokens]
    return [(token.text, places[token.char_offset_from][0], places[token.char_offset_to - 1][1]) for token in tokens]


def tagged_words(name: str, value: str) -> list[str]:
    """Returns the words of a metadata value, each with its name, so that one field answers for all names."""
    tag = name_digest(fold_value(name))
    return [f"{tag}:{word}" for word in split_words(value)]


def highlight_terms(query: Node) -> tuple[str, ...]:
    """Returns what a query would highlight: words, and phrases as their words joined by blanks; each once, in the order asked."""
    found: dict[str, None] = {}
    _gather(query, found)
    return tuple(found)[:MAX_TERMS]


def _gather(node: Node, found: dict[str, None]) -> None:
    match node:
        case Word(text) | Phrase(text) | InTitle(text) | InText(text):
            if words := split_words(text):
                found[" ".join(words)] = None
        case And(parts) | Or(parts) | Some(parts):
            for part in parts:
                _gather(part, found)
        case _:
            pass
