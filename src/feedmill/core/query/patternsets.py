"""URL patterns of the settings, in the form that the index uses.

No engine compares URLs as patterns do. Each document is therefore compared with all patterns when it is written, and the index stores a
term for each pattern that matches. A list of patterns becomes a query over such terms, as exact and as fast as any other query.

A list accepts a URL as ``patterns.PatternSet`` does, with one difference: a list without patterns to include means every URL.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from feedmill.core.query.nodes import join_all
from feedmill.core.urls.patternrules import covers_everything, split_url
from feedmill.core.urls.patterns import Pattern, is_remark, parse_pattern
from feedmill.model.query import MatchAll, Node, Not, Or, UnderPattern
from feedmill.model.serving import Serving


def pattern_term(pattern: str) -> str:
    """Returns the term of a pattern. An exception has the same term as its pattern."""
    return hashlib.blake2b(_bare(pattern).encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def _bare(text: str) -> str:
    text = text.strip()
    return text[2:] if text.startswith("+-") else text.removeprefix("-")


def node_of_patterns(include: Sequence[str], exclude: Sequence[str] = ()) -> Node:
    """Returns the query for the documents of two lists of patterns. Errors: BadRequest for an invalid pattern."""
    wanted, unwanted = _parse_lines(include), _parse_lines(exclude)
    positive = [pattern for pattern in wanted if not pattern.is_exception]
    parts: list[Node] = [_any_of(positive)] if positive else []
    parts += [Not(UnderPattern(pattern.body)) for pattern in wanted if pattern.is_exception]
    refused = [pattern for pattern in unwanted if not pattern.is_exception]
    after_all = [pattern for pattern in unwanted if pattern.is_exception]
    if refused:
        refusal = Not(_any_of(refused))
        parts.append(Or((refusal, *(UnderPattern(pattern.body) for pattern in after_all))) if after_all else refusal)
    return join_all(parts)


def node_of_pattern(text: str) -> Node:
    """Returns the query for the documents of one pattern. Errors: BadRequest for an invalid pattern."""
    return _any_of([parse_pattern(text)])


def _any_of(patterns: Sequence[Pattern]) -> Node:
    # A pattern for everything has no term, since every entry would hold it.
    if any(pattern.covers is covers_everything for pattern in patterns):
        return MatchAll()
    nodes = tuple(UnderPattern(pattern.body) for pattern in patterns)
    return nodes[0] if len(nodes) == 1 else Or(nodes)


def _parse_lines(lines: Iterable[str]) -> list[Pattern]:
    return [parse_pattern(line) for line in lines if not is_remark(line)]


def list_patterns(serving: Serving) -> tuple[str, ...]:
    """Returns every pattern that the index must know, each once, without the sign of an exception. Shape: sorted."""
    lines: list[str] = []
    for collection in serving.collections.values():
        lines += (*collection.include, *collection.exclude)
    for frontend in serving.frontends.values():
        lines += frontend.remove_urls
    for bias in serving.biases.values():
        lines += (source.pattern for source in bias.sources)
    return tuple(sorted({pattern.body for pattern in _parse_lines(lines) if pattern.covers is not covers_everything}))


@dataclass(frozen=True, slots=True)
class CompiledPatterns:
    """Patterns compiled for comparison with URLs. Errors: BadRequest for an invalid pattern."""

    texts: tuple[str, ...] = ()
    _ready: tuple[tuple[str, Pattern], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Parses the patterns and computes their terms."""
        # The dataclass is frozen, which forbids a plain assignment also here.
        object.__setattr__(self, "_ready", tuple((pattern_term(text), parse_pattern(text)) for text in self.texts))

    def terms_of(self, url: str) -> tuple[str, ...]:
        """Returns the terms of the patterns that match a URL."""
        if not self._ready:
            return ()
        parts = split_url(url)
        return tuple(term for term, pattern in self._ready if pattern.covers(parts))

    def covers(self, url: str) -> bool:
        """Whether any of the patterns matches a URL."""
        return bool(self.terms_of(url))
