"""Facets: counts of a result list's documents by their metadata and by what every document has, and what a user selects of them."""

from dataclasses import dataclass
from datetime import date
from enum import Enum

from feedmill.model.query import Node


class BuiltIn(Enum):
    """The facets that every document has, without any setting, by their names in requests."""

    FILETYPE = "@filetype"
    DATE = "@date"
    SOURCE = "@source"
    LANGUAGE = "@language"
    SITE = "@site"


class FacetType(Enum):
    """How a facet's values are parsed and ordered."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    CURRENCY = "currency"
    DATE = "date"


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetRange:
    """A range of numbers or days, both ends included, "" for an open end. Shape: as it was written, ``10`` or ``2026-01-31``."""

    low: str
    high: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A metadata name or a built-in one to count by; without ``ranges`` each value is counted. Shape: ``label`` "" shows the name.

    ``as_of``: the index chooses ranges of days, of which some end with this day.
    """

    name: str
    label: str = ""
    type: FacetType = FacetType.STRING
    ranges: tuple[FacetRange, ...] = ()
    as_of: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    """A value, or a range where ``value`` is None, and how many documents have it."""

    value: str | None
    range: FacetRange | None = None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetCounts:
    """A facet, counted over a whole result list; only what at least one of its documents has. Not exact: estimated from a part of it."""

    facet: Facet
    values: tuple[FacetValue, ...]
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A value or a range that a user selected of a name. Shape: ``text`` as written, ``LOW..HIGH`` for a range; ``node`` finds it."""

    name: str
    text: str
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionReadings:
    """What one written selection may mean: literal values, most likely first, else ranges. Shape: there is at least one, or a ``fault``.

    A value may look like a range, and names and values may contain colons; the documents decide.
    """

    values: tuple[Selection, ...] = ()
    ranges: tuple[Selection, ...] = ()
    fault: str = ""
