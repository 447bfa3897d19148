"""A page of results as the result protocols show it: collapsed, positioned, and with the data that a front end needs for paging."""

from dataclasses import dataclass

from feedmill.model.facets import FacetCounts
from feedmill.model.search import Result
from feedmill.model.serving import KeyMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinning:
    """What is omitted from a result list: results that look alike, and all but two of a directory."""

    snippets: bool = True
    directories: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A result on its page. ``is_second``: it belongs below the previous one; ``more_in``: its directory if it has more, else ""."""

    result: Result
    is_second: bool = False
    more_in: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultList:
    """One page of a collapsed list.

    Units: ``start`` counts from 0 and is where the page begins, not the requested start; ``total`` is exact if ``is_exact``; ``seconds`` is
    the duration of the search. ``is_thinned``: results were omitted; ``has_more``: another page follows. ``keymatches`` are shown above the
    results, ``related`` are other queries to offer; ``warnings`` say what is missing.
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
    """A parameter in the response: ``value`` is what was used, ``original`` what was sent, percent-encoded as it arrived."""

    name: str
    value: str
    original: str
