"""One result list of two: the matches by words, and the documents near to the query by a model's vectors.

The list is decided once, so that pages, total and facets describe it:

1. The nearest documents of the user's classes are found, and the index says which of them the restrictions of the query permit. At most
   ``NEAREST`` of these, none less than a quarter as near as the nearest, are the semantic list.
2. The query is widened by these documents (``core.query.semantic``). Its total and its facets are those of the whole list.
3. The list begins with both lists fused by rank: the best ``DEPTH`` matches by words, and the semantic list. All other matches by words
   follow in their order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from feedmill.core.query.nodes import join_all
from feedmill.core.query.semantic import find_restrictions, find_text, is_restricted, widen
from feedmill.core.ranking.fusion import fuse
from feedmill.model.access import AccessFilter
from feedmill.model.errors import UpstreamFailure
from feedmill.model.query import Among, Node
from feedmill.model.search import Hit, Hits, Match
from feedmill.model.semantic import Neighbour
from feedmill.ports import SearchIndex
from feedmill.services.searching.narrowing import Narrowing
from feedmill.services.searching.searchstate import PlannedSearch
from feedmill.services.searching.semanticranking import NEAR_ENOUGH, SemanticRanking

DEPTH = 100
"""How many matches by words are fused with the semantic list."""
NEAREST = 100
"""The most documents of the semantic list."""
NEAREST_RESTRICTED = 1_000
"""How many of the nearest documents are tried where the query restricts them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridList:
    """A result list. Shape: ``by_words`` is the query without the semantic list, ``whole`` with it, both without the selections."""

    index: SearchIndex
    search: PlannedSearch
    by_words: Node
    whole: Node
    narrowing: Narrowing
    near: Mapping[int, Neighbour]

    def list_hits(self, access: AccessFilter, start: int, num: int) -> Hits:
        """Returns a page of the list for some classes, with the total of the whole list. Errors: OutOfTime."""
        total = self._search(self.whole, access, 0, 0)
        best = {hit.key: hit for hit in self._search(self.by_words, access, 0, DEPTH).hits}
        ranks = {key: rank for rank, key in enumerate(best, 1)}
        fused = fuse(list(best), list(self.near))
        page = [self._fused_hit(key, score, best.get(key), ranks.get(key)) for key, score in fused[start : start + num]]
        if len(page) < num and len(best) == DEPTH:
            page += self._list_rest(access, max(start - len(fused), 0), num - len(page), least=fused[-1][1])
        return replace(total, hits=tuple(page))

    def _list_rest(self, access: AccessFilter, start: int, num: int, *, least: float) -> list[Hit]:
        """Lists the matches by words below the fused part, which has those of the semantic list already."""
        # how many of the semantic list stand before a place is not known, so all from the beginning of the rest are read
        found = self._search(self.by_words, access, DEPTH, start + num + len(self.near)).hits
        rest = [hit for hit in found if hit.key not in self.near]
        # scores never rise down the list
        return [replace(hit, score=min(hit.score, least)) for hit in rest[start : start + num]]

    def _search(self, root: Node, access: AccessFilter, start: int, num: int) -> Hits:
        plan = self.search.plan
        query = self.narrowing.narrow(root)
        return self.index.search(query, access, start=start, num=num, bias=plan.bias, explains=plan.request.explains)

    def _fused_hit(self, key: int, score: float, by_words: Hit | None, rank: int | None) -> Hit:
        near = self.near.get(key)
        parts = by_words.parts if by_words is not None else ()
        if self.search.plan.request.explains:
            parts += (("rank_by_words", float(rank)),) if rank is not None else ()
            parts += (("similarity", near.similarity),) if near is not None else ()
        fingerprint = by_words.fingerprint if by_words is not None else 0
        return Hit(key=key, score=score, parts=parts, passage=None if near is None else near.passage, fingerprint=fingerprint)


def find_hybrid_list(
    ranking: SemanticRanking, index: SearchIndex, strict: Node, searched: Node, search: PlannedSearch, narrowing: Narrowing
) -> HybridList | None:
    """Returns the list of a search by words and by meaning, None if it has no semantic part.

    Shape: ``searched`` is ``strict`` or loosened. Errors: UpstreamFailure with a text for users; OutOfTime.
    """
    request, access = search.plan.request, search.access.without_late()
    text = find_text(search.plan.typed)
    if request.match is Match.ALL or request.sort is not None or request.cursor is not None or not text:
        return None
    restrictions = find_restrictions(strict)
    tried = NEAREST_RESTRICTED if is_restricted(restrictions) else NEAREST
    nearest = _find_once(search, lambda: ranking.find_neighbours(text, access.permitted, tried, search.deadline.left_seconds))
    permitted = _keep_permitted(index, restrictions, access, nearest)
    least = NEAR_ENOUGH * permitted[0].similarity if permitted else 0.0
    near = [found for found in permitted if found.similarity >= least][:NEAREST]
    if not near:
        return None
    whole = widen(searched, [found.document_id for found in near])
    if narrowing.restrictions:
        near = _keep_permitted(index, join_all(node for _, node in narrowing.restrictions), access, near)
    by_id = {found.document_id: found for found in near}
    return HybridList(index=index, search=search, by_words=searched, whole=whole, narrowing=narrowing, near=by_id)


def _find_once(search: PlannedSearch, find: Callable[[], list[Neighbour]]) -> list[Neighbour]:
    """Returns what was found for another part of the result list of the same request, or finds it. Errors: as ``find``, also again."""
    if not search.nearest:
        try:
            search.nearest.append(find())
        except UpstreamFailure as error:
            search.nearest.append(error)
    (found,) = search.nearest
    if isinstance(found, UpstreamFailure):
        raise found
    return found


def _keep_permitted(index: SearchIndex, restrictions: Node, access: AccessFilter, nearest: Sequence[Neighbour]) -> list[Neighbour]:
    """Returns those of the documents that the index has, that the user may see in it, and for which restrictions hold."""
    if not nearest:
        return []
    among = Among(tuple(found.document_id for found in nearest))
    hits = index.search(join_all([restrictions, among]), access, start=0, num=len(nearest))
    held = {hit.key for hit in hits.hits}
    return [found for found in nearest if found.document_id in held]
