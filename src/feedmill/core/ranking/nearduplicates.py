"""Groups results whose texts are nearly the same, so that a page shows them as one.

Only the first ``GROUPED`` of a list are grouped, always the same ones, so that all pages of the list agree. Each belongs to the first
result that it is alike. Below them the list continues result by result.

A list that is made hit by hit, because other servers decide about them, is grouped page by page: a hit belongs to a result of the page that
is open. So a page needs no hits behind it, and the pages before it are the same whichever page is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from feedmill.core.text.fingerprints import find_alike, is_alike
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


class GroupedWalk:
    """A list that is grouped while it is made, if at all.

    Shape: ``rows`` stand for groups, or for themselves; a page begins at ``start`` and has ``num`` of them, and so have those around it.
    """

    def __init__(self, start: int, num: int, *, is_grouped: bool) -> None:
        self.rows: list[Hit] = []
        self.folded = 0
        self._first, self._num = start % num if num else 0, num
        self._is_grouped = is_grouped

    def add(self, hit: Hit) -> None:
        """Adds the next hit."""
        if self._is_grouped and hit.fingerprint:
            for place in range(self._find_page(), len(self.rows)):
                row = self.rows[place]
                if is_alike(row.fingerprint, hit.fingerprint):
                    self.rows[place] = replace(row, alike=(*row.alike, hit.key))
                    self.folded += 1
                    return
        self.rows.append(hit)

    def _find_page(self) -> int:
        """Returns where the page of the last row begins."""
        behind = len(self.rows) - 1 - self._first
        return self._first + behind // self._num * self._num if behind >= 0 else 0


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
