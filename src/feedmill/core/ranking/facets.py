"""Prepares metadata for counting in an index, and turns the counts into the values of a facet.

A value counts once for each document, whatever its letter case. The most frequent spelling represents all spellings. Values longer than a
term are not counted. Ranges compare numbers and dates as ``inmeta:`` does, so a count equals the total of the narrowed search.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from feedmill.core.ranking.builtinfacets import choose_days
from feedmill.core.ranking.indexterms import MAX_TERM_CHARACTERS
from feedmill.core.text.analysis import fold_value
from feedmill.core.text.dates import parse_date
from feedmill.core.text.measures import read_number
from feedmill.core.text.typedvalues import DATE, NUMBER, first_second, fold_name, last_second, name_digest, read_day, split_typed_term
from feedmill.core.text.valueorder import find_places
from feedmill.model.document import Metadata
from feedmill.model.errors import BadRequest
from feedmill.model.facets import BuiltIn, Facet, FacetRange, FacetType, FacetValue
from feedmill.model.query import BuiltInEquals, DateRange, MetaDates, MetaEquals, MetaNumbers, Node

MAX_COUNTED_NAMES = 100
MAX_COUNTED_VALUES = 2_000
MAX_VALUES_SHOWN = 100
_NUMBER_SIGNS = frozenset("0123456789-+.")

KINDS = {FacetType.INTEGER: NUMBER, FacetType.FLOAT: NUMBER, FacetType.CURRENCY: NUMBER, FacetType.DATE: DATE}
BUILT_IN_NAMES = frozenset(one.value for one in BuiltIn)
_DOTS = ".."


# --- stored values --------------------------------------------------------------------------------------------------------------


def counted_texts(metadata: Metadata) -> dict[str, list[str]]:
    """Returns the different values of each metadata name, by the name's digest. Their number and length are bounded."""
    digests: dict[str, str] = {}
    seen: dict[tuple[str, str], None] = {}
    found: dict[str, list[str]] = {}
    for name, value in metadata[:MAX_COUNTED_VALUES]:
        folded = fold_name(name)
        if folded not in digests and len(digests) >= MAX_COUNTED_NAMES:
            continue
        digest = digests.setdefault(folded, name_digest(folded))
        text = clean_value(value)
        key = (digest, fold_value(text))
        if key[1] and key not in seen and len(text) <= MAX_TERM_CHARACTERS:
            seen[key] = None
            found.setdefault(digest, []).append(text)
    return found


def clean_value(value: str) -> str:
    """Returns a value as it is displayed: white space is collapsed and halves of surrogate pairs are replaced."""
    text = " ".join(value.split())
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def counted_numbers(typed_terms: Iterable[str]) -> dict[str, list[float]]:
    """Returns the numbers and dates of a document, by the kind and digest of their name, from the document's typed terms."""
    found: dict[str, list[float]] = {}
    names: dict[str, None] = {}
    for term in typed_terms:
        name, digits = split_typed_term(term)
        if name not in names and len(names) >= MAX_COUNTED_NAMES:
            continue
        names[name] = None
        found.setdefault(name, []).append(_restore(digits))
    return found


def _restore(digits: str) -> float:
    """Returns the number that sortable digits encode."""
    # Reverses ``typedvalues.sortable``: a set top bit means a number from zero upwards, where only the sign bit was set. Otherwise the
    # number is negative and all bits were inverted.
    bits = int(digits, 16)
    number: float
    (number,) = struct.unpack(">d", struct.pack(">Q", bits ^ 0x8000000000000000 if bits >> 63 else bits ^ 0xFFFFFFFFFFFFFFFF))
    return number


# --- requested facets -----------------------------------------------------------------------------------------------------------


def read_facet_range(text: str, kind: FacetType) -> FacetRange:
    """Parses ``LOW..HIGH``; either end may be open. Errors: BadRequest, with the reason."""
    if kind is FacetType.STRING:
        raise BadRequest("ranges need the type integer, float, currency or date")
    low, dots, high = (part.strip() for part in text.partition(_DOTS))
    given = [end for end in (low, high) if end]
    ends = [number for end in given if (number := _read_end(end, kind)) is not None]
    if not dots or not given or len(ends) < len(given) or ends != sorted(ends):
        raise BadRequest(f"'{text}' is no range; write '10..20', '20..' or '..10', the lower end first, days as 2026-01-31")
    return FacetRange(low=low, high=high)


def _read_end(text: str, kind: FacetType) -> float | None:
    return first_second(read_day(text)) if kind is FacetType.DATE else read_number(text)


def range_ends(facet: Facet, wanted: FacetRange) -> tuple[float | None, float | None]:
    """Returns the ends of a facet's range as they are compared, both included; None for an open end."""
    if facet.type is FacetType.DATE:
        return first_second(read_day(wanted.low)), last_second(read_day(wanted.high))
    return read_number(wanted.low), read_number(wanted.high)


def column_of(facet: Facet) -> str:
    """Returns the key that stores the numbers or dates of a facet's name."""
    return KINDS.get(facet.type, "") + name_digest(fold_value(facet.name))


def text_column_of(facet: Facet) -> str:
    """Returns the key that stores the values of a facet's name: a digest, or the name of a built-in facet."""
    return facet.name if is_built_in(facet) else name_digest(fold_value(facet.name))


def is_built_in(facet: Facet) -> bool:
    """Whether every document has values for a facet, whatever its metadata."""
    return facet.name in BUILT_IN_NAMES


def counts_days(facet: Facet) -> bool:
    """Whether a facet counts the dates of documents."""
    return facet.name == BuiltIn.DATE.value


def with_days(facet: Facet, first_second: float | None, last_second: float | None) -> Facet:
    """Returns a facet with ranges chosen for the documents between two moments, without any if there are none."""
    if facet.as_of is None or first_second is None or last_second is None:
        return facet
    return replace(facet, ranges=choose_days(first_second, last_second, facet.as_of))


def narrow(facet: Facet, value: FacetValue) -> Node:
    """Returns the restriction that finds exactly the documents that a value counts."""
    if value.range is None:
        text = value.value or ""
        return BuiltInEquals(facet.name, text) if is_built_in(facet) else MetaEquals(facet.name, text)
    low, high = value.range.low, value.range.high
    if counts_days(facet):
        return DateRange(read_day(low), read_day(high))
    if facet.type is FacetType.DATE:
        return MetaDates(facet.name, read_day(low), read_day(high))
    return MetaNumbers(facet.name, read_number(low), read_number(high))


# --- counted values -------------------------------------------------------------------------------------------------------------


def merge_spellings(counts: Iterable[tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """Returns counts by folded value, each with its most frequent spelling. Shape: no document counts for two spellings of one value."""
    spellings: dict[str, dict[str, int]] = {}
    for text, count in counts:
        of_value = spellings.setdefault(fold_value(text), {})
        of_value[text] = of_value.get(text, 0) + count
    return {
        folded: (min(of_value, key=lambda text: (-of_value[text], text)), sum(of_value.values())) for folded, of_value in spellings.items()
    }


def order_values(facet: Facet, counts: Mapping[str, tuple[str, int]]) -> tuple[FacetValue, ...]:
    """Returns the most frequent values, sorted by frequency; those of a number or date facet are sorted by value.

    So are texts that are all numbers, sizes, versions or dates. Otherwise equally frequent texts are sorted as texts, behind those that
    are numbers, which are sorted by value.
    """
    shown = sorted(counts.values(), key=lambda pair: (-pair[1], pair[0]))
    if facet.type is FacetType.STRING:
        shown = shown[:MAX_VALUES_SHOWN]
        # reading a number costs more than all the rest, and few names have numbers
        if any(text[:1] in _NUMBER_SIGNS for text, _ in shown):
            if (places := find_places([text for text, _ in shown])) is not None:
                shown = [pair for _, pair in sorted(zip(places, shown, strict=True), key=lambda one: one[0])]
            else:
                shown.sort(key=lambda pair: (-pair[1], *_order_of(pair[0])))
    else:
        keyed = [(place, pair) for pair in shown if (place := _place(facet.type, pair[0])) is not None]
        shown = [pair for _, pair in sorted(keyed[:MAX_VALUES_SHOWN], key=lambda one: one[0])]
    return tuple(FacetValue(value=text, count=count) for text, count in shown)


def order_ranges(facet: Facet, counts: Sequence[int]) -> tuple[FacetValue, ...]:
    """Returns a facet's ranges that have a count, in the order of the settings. Shape: one count for each range."""
    pairs = zip(facet.ranges, counts, strict=True)
    return tuple(FacetValue(value=None, range=wanted, count=count) for wanted, count in pairs if count)


def _order_of(text: str) -> tuple[bool, float, str]:
    number = read_number(text)
    return number is None, number or 0.0, text


def _place(kind: FacetType, text: str) -> float | None:
    if kind is not FacetType.DATE:
        return read_number(text)
    moment = parse_date(text)
    return None if moment is None else moment.timestamp()
