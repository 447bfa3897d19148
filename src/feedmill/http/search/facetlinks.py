"""Facets on the search page: a form with a box for each value, and links that remove what is selected.

Selections are in ``select=``. Those of ``dnavs=``, which old links have, are shown and removed in the same way, but are no boxes. A facet
of days has two fields for other days than it lists; the form sends them as ``low:NAME`` and ``high:NAME``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from feedmill.core.query.plan import BUILT_IN_FACETS, QueryPlan
from feedmill.core.query.text import render_query
from feedmill.core.ranking.builtinfacets import built_in_term, last_of_month
from feedmill.core.ranking.facets import MAX_VALUES_SHOWN, counts_days, is_built_in, narrow
from feedmill.core.text.analysis import fold_value
from feedmill.core.text.typedvalues import read_day
from feedmill.core.text.units import write_unit
from feedmill.model.facets import BuiltIn, Facet, FacetCounts, FacetRange, FacetType, FacetValue, Selection
from feedmill.model.messages import message
from feedmill.model.query import BuiltInEquals, DateRange, MetaDates, MetaEquals, MetaNumbers, Node
from feedmill.model.results import ResultPage, UnselectedList
from feedmill.model.search import SearchRequest

_ENDS = ("low", "high")

SHOWN_AT_ONCE = 5
MAX_LISTED = 50
"""The number of values of a facet on a page, besides those that are selected: each takes as long to write as a tenth of a result."""

LONG = 10
"""The number of values from which a facet has a field to search in it."""

_RECENT = {1: message("Today"), 7: message("Past 7 days"), 30: message("Past 30 days"), 365: message("Past year")}
_TYPES = {
    "html": message("Web page"),
    "txt": message("Plain text"),
    "md": "Markdown",
    "eml": message("Mail"),
    "man": message("Manual page"),
    "doc": "Word (DOC)",
    "docx": "Word (DOCX)",
    "xls": "Excel (XLS)",
    "xlsx": "Excel (XLSX)",
    "ppt": "PowerPoint (PPT)",
    "pptx": "PowerPoint (PPTX)",
}

Href = Callable[[SearchRequest], str]
"""Returns the link to the first page of a request."""

Parameters = Callable[[SearchRequest], Iterable[tuple[str, str]]]
"""Returns the parameters of a request besides the query."""

Form = Literal["text", "raw", "year", "month", "day", "language"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The name of a value as the page writes it.

    Shape: ``form`` says what ``text`` is: a text of the page, a text of a document in any language, a code of a language; or that ``day``
    is written, as a day or as its month or year.
    """

    text: str = ""
    form: Form = "text"
    day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownValue:
    """A value to select. Shape: ``select`` is what the form sends; ``count`` is None for a selected value that was not counted."""

    label: Label
    select: str
    count: int | None
    is_selected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFields:
    """The fields of a facet for a range of days. Shape: days as ``2026-01-31``, "" for none."""

    name: str
    low: str
    high: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFacet:
    """A facet: the values that are visible at once, and the others. Shape: ``days`` is None for a facet of no days.

    ``is_idle``: what is selected of other facets leaves none of its values. It stays in its place, so that the others do.
    """

    label: Label
    values: tuple[ShownValue, ...]
    more: tuple[ShownValue, ...]
    days: DayFields | None = None
    is_idle: bool = False

    @property
    def is_long(self) -> bool:
        """Whether the facet has a field to search in it."""
        return len(self.values) + len(self.more) >= LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedFacetValue:
    """A selected value, and the link to the page without it. Shape: ``facet`` is None for a restriction of no facet."""

    facet: Label | None
    label: Label
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFilters:
    """What can narrow the results, and what narrows them. Shape: ``hidden`` are the parameters that the form sends besides its boxes."""

    facets: tuple[ShownFacet, ...]
    selected: tuple[SelectedFacetValue, ...]
    clear: str
    hidden: tuple[tuple[str, str], ...]


def show_filters(page: ResultPage, plan: QueryPlan, href: Href, list_parameters: Parameters) -> ShownFilters:
    """Returns the facets and the selections of a page."""
    selections = _list_different(page.selections or tuple((*one.values, *one.ranges)[0] for one in plan.selections))
    today = next((counts.facet.as_of for counts in page.facets if counts.facet.as_of is not None), None)
    whole = page.unselected or UnselectedList(total=page.total, facets=page.facets)
    pairs = zip(page.facets, whole.facets, strict=True)
    shown = [
        (counts, before)
        for counts, before in pairs
        if _narrows(before, selections, whole.total)
        and (counts.values or counts.is_exact)
        and not _repeats_sources(before, whole.facets, plan.request.facet_names, selections)
    ]
    boxes = {fold_value(counts.facet.name) for counts, _ in shown}
    others = tuple(_write(one) for one in selections if fold_value(one.name) not in boxes)
    return ShownFilters(
        facets=tuple(_show_facet(counts, before, selections, today) for counts, before in shown),
        selected=(*_show_selections(selections, plan, today, href), *_show_navigation(plan, href)),
        clear=href(replace(plan.request, selected=(), navigation="")),
        hidden=(("q", plan.request.query), *list_parameters(replace(plan.request, selected=others))),
    )


def _list_different(selections: Sequence[Selection]) -> tuple[Selection, ...]:
    return tuple({(fold_value(one.name), fold_value(one.text)): one for one in selections}.values())


def _narrows(whole: FacetCounts, selections: Sequence[Selection], total: int) -> bool:
    """Whether a facet is worth its place: not where all results of the whole list have the same value, unless it is selected."""
    if _list_selected(whole.facet, selections):
        return True
    return len(whole.values) > 1 or any(value.count < total for value in whole.values)


def _repeats_sources(whole: FacetCounts, facets: Sequence[FacetCounts], named: Sequence[str], selections: Sequence[Selection]) -> bool:
    """Whether a facet is that of sites, and splits the whole list as the data sources do: often each source is a site."""
    is_chosen = whole.facet.name in map(fold_value, named) or bool(_list_selected(whole.facet, selections))
    if whole.facet not in BUILT_IN_FACETS or whole.facet.name != BuiltIn.SITE.value or is_chosen:
        return False
    sources = next((counts for counts in facets if counts.facet.name == BuiltIn.SOURCE.value), None)
    return sources is not None and sorted(value.count for value in sources.values) == sorted(value.count for value in whole.values)


def _list_selected(facet: Facet, selections: Sequence[Selection]) -> list[Selection]:
    return [one for one in selections if fold_value(one.name) == fold_value(facet.name)]


def _show_facet(counts: FacetCounts, whole: FacetCounts, selections: Sequence[Selection], today: date | None) -> ShownFacet:
    facet, selected = counts.facet, _list_selected(counts.facet, selections)
    is_idle = not counts.values and not selected
    if is_idle:
        counts = replace(whole, values=tuple(replace(value, count=0) for value in whole.values))
    values, found, counted = list[ShownValue](), set[Selection](), [value.count for value in counts.values]
    for value in counts.values:
        same = [one for one in selected if _is_same(one, facet, value)]
        found.update(same)
        text = _text_of(value)
        label = _label_value(facet, text, today)
        values.append(ShownValue(label=label, select=f"{facet.name}:{text}", count=value.count, is_selected=bool(same)))
    unlisted = [one for one in selected if one not in found]
    days, in_fields = _make_fields(facet, unlisted)
    absent = [
        ShownValue(
            label=_label_value(facet, one.text, today), select=_write(one), count=_count_unlisted(one, counts, whole), is_selected=True
        )
        for one in unlisted
        if one is not in_fields
    ]
    # What is selected stays in sight, whatever its place. Of values in another order than by frequency, the most frequent are in sight.
    frequent = range(len(values)) if facet.ranges or counts_days(facet) else sorted(range(len(values)), key=lambda place: -counted[place])
    in_sight = set(frequent[:SHOWN_AT_ONCE])
    first = [*absent, *(value for place, value in enumerate(values) if place in in_sight or value.is_selected)]
    return ShownFacet(
        label=_label_facet(facet),
        values=tuple(first),
        more=tuple(one for one in values[:MAX_LISTED] if one not in first),
        days=None if is_idle else days,
        is_idle=is_idle,
    )


def _count_unlisted(selection: Selection, counts: FacetCounts, whole: FacetCounts) -> int | None:
    """Returns how many documents have a selected value that the counts do not list, None if it may be one that they leave out."""
    lists_all = counts.is_exact and len(counts.values) < MAX_VALUES_SHOWN
    return 0 if lists_all and any(_is_same(selection, whole.facet, value) for value in whole.values) else None


def _make_fields(facet: Facet, unlisted: Sequence[Selection]) -> tuple[DayFields | None, Selection | None]:
    """Returns the fields of a facet of days, and the selection that they show, which is no box then."""
    if not counts_days(facet) and facet.type is not FacetType.DATE:
        return None, None
    for one in reversed(unlisted):
        if isinstance(one.node, DateRange | MetaDates):
            low, dots, high = (end.strip() for end in one.text.partition(".."))
            ends = [day.isoformat() if (day := read_day(end)) else "" for end in (low, high if dots else low)]
            return DayFields(name=facet.name, low=ends[0], high=ends[1]), one
    return DayFields(name=facet.name, low="", high=""), None


def read_fields(values: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Returns what the fields for days select, of the parameters of a page. Days in the wrong order are exchanged."""
    ends: dict[str, dict[str, str]] = {}
    for key, value in values:
        end, colon, name = key.partition(":")
        if colon and name and value.strip() and end in _ENDS:
            ends.setdefault(name, {})[end] = value.strip()
    found = []
    for name, days in ends.items():
        low, high = (days.get(end, "") for end in _ENDS)
        found.append(f"{name}:{high}..{low}" if low and high and low > high else f"{name}:{low}..{high}")
    return tuple(found)


def _is_same(selection: Selection, facet: Facet, value: FacetValue) -> bool:
    node = narrow(facet, value)
    match selection.node, node:
        case BuiltInEquals(), BuiltInEquals():
            return built_in_term(facet.name, selection.text) == built_in_term(facet.name, value.value or "")
        case MetaEquals(), MetaEquals():
            return fold_value(selection.text) == fold_value(value.value or "")
        case MetaNumbers(_, low, high), MetaNumbers(_, least, most):
            return (low, high) == (least, most)
        case MetaDates(_, first, last), MetaDates(_, earliest, latest):
            return (first, last) == (earliest, latest)
        case _:
            return selection.node == node


def _write(selection: Selection) -> str:
    return f"{selection.name}:{selection.text}"


def _text_of(value: FacetValue) -> str:
    return f"{value.range.low}..{value.range.high}" if value.range is not None else value.value or ""


# --- what is selected -----------------------------------------------------------------------------------------------------------


def _show_selections(selections: Sequence[Selection], plan: QueryPlan, today: date | None, href: Href) -> list[SelectedFacetValue]:
    shown = []
    for one in selections:
        facet = _find_facet(one.name, plan.facets)
        rest = tuple(_write(other) for other in selections if other is not one)
        label = _label_value(facet, one.text, today)
        shown.append(SelectedFacetValue(facet=_label_facet(facet), label=label, href=href(replace(plan.request, selected=rest))))
    return shown


def _show_navigation(plan: QueryPlan, href: Href) -> list[SelectedFacetValue]:
    shown, parts = [], plan.selected
    for place, part in enumerate(parts):
        facet, label = _describe(part, plan.facets)
        rest = " ".join(render_query(other) for other in (*parts[:place], *parts[place + 1 :]))
        shown.append(SelectedFacetValue(facet=facet, label=label, href=href(replace(plan.request, navigation=rest))))
    return shown


def _describe(part: Node, facets: Sequence[Facet]) -> tuple[Label | None, Label]:
    match part:
        case MetaEquals(name, value):
            return _label_facet(_find_facet(name, facets)), Label(text=value, form="raw")
        case MetaNumbers(name, low, high, unit):
            numbers = describe_range(FacetRange(low=_number(low), high=_number(high)), FacetType.FLOAT)
            return _label_facet(_find_facet(name, facets)), Label(text=_add_unit(numbers, write_unit(unit)))
        case MetaDates(name, first, last):
            days = FacetRange(low=first.isoformat() if first else "", high=last.isoformat() if last else "")
            return _label_facet(_find_facet(name, facets)), Label(text=describe_range(days, FacetType.DATE))
        case _:
            return None, Label(text=render_query(part), form="raw")


def _find_facet(name: str, facets: Sequence[Facet]) -> Facet:
    folded = fold_value(name)
    return next((facet for facet in facets if fold_value(facet.name) == folded), Facet(name=name))


# --- names ----------------------------------------------------------------------------------------------------------------------


def _label_facet(facet: Facet) -> Label:
    return Label(text=facet.label or facet.name, form="text" if is_built_in(facet) else "raw")


def _label_value(facet: Facet, text: str, today: date | None) -> Label:
    low, dots, high = text.partition("..")
    if counts_days(facet):
        return label_days(low.strip(), high.strip() if dots else low.strip(), today)
    if facet.ranges and dots:
        return Label(text=describe_range(FacetRange(low=low, high=high), facet.type))
    if facet.name == BuiltIn.LANGUAGE.value:
        return Label(text=text, form="language")
    if facet.name == BuiltIn.FILETYPE.value:
        return Label(text=_TYPES.get(text, text.upper()))
    return Label(text=text, form="raw")


def label_days(low: str, high: str, today: date | None) -> Label:
    """Returns the name of a range of days: relative to today, a day, a month, a year, or its ends."""
    first, last = read_day(low), read_day(high)
    is_years = (first is None or first.strftime("%m%d") == "0101") and (last is None or last.strftime("%m%d") == "1231")
    if is_years and first is not None and last is not None and first.year == last.year:
        return Label(form="year", day=first)
    if is_years or (first is None and last is None):
        return Label(text=describe_range(FacetRange(low=low, high=high), FacetType.DATE))
    if first is None or last is None:
        return Label(text=message("from %(day)s", day=first) if first is not None else message("until %(day)s", day=last))
    days = (last - first).days + 1
    if last == today and days in _RECENT:
        return Label(text=_RECENT[days])
    if first == last:
        return Label(form="day", day=first)
    if first.day == 1 and last == last_of_month(first):
        return Label(form="month", day=first)
    return Label(text=message("%(first)s – %(last)s", first=first, last=last))


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


def _add_unit(numbers: str, unit: str) -> str:
    return message("%(numbers)s %(unit)s", numbers=numbers, unit=unit) if unit else numbers


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:.10f}".rstrip("0").rstrip(".")
