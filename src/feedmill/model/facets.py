"""Facets: counts of a result list's documents by their metadata."""

from dataclasses import dataclass
from enum import Enum


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
    """A metadata name to count by; without ``ranges`` each value is counted. Shape: ``label`` "" shows the name."""

    name: str
    label: str = ""
    type: FacetType = FacetType.STRING
    ranges: tuple[FacetRange, ...] = ()


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
