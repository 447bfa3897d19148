"""Query expansion: synonyms widen a query, and stop words in it become optional.

- A run of plain words in a group of synonyms becomes an OR of itself and the others; the longest run is tried first. A phrase in quotes and
  a word with a leading plus match only themselves; a hyphenated word is a run.
- A query that was typed with an operator (``intitle:``, ``site:``, ``inmeta:``, a number range ...) is not expanded at all, since a user
  who narrows a query wants exactly these words. Facet selections and separate parameters are no operators.
- In a two-way group each term finds the others; in a one-way list the first finds the rest. A synonym is not expanded again.
- Stop words are omitted as long as another word or phrase is left.
Source: "Query Expansion" in the appliance's manual; Search Protocol Reference, "entqr".
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from feedmill.core.query.nodes import parts_of
from feedmill.core.query.terms import Words, split_term
from feedmill.model.query import And, AnyOf, MatchAll, Node, Not, Or, Phrase, Plain, Word
from feedmill.model.serving import SynonymSet

MAX_ALTERNATIVES = 50
MAX_EXPANDED = 200

# The look-ahead finds a hyphen first; the possessive match then takes the whole run, so that no further hyphen is tried.
_HYPHENATED = re.compile(r"(?=[^\s\"]+[-\u2010\u2011][^\s\"])[^\s\"]++")


@dataclass(frozen=True, slots=True)
class Expansion:
    """Compiled synonyms and stop words."""

    synonyms: Mapping[Words, tuple[str, ...]] = field(default_factory=dict)
    stop_words: frozenset[str] = frozenset()
    longest: int = 0

    def widen(self, root: Node) -> Node:
        """Returns the query with synonyms and without stop words."""
        if not self.longest and not self.stop_words:
            return root
        widened = self._without_stop_words(_Widening(self).widen(parts_of(root)))
        return widened[0] if len(widened) == 1 else And(tuple(widened))

    def drop_stop_words(self, root: Node) -> Node:
        """Returns the query without stop words."""
        remaining = self._without_stop_words(parts_of(root))
        return remaining[0] if len(remaining) == 1 else And(tuple(remaining))

    def _without_stop_words(self, parts: Sequence[Node]) -> Sequence[Node]:
        remaining = [part for part in parts if not self._is_stop_word(part)]
        return remaining if any(isinstance(part, Plain | Or) for part in remaining) else parts

    def _is_stop_word(self, part: Node) -> bool:
        if not self.stop_words or not isinstance(part, Word) or part.is_fixed:
            return False
        words = split_term(part.text)
        return bool(words) and all(word in self.stop_words for word in words)


def prepare_expansion(synonyms: Iterable[SynonymSet], stop_words: Iterable[str]) -> Expansion:
    """Compiles synonyms and stop words for lookup by words."""
    found: dict[Words, dict[str, None]] = defaultdict(dict)
    for one in synonyms:
        for group in one.two_way:
            for text in group:
                found[split_term(text)].update(dict.fromkeys(group))
        for head, *rest in one.one_way:
            found[split_term(head)].update(dict.fromkeys(rest))
    table = {words: _others(words, texts) for words, texts in found.items() if words}
    stops = frozenset(word for text in stop_words for word in split_term(text))
    return Expansion(table, stops, longest=max(map(len, table), default=0))


def _others(words: Words, texts: Iterable[str]) -> tuple[str, ...]:
    others = {other: text for text in texts if (other := split_term(text)) and other != words}
    return tuple(others.values())[:MAX_ALTERNATIVES]


def holds_operator(root: Node) -> bool:
    """Whether a query was typed with an operator, including in its excluded part."""
    match root:
        case And(parts) | Or(parts) | AnyOf(parts):
            return any(holds_operator(part) for part in parts)
        case Not(part):
            return holds_operator(part)
        case _:
            return not isinstance(root, Plain | MatchAll)


@dataclass(slots=True)
class _Widening:
    """The state of widening one query: how many synonyms were added so far."""

    expansion: Expansion
    added: int = 0

    def widen(self, parts: Sequence[Node]) -> list[Node]:
        widened: list[Node] = []
        place = 0
        while place < len(parts):
            length, node = self._widen_at(parts, place)
            widened.append(node)
            place += length
        return widened

    def _widen_at(self, parts: Sequence[Node], place: int) -> tuple[int, Node]:
        """Returns how many parts were combined, and the node that replaces them."""
        part = parts[place]
        if isinstance(part, Or):
            return 1, self._widen_or(part)
        words: Words = ()
        best: tuple[int, tuple[str, ...]] = (0, ())
        for length in range(1, min(self.expansion.longest, len(parts) - place) + 1):
            piece = parts[place + length - 1]
            if not _is_open(piece):
                break
            words += split_term(piece.text)
            if others := self.expansion.synonyms.get(words):
                best = (length, others)
        length, others = best
        if not length or self.added + len(others) > MAX_EXPANDED:
            return 1, part
        self.added += len(others)
        typed = part if length == 1 else And(tuple(parts[place : place + length]))
        return length, Or((typed, *map(_node_of, others)))

    def _widen_or(self, node: Or) -> Node:
        parts: dict[Node, None] = {}
        for part in node.parts:
            _, widened = self._widen_at((part,), 0)
            parts.update(dict.fromkeys(widened.parts if isinstance(widened, Or) else (widened,)))
        return Or(tuple(parts))


def _is_open(part: Node) -> TypeGuard[Word | Phrase]:
    """Whether a part may be expanded: a word without a plus, or a hyphenated word, which is a phrase without quotes."""
    if isinstance(part, Word):
        return not part.is_fixed
    return isinstance(part, Phrase) and _HYPHENATED.fullmatch(part.text) is not None


def _node_of(text: str) -> Node:
    return Word(text) if len(split_term(text)) == 1 else Phrase(text)
