"""The words of a query in the form that settings are compared with: without letter case, Latin accents and composition.

An engine folds in its own way, possibly with word stems. Settings name words as people write them, and only these match.
"""

from dataclasses import dataclass

from feedmill.core.text.analysis import split_words
from feedmill.model.query import And, AnyOf, Node, Or, Phrase, Word

Words = tuple[str, ...]


def split_term(text: str) -> Words:
    """Returns the folded words of a text; the characters of a script without blanks."""
    return tuple(split_words(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWords:
    """The words of a query, in order. ``is_whole``: the query contains nothing else and excludes nothing."""

    words: Words
    is_whole: bool


def read_words(typed: Node) -> QueryWords:
    """Returns the words of a query as the user typed it."""
    texts: list[str] = []
    is_whole = _gather(typed, texts)
    return QueryWords(words=tuple(word for text in texts for word in split_term(text)), is_whole=is_whole)


def _gather(node: Node, texts: list[str]) -> bool:
    match node:
        case Word(text) | Phrase(text):
            texts.append(text)
            return True
        case And(parts) | AnyOf(parts):
            found = [_gather(part, texts) for part in parts]
            return all(found)
        case Or(parts):
            for part in parts:
                _gather(part, texts)
            return False
        case _:
            return False


def holds_run(words: Words, run: Words) -> bool:
    """Whether words contain others as a contiguous run."""
    return any(words[place : place + len(run)] == run for place in range(len(words) - len(run) + 1))
