"""Result biasing: how a bias from the settings moves results.

    score = score x 2 ^ (sum of the weights that fit / 5)          -10 a quarter, -5 half, 0 as it is, 5 twice, 10 four times
    score = score x (1 + date x 0.3 x 2 ^ -(age / freshness_days)) for a date from 0 to 10

- The weights of all source patterns and metadata values that fit are summed, up to 20 in either direction.
- A result without words, such as one of a restriction alone, has no score. It counts as a small score, so that a bias orders it too.
- Only the best thousand results are moved. An order by date or metadata is not changed.
Source: "Result Biasing" in the appliance's manual.
"""

from dataclasses import replace

from feedmill.core.query.patternsets import node_of_pattern
from feedmill.model.query import MetaEquals, MetaExists
from feedmill.model.ranking import Ranking, ScoreBias
from feedmill.model.serving import Bias, MetadataBias

BIASED_DEPTH = 1_000
WEIGHT_THAT_DOUBLES = 5.0
MOST_WEIGHT = 20
FRESHNESS_A_STEP = 0.3
WORDLESS_SCORE = 0.01


def prepare_bias(bias: Bias | None) -> ScoreBias | None:
    """Compiles a bias, None for one that moves nothing. Errors: BadRequest for an invalid pattern."""
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
    """Returns the factor that a sum of weights applies to a score."""
    return float(2.0 ** (max(min(weight, MOST_WEIGHT), -MOST_WEIGHT) / WEIGHT_THAT_DOUBLES))


def biased(ranking: Ranking, bias: ScoreBias | None) -> Ranking:
    """Returns the ranking with a bias applied: its depth covers the biased results and its freshness includes the bias by date."""
    if bias is None:
        return ranking
    freshness = ranking.freshness + bias.date * FRESHNESS_A_STEP
    return replace(ranking, depth=max(ranking.depth, BIASED_DEPTH), freshness=freshness)
