"""A page of results as the result protocols show it: thinned, placed, and with what a front end needs to page on."""

from dataclasses import dataclass

from feedmill.model.facets import FacetCounts
from feedmill.model.search import Result
from feedmill.model.serving import KeyMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinning:
    """What of a result list is left out: results that look alike, and all but two of a directory."""

    snippets: bool = True
    directories: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A result in its place. ``is_second``: it belongs below the one before; ``more_in``: its directory where that holds more, else ""."""

    result: Result
    is_second: bool = False
    more_in: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultList:
    """One page of a thinned list.

    Units: ``start`` counts from 0 and is where the page begins, not where it was asked for; ``total`` exact while ``is_exact``;
    ``seconds`` the time the search took. ``is_thinned``: something was left out; ``has_more``: another page follows. ``keymatches`` stand
    above the results, ``related`` are other queries to offer; ``warnings`` say what is missing.
    """

    start: int
    total: int
    is_exact: bool
    results: tuple[Placed, ...]
    is_thinned: bool
    has_more: bool
    seconds: float
    facets: tuple[FacetCounts, ...] = ()
    keymatches: tuple[KeyMatch, ...] = ()
    related: tuple[str, ...] = ()
    spelling: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter as it is told back: ``value`` is what was used, ``original`` what was sent, percent-encoded as it came."""

    name: str
    value: str
    original: str
