"""The words of a query as settings are compared with them: without regard to letter case, Latin accents and composition.

An engine folds in its own way, maybe with word stems; settings name words as people write them, and are found by those alone.
"""

from dataclasses import dataclass

from feedmill.core.analysis import split_words
from feedmill.model.query import And, Node, Or, Phrase, Some, Word
from feedmill.model.search import ParsedQuery

Words = tuple[str, ...]


def split_term(text: str) -> Words:
    """Returns the words of a text, folded; a script without blanks gives its characters."""
    return tuple(split_words(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWords:
    """The words that a query asks for, in order. ``is_whole``: it asks for nothing else and excludes nothing."""

    words: Words
    is_whole: bool


def read_words(typed: ParsedQuery) -> AskedWords:
    """Returns the words of a query as it was typed."""
    texts: list[str] = []
    is_whole = _gather(typed.root, texts)
    return AskedWords(words=tuple(word for text in texts for word in split_term(text)), is_whole=is_whole)


def _gather(node: Node, texts: list[str]) -> bool:
    match node:
        case Word(text) | Phrase(text):
            texts.append(text)
            return True
        case And(parts) | Some(parts):
            found = [_gather(part, texts) for part in parts]
            return all(found)
        case Or(parts):
            for part in parts:
                _gather(part, texts)
            return False
        case _:
            return False


def holds_run(words: Words, run: Words) -> bool:
    """Whether words hold others, one behind the other."""
    return any(words[place : place + len(run)] == run for place in range(len(words) - len(run) + 1))
