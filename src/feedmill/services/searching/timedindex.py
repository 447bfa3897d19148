"""An index that observes the deadline of one request.

Cheap queries run in the thread of the request. Others run in separate engine threads, which the request abandons when its time is over.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from feedmill.core.query.cost import OF_AN_EXPRESSION, count_cost
from feedmill.core.ranking.facets import is_built_in
from feedmill.model.access import AccessFilter
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Node
from feedmill.model.ranking import ScoreBias
from feedmill.model.search import Hits, Sort
from feedmill.ports import Highlighter, SearchIndex, Vocabulary
from feedmill.ports.search import go_on
from feedmill.services.deadline import Deadline
from feedmill.services.searching.enginethreads import EngineThreads

CHEAP: Final = 1_000_000
"""How many documents a query may read in the thread of its request; about as many as the engine reads in a twentieth of a second."""

FAR: Final = 1_000
OF_A_FACET: Final = 3
OF_A_BUILT_IN_FACET: Final = 1
"""Counting it takes as long as reading a word."""

OF_A_SORT: Final = 5
SPELLING_SECONDS: Final = 0.5
"""How long the search for a better spelling may take; a response without a spelling is complete."""

OF_COUNTS: Final = 5
"""Choosing among words alike takes as long as counting a few of them."""

_Answer = TypeVar("_Answer")


class TimedIndex:
    """Searches an index for one request. Errors: OutOfTime from every method if the time is over before the answer exists."""

    def __init__(self, index: SearchIndex, deadline: Deadline, threads: EngineThreads) -> None:
        self._index = index
        self._deadline = deadline
        self._threads = threads

    def search(
        self,
        query: Node,
        access: AccessFilter,
        *,
        start: int,
        num: int,
        sort: Sort | None = None,
        bias: ScoreBias | None = None,
        explains: bool = False,
    ) -> Hits:
        """Finds documents as ``SearchIndex.search`` does."""

        def query_index() -> Hits:
            return self._index.search(query, access, start=start, num=num, sort=sort, bias=bias, explains=explains)

        times = count_cost(query) + (OF_A_SORT if sort is not None else 0)
        times += sum(count_cost(node) for node, _ in bias.parts) if bias is not None else 0
        return self.run(query_index, times, is_far=start + num > FAR, makes_results=True)

    def list_by_key(self, query: Node, access: AccessFilter, *, after: int, num: int) -> Hits:
        """Lists documents as ``SearchIndex.list_by_key`` does."""

        def query_index() -> Hits:
            return self._index.list_by_key(query, access, after=after, num=num)

        return self.run(query_index, 2 * count_cost(query), makes_results=True)

    def count_facets(
        self, query: Node, access: AccessFilter, facets: Sequence[Facet], check: Callable[[], None] = go_on
    ) -> tuple[FacetCounts, ...]:
        """Counts facets as ``SearchIndex.count_facets`` does."""
        times = count_cost(query) + sum(OF_A_BUILT_IN_FACET if is_built_in(facet) else OF_A_FACET for facet in facets)

        def query_index() -> tuple[FacetCounts, ...]:
            return self._index.count_facets(query, access, facets, self._check_with(check))

        return self.run(query_index, times)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the index in its current state."""
        return _TimedVocabulary(self._index.vocabulary, self)

    def make_highlighter(self, query: Node) -> Highlighter:
        """Returns the highlighter of a query."""
        return self._index.make_highlighter(query)

    def reload_to(self, token: str) -> bool:
        """Reloads the index if it is behind the commit. Returns whether later searches see the commit."""
        return self._index.reload_to(token)

    def count(self) -> int:
        """Counts documents in the index."""
        return self._index.count()

    def _check_with(self, check: Callable[[], None]) -> Callable[[], None]:
        def check_both() -> None:
            self._deadline.check()
            check()

        return check_both

    def run(self, query_index: Callable[[], _Answer], times: int, *, is_far: bool = False, makes_results: bool = False) -> _Answer:
        """Returns the answer of a query that reads all documents ``times`` times; ``makes_results``: it is still made into results."""
        self._deadline.check()
        # A deep page makes the engine hold as many hits, whatever the query is.
        if not is_far and times * self._index.count() <= CHEAP:
            return query_index()
        until = self._deadline.until_results if makes_results else self._deadline.until
        return self._threads.run(query_index, self._deadline, until)

    def try_for(self, seconds: float, query_index: Callable[[], _Answer], times: int) -> _Answer | None:
        """Does the same as ``run``, but returns None after so many seconds: for an answer that the search is complete without."""
        self._deadline.check()
        if times * self._index.count() <= CHEAP:
            return query_index()
        return self._threads.try_for(seconds, query_index, self._deadline)


class _TimedVocabulary:
    """Reads the vocabulary for one request."""

    def __init__(self, vocabulary: Vocabulary, timed: TimedIndex) -> None:
        self._vocabulary = vocabulary
        self._timed = timed

    def complete(self, start: str, within: Node, access: AccessFilter, limit: int) -> list[tuple[str, int]]:
        """Completes a word as ``Vocabulary.complete`` does."""
        return self._timed.run(lambda: self._vocabulary.complete(start, within, access, limit), count_cost(within) + OF_AN_EXPRESSION)

    def count(self, word: str, access: AccessFilter) -> int:
        """Counts documents as ``Vocabulary.count`` does."""
        return self._timed.run(lambda: self._vocabulary.count(word, access), 1)

    def is_in_compound(self, word: str, access: AccessFilter) -> bool:
        """Looks for compounds as ``Vocabulary.is_in_compound`` does."""
        return self._timed.run(lambda: self._vocabulary.is_in_compound(word, access), 1)

    def find_alike(self, word: str, access: AccessFilter, more_than: int) -> str | None:
        """Finds a word as ``Vocabulary.find_alike`` does."""
        # Otherwise several walks through the dictionary: for each first letter that the word may have.
        times = OF_COUNTS if self.has_read(word, more_than) else 10 * OF_AN_EXPRESSION
        return self._timed.try_for(SPELLING_SECONDS, lambda: self._vocabulary.find_alike(word, access, more_than), times)

    def has_read(self, word: str, more_than: int) -> bool:
        """Whether a word need not be looked for as ``Vocabulary.has_read`` says."""
        return self._vocabulary.has_read(word, more_than)

    def find_holding(self, parts: Sequence[Node], keys: Sequence[int], access: AccessFilter) -> tuple[frozenset[int], ...]:
        """Finds documents as ``Vocabulary.find_holding`` does."""
        times = sum(count_cost(part) for part in parts) + 1
        return self._timed.run(lambda: self._vocabulary.find_holding(parts, keys, access), times, makes_results=True)
