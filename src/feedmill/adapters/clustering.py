"""Groups by NetworkX: communities of a graph whose edges are what is alike, by the method of Louvain.

The number of groups follows from the graph. The same edges give the same groups. The library is loaded when the first groups are asked
for: most processes never do, and it would be a third of their start.
"""

from collections.abc import Sequence

from feedmill.core.ranking.concepts import Edge

SEED = 1
RESOLUTION = 1.1


def find_clusters(edges: Sequence[Edge]) -> list[list[int]]:
    """Finds groups of places that are alike, the largest first."""
    from networkx import Graph
    from networkx.algorithms.community import louvain_communities

    graph = Graph()
    graph.add_weighted_edges_from((edge.one, edge.other, edge.likeness) for edge in edges)
    if not edges:
        return []
    found = louvain_communities(graph, weight="weight", resolution=RESOLUTION, seed=SEED)
    return sorted((sorted(group) for group in found), key=lambda group: (-len(group), group))
