"""Groups results whose texts are nearly the same, so that a page shows them as one.

Only the best ``GROUPED`` of a list are grouped, always the same ones, so that all pages of the list agree. Each belongs to the first result
that it is alike. Below them the list continues result by result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from feedmill.core.text.fingerprints import find_alike
from feedmill.model.search import Hit

GROUPED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedPage:
    """A page of a grouped list. Shape: ``before`` counts the documents of the pages before; ``folded`` those of the list below others."""

    hits: tuple[Hit, ...]
    before: int
    folded: int


def group_page(best: Sequence[Hit], start: int, num: int, list_rest: Callable[[int, int], Sequence[Hit]]) -> GroupedPage:
    """Returns a page of the grouped list.

    Shape: ``best`` are the first ``GROUPED`` hits of the list, or all; ``list_rest`` lists ``num`` of its hits from a position on.
    """
    rows = group_alike(best)
    page = rows[start : start + num]
    beyond = max(start - len(rows), 0)
    if len(page) < num and len(best) == GROUPED:
        page += list_rest(GROUPED + beyond, num - len(page))
    before = sum(1 + len(row.alike) for row in rows[:start]) + beyond
    return GroupedPage(hits=tuple(page), before=before, folded=len(best) - len(rows))


def group_alike(hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits that stand for a group, or for themselves, in their order."""
    first: dict[int, int] = {}
    for one, other in find_alike([hit.fingerprint for hit in hits]):
        if one not in first:
            first.setdefault(other, one)
    if not first:
        return list(hits)
    alike: dict[int, list[int]] = {}
    for place, stands_for_it in sorted(first.items()):
        alike.setdefault(stands_for_it, []).append(hits[place].key)
    return [replace(hit, alike=tuple(alike.get(place, ()))) for place, hit in enumerate(hits) if place not in first]
