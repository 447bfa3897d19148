"""Reads what a user selected of facets: ``NAME:VALUE`` or ``NAME:LOW..HIGH``, as a facet lists it.

    selection = NAME ":" ( VALUE | range )
    range     = [ end ] ".." [ end ]          two days as YYYY-MM-DD, or two numbers; at least one end, both included

Values of one name are alternatives, and all names must hold. A name may contain colons (``og:type``), and a value colons and ``..``. So a
text may have several readings: ``choose`` prefers a value that a visible document has to a range, and a name that is counted to any other.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from feedmill.core.text.analysis import fold_value
from feedmill.core.text.measures import read_number
from feedmill.core.text.typedvalues import read_day
from feedmill.model.errors import BadRequest
from feedmill.model.facets import BuiltIn, Facet, Selection, SelectionReadings
from feedmill.model.messages import message
from feedmill.model.query import BuiltInEquals, DateRange, MetaDates, MetaEquals, MetaExists, MetaNumbers, Node, Or
from feedmill.model.search import SearchRequest

MAX_SELECTIONS = 100
MAX_SELECTION_CHARACTERS = 2_000
MAX_COLONS = 8

_DOTS = ".."
_SHOWN_CHARACTERS = 80
_BUILT_IN = {one.value: one for one in BuiltIn}

HasMatch = Callable[[Node], bool]
"""Whether a document that the user may see matches."""


def find_built_in(name: str) -> BuiltIn | None:
    """Returns the built-in facet of a name in any letter case, None for a metadata name. Errors: BadRequest for another name with ``@``."""
    folded = fold_value(name)
    if folded.startswith("@") and folded not in _BUILT_IN:
        raise BadRequest(message("%(name)s is no built-in facet; these are: %(names)s", name=_show(name), names=", ".join(_BUILT_IN)))
    return _BUILT_IN.get(folded)


def check_facet_names(names: Iterable[str]) -> None:
    """Checks names of facets. Errors: BadRequest for an unknown built-in one, which names the parameter."""
    for name in names:
        try:
            find_built_in(name)
        except BadRequest as error:
            raise BadRequest(f"parameter facet: {error}") from error


def check_selections(texts: Sequence[str]) -> None:
    """Checks that each selection can mean something. Errors: BadRequest, which names the parameter."""
    if len(texts) > MAX_SELECTIONS:
        raise BadRequest(f"parameter select is given {len(texts)} times; give it at most {MAX_SELECTIONS} times")
    for text in texts:
        readings = read_selection(text)
        if not readings.values and not readings.ranges:
            raise BadRequest(f"parameter select is {_show(text)}; {readings.fault}")


def read_selections(request: SearchRequest) -> tuple[tuple[SelectionReadings, ...], tuple[str, ...]]:
    """Returns the readings of a request's selections, each selection once, and warnings about those without a meaning."""
    found = {text: read_selection(text) for text in dict.fromkeys(request.selected[:MAX_SELECTIONS])}
    faults = [(text, one.fault) for text, one in found.items() if not one.values + one.ranges]
    warnings = [
        message("the selection %(selection)s was passed over: %(reason)s", selection=_show(text), reason=fault) for text, fault in faults
    ]
    return tuple(one for one in found.values() if one.values + one.ranges), tuple(warnings[:3])


def read_selection(text: str) -> SelectionReadings:
    """Returns the readings of one selection. Errors: none; a text without any meaning has only a fault."""
    if len(text) > MAX_SELECTION_CHARACTERS:
        return SelectionReadings(fault=message("it is longer than %(count)s characters", count=MAX_SELECTION_CHARACTERS))
    splits = [(name.strip(), value.strip()) for name, value in _split_at_colons(text)]
    splits = [(name, value) for name, value in splits if fold_value(name) and fold_value(value)]
    if not splits:
        return SelectionReadings(fault=message("give NAME:VALUE or NAME:LOW..HIGH"))
    try:
        built_in = find_built_in(splits[0][0])
        if built_in is not None:
            return _read_built_in(built_in, splits[0][1])
    except BadRequest as error:
        return SelectionReadings(fault=error.args[0])
    values = tuple(Selection(name=name, text=value, node=MetaEquals(name, value)) for name, value in splits)
    ranges, fault = [], ""
    for name, value in splits:
        try:
            node = _read_range(name, value)
        except BadRequest as error:
            fault = fault or error.args[0]
        else:
            ranges += [Selection(name=name, text=value, node=node)] if node is not None else []
    return SelectionReadings(values=values, ranges=tuple(ranges), fault=fault)


def _split_at_colons(text: str) -> list[tuple[str, str]]:
    parts = text.split(":", MAX_COLONS)
    return [(":".join(parts[:count]), ":".join(parts[count:])) for count in range(1, len(parts))]


def _read_built_in(name: BuiltIn, value: str) -> SelectionReadings:
    if name is BuiltIn.DATE:
        low, dots, high = (end.strip() for end in value.partition(_DOTS))
        first, last = _read_days(low, high if dots else low, value)
        return SelectionReadings(ranges=(Selection(name=name.value, text=value, node=DateRange(first, last)),))
    return SelectionReadings(values=(Selection(name=name.value, text=value, node=BuiltInEquals(name.value, value)),))


def _read_days(low: str, high: str, text: str) -> tuple[date | None, date | None]:
    first, last = read_day(low), read_day(high)
    if (low and first is None) or (high and last is None) or not (first or last):
        raise BadRequest(message("%(range)s is no range of days; write them as 2026-01-01..2026-01-31", range=_show(text)))
    if first and last and first > last:
        raise BadRequest(message("the range %(range)s ends before it begins", range=_show(text)))
    return first, last


def _read_range(name: str, value: str) -> Node | None:
    """Returns the range that a text is, None for another text. Errors: BadRequest for a range that holds nothing."""
    low, dots, high = (end.strip() for end in value.partition(_DOTS))
    ends = [end for end in (low, high) if end]
    if not dots:
        return None
    if not ends:
        raise BadRequest(message("the range %(range)s has no end", range=_show(value)))
    if all(read_day(end) is not None for end in ends):
        return MetaDates(name, *_read_days(low, high, value))
    numbers = [number for end in ends if (number := read_number(end)) is not None]
    if len(numbers) < len(ends):
        return None
    if numbers != sorted(numbers):
        raise BadRequest(message("the range %(range)s ends before it begins", range=_show(value)))
    return MetaNumbers(name, read_number(low), read_number(high))


# --- one meaning ----------------------------------------------------------------------------------------------------------------


def choose(readings: SelectionReadings, facets: Sequence[Facet], has_match: HasMatch) -> Selection:
    """Returns the one meaning of a selection. Errors: BadRequest for a range that holds nothing and is no value either."""
    listed = [(fold_value(facet.name), f"{one.low}{_DOTS}{one.high}") for facet in facets for one in facet.ranges]
    for one in readings.ranges:
        if (fold_value(one.name), one.text) in listed:
            return one
    names = {fold_value(facet.name) for facet in facets}
    known = [one for one in (*readings.values, *readings.ranges) if fold_value(one.name) in names]
    values = [one for one in readings.values if not known or one in known]
    ranges = [one for one in readings.ranges if not known or one in known]
    if len(values) + len(ranges) == 1 and not readings.fault:
        return (*values, *ranges)[0]
    held = next((one for one in values if has_match(one.node)), None)
    if held is not None:
        return held
    if readings.fault:
        raise BadRequest(f"parameter select is {_show(f'{values[0].name}:{values[0].text}')}; {readings.fault}")
    likely = ranges or values
    return next((one for one in likely if has_match(MetaExists(one.name))), likely[0])


def group_by_name(selections: Iterable[Selection]) -> dict[str, Node]:
    """Returns the restriction of each folded name: any of its selections."""
    grouped: dict[str, list[Node]] = {}
    for one in selections:
        grouped.setdefault(fold_value(one.name), []).append(one.node)
    return {name: nodes[0] if len(nodes) == 1 else Or(tuple(dict.fromkeys(nodes))) for name, nodes in grouped.items()}


def _show(text: str) -> str:
    return ascii(text[:_SHOWN_CHARACTERS])
