"""Estimates the cost of a query for an engine before it runs.

The unit is one visit of each document. A word costs at most one visit of every document. An expression over the dictionary (wildcards,
ranges of numbers, prefixes of values) costs many times as much, since all words that match it are looked up.
"""

from collections.abc import Sequence

from feedmill.core.text.wildcards import is_wildcard
from feedmill.model.query import (
    And,
    AnyOf,
    InText,
    InTitle,
    InUrl,
    MetaContains,
    MetaDates,
    MetaNumbers,
    MetaStarts,
    Node,
    Not,
    NumberRange,
    Or,
    Phrase,
    Site,
    Wildcard,
    Word,
)

OF_A_WORD = 1
OF_A_PHRASE_WORD = 5
OF_AN_EXPRESSION = 40


def count_cost(node: Node) -> int:
    """Returns how many times all documents may have to be visited."""
    match node:
        case And(parts) | Or(parts) | AnyOf(parts):
            return _sum(parts)
        case Not(part):
            return count_cost(part)
        case Word(text):
            return OF_A_WORD * max(len(text) // 20, 1)
        case Phrase(text):
            return OF_A_PHRASE_WORD * (text.count(" ") + 1 + len(text) // 20)
        case InTitle(text) | InText(text) | InUrl(text):
            return OF_AN_EXPRESSION if is_wildcard(text) else OF_A_PHRASE_WORD * (text.count(" ") + 1)
        case Wildcard() | MetaNumbers() | MetaDates() | MetaStarts() | MetaContains() | NumberRange() | Site():
            return OF_AN_EXPRESSION
        case _:
            return OF_A_WORD


def _sum(parts: Sequence[Node]) -> int:
    return sum(count_cost(part) for part in parts)
