"""What only a thorough run tries: ``make test-full``, and so CI, sets FEEDMILL_THOROUGH; ``make test`` lists at its end what it left out.

A test or a parameter with the mark ``thorough`` repeats with more effort, or for more cases, what another test checks in every run. A
property test tries fewer examples outside of a thorough run.
"""

import os
from collections.abc import Iterable

IS_THOROUGH = bool(os.environ.get("FEEDMILL_THOROUGH"))

USUAL_EXAMPLES = 100
"""The number of examples of a property test that names none, in a thorough run."""

_SHARE = 4
_FEWEST = 10


def count_examples(thorough: int = USUAL_EXAMPLES) -> int:
    """Returns how many examples a property test tries that tries so many in a thorough run."""
    return thorough if IS_THOROUGH else max(min(thorough, _FEWEST), thorough // _SHARE)


def count_cases(nodeids: Iterable[str]) -> dict[str, int]:
    """Returns how many cases of each test are among the names of tests."""
    counts: dict[str, int] = {}
    for nodeid in nodeids:
        test = nodeid.partition("[")[0]
        counts[test] = counts.get(test, 0) + 1
    return counts
