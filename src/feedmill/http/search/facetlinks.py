"""Facets on the search page: values with links that narrow the list, and the selected values with links that widen it.

The selection is in ``dnavs=``, separate from the query, and is written in the query language.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedmill.core.query.text import render_query
from feedmill.core.ranking.facets import narrow
from feedmill.core.text.analysis import fold_value
from feedmill.core.text.units import write_unit
from feedmill.model.facets import Facet, FacetCounts, FacetRange, FacetType, FacetValue
from feedmill.model.messages import message
from feedmill.model.query import MetaDates, MetaEquals, MetaNumbers, Node

SHOWN_AT_ONCE = 6

Href = Callable[[str], str]
"""Returns the link to the same search with another selection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownValue:
    """A value to select. ``is_raw``: the text comes from a document and may be of any language."""

    text: str
    count: int
    href: str
    is_raw: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFacet:
    """A facet: the values that are visible at once, and the others."""

    label: str
    values: tuple[ShownValue, ...]
    more: tuple[ShownValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedFacetValue:
    """A selected value, and the link to the page without it."""

    label: str
    text: str
    href: str


def show_facets(counted: Sequence[FacetCounts], selected: Sequence[Node], href: Href) -> tuple[ShownFacet, ...]:
    """Returns the facets that have a value to select."""
    shown = []
    for counts in counted:
        values = [
            _show_value(counts.facet, value, selected, href) for value in counts.values if narrow(counts.facet, value) not in selected
        ]
        if values:
            label = counts.facet.label or counts.facet.name
            shown.append(ShownFacet(label=label, values=tuple(values[:SHOWN_AT_ONCE]), more=tuple(values[SHOWN_AT_ONCE:])))
    return tuple(shown)


def _show_value(facet: Facet, value: FacetValue, selected: Sequence[Node], href: Href) -> ShownValue:
    text = value.value if value.range is None else describe_range(value.range, facet.type)
    query = _render_parts([*selected, narrow(facet, value)])
    return ShownValue(text=text or "", count=value.count, href=href(query), is_raw=value.range is None)


def show_selected(selected: Sequence[Node], facets: Sequence[Facet], href: Href) -> tuple[SelectedFacetValue, ...]:
    """Returns the selected values, in order."""
    found = []
    for place, part in enumerate(selected):
        label, text = _describe(part, facets)
        found.append(SelectedFacetValue(label=label, text=text, href=href(_render_parts([*selected[:place], *selected[place + 1 :]]))))
    return tuple(found)


def describe_range(wanted: FacetRange, kind: FacetType) -> str:
    """Returns a range as text for people."""
    low = wanted.low.removesuffix("-01-01") if kind is FacetType.DATE else wanted.low
    high = wanted.high.removesuffix("-12-31") if kind is FacetType.DATE else wanted.high
    if low and high:
        # both ends are shortened to years, or none
        low, high = (low, high) if len(low) == len(high) else (wanted.low, wanted.high)
        return low if low == high else f"{low} – {high}"
    if kind is FacetType.DATE:
        return message("from %(day)s", day=low) if low else message("until %(day)s", day=high)
    return message("at least %(number)s", number=low) if low else message("at most %(number)s", number=high)


def _render_parts(parts: Sequence[Node]) -> str:
    return " ".join(render_query(part) for part in parts)


def _describe(part: Node, facets: Sequence[Facet]) -> tuple[str, str]:
    match part:
        case MetaEquals(name, value):
            return _label(name, facets), value
        case MetaNumbers(name, low, high, unit):
            ends = FacetRange(low=_number(low), high=_number(high))
            return _label(name, facets), _add_unit(describe_range(ends, FacetType.FLOAT), write_unit(unit))
        case MetaDates(name, first, last):
            days = FacetRange(low=first.isoformat() if first else "", high=last.isoformat() if last else "")
            return _label(name, facets), describe_range(days, FacetType.DATE)
        case _:
            return "", render_query(part)


def _add_unit(numbers: str, unit: str) -> str:
    return message("%(numbers)s %(unit)s", numbers=numbers, unit=unit) if unit else numbers


def _label(name: str, facets: Sequence[Facet]) -> str:
    folded = fold_value(name)
    return next((facet.label or facet.name for facet in facets if fold_value(facet.name) == folded), name)


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:.10f}".rstrip("0").rstrip(".")
