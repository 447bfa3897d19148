"""What semantic search makes of a query: the text to embed, and the query that also finds documents near to it.

Only what ``matching`` calls plain is optional. A document that is near to the query replaces the plain words and phrases alone; every other
part of the query (``site:``, ``inmeta:``, excluded words, words with a plus, collections, removed URLs) holds for it too.
"""

from collections.abc import Iterator, Sequence

from feedmill.core.query.matching import is_plain
from feedmill.core.query.nodes import join_all, parts_of
from feedmill.model.query import Among, And, AnyOf, MatchAll, Node, Or, Phrase, Word

MAX_TEXT_CHARACTERS = 1_000


def find_text(typed: Node) -> str:
    """Returns the plain words and phrases of a query as it was typed, in their order; "" if it has none."""
    words = (text for part in parts_of(typed) if is_plain(part) for text in _iter_texts(part))
    return " ".join(words)[:MAX_TEXT_CHARACTERS].strip()


def find_restrictions(root: Node) -> Node:
    """Returns the parts of a query that hold for documents near to it too; ``MatchAll`` if it has none."""
    return join_all(part for part in parts_of(root) if not _is_optional(part))


def widen(root: Node, keys: Sequence[int]) -> Node:
    """Returns a query that finds some documents whatever words they hold, beside those that it finds already.

    Shape: ``root`` as typed or loosened; all restrictions hold for the documents of ``keys`` too.
    """
    parts = parts_of(root)
    optional = [part for part in parts if _is_optional(part)]
    fixed = [part for part in parts if not _is_optional(part)]
    return join_all([*fixed, Or((join_all(optional), Among(tuple(keys))))])


def is_restricted(restrictions: Node) -> bool:
    """Whether anything restricts documents near to a query."""
    return not isinstance(restrictions, MatchAll)


def _is_optional(part: Node) -> bool:
    if isinstance(part, Word) and part.is_fixed:
        return False
    return isinstance(part, AnyOf) or is_plain(part)


def _iter_texts(part: Node) -> Iterator[str]:
    match part:
        case Word(text) | Phrase(text):
            yield text
        case Or(parts) | And(parts):
            for one in parts:
                yield from _iter_texts(one)
