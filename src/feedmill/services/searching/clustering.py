"""Groups the best results of a search by topic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from feedmill.core.ranking.concepts import Edge, find_alike, name_group, weigh_words
from feedmill.model.access import AccessFilter
from feedmill.model.results import Result
from feedmill.model.search import SearchRequest
from feedmill.services.deadline import Deadline
from feedmill.services.isolation.batches import attempt
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.searching.searcher import Searcher

MAX_CLUSTERED = 100
MAX_CLUSTERS = 10
MIN_DOCUMENTS = 2

CLUSTER_STEP = "cluster"

FindClusters = Callable[[Sequence[Edge]], list[list[int]]]
"""Finds groups of similar texts, by their positions, the largest group first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A group of results: its label, and the positions of its results, best first."""

    label: str
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Results and their groups. Shape: a result is in one group at most."""

    clusters: tuple[Cluster, ...]
    results: tuple[Result, ...]


def cluster_results(
    searcher: Searcher, request: SearchRequest, access: AccessFilter, find_clusters: FindClusters, deadline: Deadline | None = None
) -> Clusters:
    """Groups the best results of a search that the user may see; at the deadline, those that were found by then."""
    page = searcher.search(
        replace(request, start=0, num=MAX_CLUSTERED, facet_names=(), has_frontend_facets=False), access.without_late(), deadline
    )
    grouped = attempt(lambda: _group(page.results, request.query, find_clusters), None, step=CLUSTER_STEP)
    if grouped is None:
        nothing: tuple[Cluster, ...] = ()
        # each text is tried alone, which shows whether it is the one that fails; the others are grouped without it
        sound = [
            result
            for result in page.results
            if attempt(partial(_is_sound, result, request.query), False, step=CLUSTER_STEP, url=result.url)
        ]
        grouped = attempt(lambda: _group(sound, request.query, find_clusters), nothing, step=CLUSTER_STEP)
        return Clusters(clusters=grouped, results=tuple(sound))
    return Clusters(clusters=grouped, results=page.results)


def _is_sound(result: Result, query: str) -> bool:
    _weigh([result], query)
    return True


def _weigh(results: Sequence[Result], query: str) -> list[dict[str, float]]:
    for result in results:
        fault_point(CLUSTER_STEP, result.url)
    return weigh_words([f"{result.title or ''} {result.title or ''} {result.snippet.text}" for result in results], query)


def _group(results: Sequence[Result], query: str, find_clusters: FindClusters) -> tuple[Cluster, ...]:
    titles = [result.title or "" for result in results]
    texts = [result.snippet.text for result in results]
    vectors = _weigh(results, query)
    clusters: dict[str, Cluster] = {}
    for group in find_clusters(find_alike(vectors)):
        others = [f"{titles[place]}\n{texts[place]}" for place in range(len(titles)) if place not in group]
        label = name_group([titles[place] for place in group], [texts[place] for place in group], others, query)
        if label is not None and len(group) >= MIN_DOCUMENTS and len(clusters) < MAX_CLUSTERS:
            clusters.setdefault(label.lower(), Cluster(label=label, places=tuple(group)))
    return tuple(clusters.values())
