"""Clusters by NetworkX: communities of a graph whose edges join similar results, by the method of Louvain.

The number of clusters follows from the graph. The same edges produce the same clusters. The library is imported at the first call:
most processes never make one, and the import would be a third of their start.
"""

from collections.abc import Sequence

from feedmill.core.ranking.concepts import Edge

SEED = 1
RESOLUTION = 1.1


def find_clusters(edges: Sequence[Edge]) -> list[list[int]]:
    """Returns clusters of similar places, the largest first."""
    from networkx import Graph
    from networkx.algorithms.community import louvain_communities

    graph = Graph()
    graph.add_weighted_edges_from((edge.one, edge.other, edge.likeness) for edge in edges)
    if not edges:
        return []
    found = louvain_communities(graph, weight="weight", resolution=RESOLUTION, seed=SEED)
    return sorted((sorted(group) for group in found), key=lambda group: (-len(group), group))
