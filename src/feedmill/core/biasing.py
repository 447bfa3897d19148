"""Result biasing: how a bias of the settings moves results.

    score = score x 2 ^ (sum of the weights that fit / 5)          -10 a quarter, -5 half, 0 as it is, 5 twice, 10 four times
    score = score x (1 + date x 0.3 x 2 ^ -(age in 90 days))       for a date from 0 to 10

- Of source patterns and metadata values all that fit are summed, up to 20 either way.
- What matches without words, as a restriction alone, has no score; it counts as a small one, so that a bias orders it too.
- Only the best thousand are moved; an order by date or metadata is not touched.
Source: "Result Biasing" in the appliance's manual.
"""

from dataclasses import replace

from feedmill.core.patternsets import node_of_pattern
from feedmill.model.query import MetaEquals, MetaExists
from feedmill.model.ranking import Ranking, ScoreBias
from feedmill.model.serving import Bias, MetadataBias

BIASED_DEPTH = 1_000
WEIGHT_THAT_DOUBLES = 5.0
MOST_WEIGHT = 20
FRESHNESS_A_STEP = 0.3
WORDLESS_SCORE = 0.01


def prepare_bias(bias: Bias | None) -> ScoreBias | None:
    """Makes a bias ready, None for one that moves nothing. Errors: BadRequest for a pattern that is none."""
    if bias is None:
        return None
    parts = [(node_of_pattern(source.pattern), source.weight) for source in bias.sources if source.weight]
    parts += [(_node_of(held), held.weight) for held in bias.metadata if held.weight]
    if not parts and not bias.date:
        return None
    return ScoreBias(name=bias.name, parts=tuple(parts), date=bias.date)


def _node_of(held: MetadataBias) -> MetaEquals | MetaExists:
    return MetaEquals(held.name, held.value) if held.value else MetaExists(held.name)


def bias_factor(weight: float) -> float:
    """Returns by what a sum of weights multiplies a score."""
    return float(2.0 ** (max(min(weight, MOST_WEIGHT), -MOST_WEIGHT) / WEIGHT_THAT_DOUBLES))


def biased(ranking: Ranking, bias: ScoreBias | None) -> Ranking:
    """Returns the ranking under a bias: as deep as it reaches, and as fresh as it wants."""
    if bias is None:
        return ranking
    freshness = ranking.freshness + bias.date * FRESHNESS_A_STEP
    return replace(ranking, depth=max(ranking.depth, BIASED_DEPTH), freshness=freshness)
