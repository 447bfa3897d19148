"""How results are ranked: the weight of each part of a score."""

from dataclasses import dataclass

from feedmill.model.query import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The weights. A word's score in the whole document, by its stem, has weight 1; the others are relative to it.

    Units: ``depth`` is how many of the best matches are ranked again by all factors; ``static_rank``, ``links`` and ``freshness`` are the
    share by which a score may change; ``freshness_days`` is the half-life of freshness in days.
    """

    title: float = 0.3
    headings: float = 0.15
    anchors: float = 0.3
    navigation: float = 0.1
    compounds: float = 0.4
    exact: float = 0.2
    proximity: float = 0.2
    url: float = 0.1
    metadata: float = 0.1
    accents: float = 0.2
    characters: float = 0.5
    function_words: float = 0.2
    static_rank: float = 0.3
    links: float = 0.1
    freshness: float = 0.0
    freshness_days: float = 90.0
    depth: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreBias:
    """A bias that moves results in addition to their ranking, by weights of what they match. Units: weights -10 to 10, ``date`` 0 to 10."""

    name: str
    parts: tuple[tuple[Node, int], ...] = ()
    date: int = 0
