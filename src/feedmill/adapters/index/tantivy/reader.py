"""The read side of the Tantivy index. The write side is in ``writer`` and may be in another process.

A commit's token is the number that the engine writes into ``meta.json`` with it. A searcher remembers the number that was there before
it last loaded the index, so it knows that it shows at least that commit. It reads the file again only for a higher number.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import structlog
import tantivy

from feedmill.adapters.index.highlighting import FormsHighlighter
from feedmill.adapters.index.reach import MAX_REACH
from feedmill.adapters.index.tantivy.accessfilter import hides_nothing
from feedmill.adapters.index.tantivy.classfacets import count_bytes_of, count_facets_by_class
from feedmill.adapters.index.tantivy.failures import translated
from feedmill.adapters.index.tantivy.query import build_query, finds_nothing
from feedmill.adapters.index.tantivy.queryresultcache import QueryResultCache, name_classes
from feedmill.adapters.index.tantivy.rerank import RankedSearch, count_best
from feedmill.adapters.index.tantivy.schema import SERVED_VERSIONS, build_schema, register_analyzer
from feedmill.adapters.index.tantivy.segments import META
from feedmill.adapters.index.tantivy.sorting import find_sorted, list_by_key
from feedmill.adapters.index.tantivy.vocabulary import TantivyVocabulary
from feedmill.adapters.index.tantivy.words import WordQueries
from feedmill.adapters.index.tantivy.writer import TantivyWriter
from feedmill.core.ranking.bias import biased
from feedmill.model.access import AccessFilter
from feedmill.model.errors import Conflict, FeedmillError
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Node
from feedmill.model.ranking import Ranking, ScoreBias
from feedmill.model.search import Hits, Sort
from feedmill.ports.search import go_on

__all__ = ["MAX_REACH", "TantivyIndex", "TantivyWriter", "can_serve"]

_Result = TypeVar("_Result")

log = structlog.get_logger(__name__)


class TantivyIndex:
    """Searches an index folder. A folder that does not exist yet is an empty index. Several threads may use it."""

    def __init__(self, folder: Path, ranking: Ranking | None = None, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._ranking = ranking or Ranking()
        self._clock = clock
        self._loading = threading.Lock()
        self._index: tantivy.Index | None = None
        self._searcher: tantivy.Searcher | None = None
        self._cached: tuple[tantivy.Searcher | None, QueryResultCache] = None, QueryResultCache()
        self._commit = -1
        self._load()

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
        """Finds matching documents that the user may see, best first or as ``sort`` says. The total is exact if ``is_exact``."""
        searcher = self._searcher
        if searcher is None:
            return Hits(hits=(), total=0, is_exact=True)
        wanted = max(num, 0) if 0 <= start < MAX_REACH else 0
        begin = start if wanted else 0
        with translated("searching the index"):
            if sort is not None:
                built = build_query(query, access, WordQueries(searcher, query))
                return find_sorted(searcher, built, sort, start=begin, num=wanted)
            # Only where nothing is hidden: otherwise the time would tell whether a hidden document holds a word.
            if hides_nothing(searcher, access) and finds_nothing(query, WordQueries(searcher, query)):
                return Hits(hits=(), total=0, is_exact=True)
            ranked = RankedSearch(searcher, query, access, biased(self._ranking, bias), self._clock(), bias)
            # Only what is the same for every such query can be cached: not
            # explanations, not deep pages, and not scores that depend on the time.
            if explains or not wanted or begin + wanted > ranked.ranking.depth or ranked.ranking.freshness:
                return ranked.find_ranked_hits(begin, wanted, explains=explains)
            best = self._find_cached(searcher, (query, hash(bias)), access, ranked.find_best, count_best)
            return best.list_hits(begin, wanted)

    def _find_cached(
        self,
        searcher: tantivy.Searcher,
        request: object,
        access: AccessFilter,
        find: Callable[[], _Result],
        count_bytes: Callable[[_Result], int],
    ) -> _Result:
        """Returns a result for a user's classes, from the cache if the same query was made before."""
        classes, (searcher_of_cache, cache) = name_classes(access), self._cached
        if classes is None or searcher_of_cache is not searcher:
            return find()
        return cache.get((request, classes), find, count_bytes)

    def list_by_key(self, query: Node, access: AccessFilter, *, after: int, num: int) -> Hits:
        """Lists matching documents that the user may see, by key, with keys above ``after``."""
        searcher = self._searcher
        if searcher is None:
            return Hits(hits=(), total=0, is_exact=True)
        with translated("listing from the index"):
            return list_by_key(searcher, build_query(query, access, WordQueries(searcher, query)), after, max(num, 0))

    def count_facets(
        self, query: Node, access: AccessFilter, facets: Sequence[Facet], check: Callable[[], None] = go_on
    ) -> tuple[FacetCounts, ...]:
        """Counts facets over all matching documents that the user may see."""
        searcher = self._searcher
        if searcher is None:
            return tuple(FacetCounts(facet=facet, values=()) for facet in facets)
        with translated("counting facets"):
            wanted_facets = tuple(facets)
            return self._find_cached(
                searcher,
                (query, wanted_facets),
                access,
                lambda: count_facets_by_class(searcher, query, access, wanted_facets, check),
                count_bytes_of,
            )

    def make_highlighter(self, query: Node) -> FormsHighlighter:
        """Returns the highlighter of a query, with the word forms of the languages in which the index may have its words."""
        return FormsHighlighter(query, () if self._searcher is None else WordQueries(self._searcher, query).languages)

    @property
    def vocabulary(self) -> TantivyVocabulary:
        """The words of the index in its current state."""
        return TantivyVocabulary(self._searcher)

    @property
    def searcher(self) -> tantivy.Searcher | None:
        """The engine's searcher of the newest loaded commit, or None before the first commit."""
        return self._searcher

    def reload_to(self, token: str) -> bool:
        """Reloads the index if it is behind the commit. Returns whether later searches see the commit."""
        if not token:
            return True
        wanted = int(token)
        # Numbers of commits grow, so a comparison is enough. Most searches end here without reading a file.
        if self._commit < wanted:
            self._load()
        return self._commit >= wanted

    def count(self) -> int:
        """Counts documents in the index."""
        return 0 if self._searcher is None else self._searcher.num_docs

    def _load(self) -> None:
        with self._loading, translated(f"loading index {self._folder.name}"):
            # Read before the reload: the searcher then shows this commit or a later one.
            commit = self._read_commit()
            if commit is None or commit == self._commit:
                return
            index = self._index or self._open()
            index.reload()
            searcher = index.searcher()
            # Before the searcher: a search with the old one then finds a cache of another searcher, and does not use it.
            self._cached = searcher, QueryResultCache()
            self._index, self._searcher, self._commit = index, searcher, commit

    def _open(self) -> tantivy.Index:
        index = _open_same_fields(self._folder)
        if index is None:
            raise Conflict(f"index {self._folder.name} has another schema; rebuild the index in another folder")
        register_analyzer(index)
        # the index is reloaded explicitly; the engine's own watcher would be half a second late
        index.config_reader("manual")
        return index

    def _read_commit(self) -> int | None:
        try:
            return int(json.loads((self._folder / META).read_bytes())["opstamp"])
        except FileNotFoundError:
            return None


def _open_same_fields(folder: Path) -> tantivy.Index | None:
    """Opens a folder, or returns None if its fields differ from this program's."""
    index = tantivy.Index.open(str(folder))
    return index if tantivy.Index.is_compatible(str(folder)) and index.schema == build_schema() else None


def can_serve(folder: Path) -> bool:
    """Returns whether this program can read and write a folder of an older schema, named ``SCHEMA-NUMBER``, as one of its own."""
    schema = folder.name.partition("-")[0]
    if not (schema.isdecimal() and int(schema) in SERVED_VERSIONS and (folder / META).exists()):
        return False
    try:
        with translated(f"opening index {folder.name}"):
            return _open_same_fields(folder) is not None
    except FeedmillError as error:
        log.warning("old_index_unreadable", folder=folder.name, reason=str(error))
        return False
