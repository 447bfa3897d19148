"""What is asked of the searcher, and what comes back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from feedmill.model.document import Metadata
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Node
from feedmill.model.serving import KeyMatch


class Match(Enum):
    """How many of the plain words and phrases must occur: all, any, or all first and then any where fewer than ten hold all."""

    ALL = "all"
    ANY = "any"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A query tree and what to tell the asker about it. ``is_restricted``: it holds something besides plain words (an empty one lists)."""

    root: Node
    warnings: tuple[str, ...] = ()
    is_restricted: bool = False


# --- the index ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDocument:
    """One document as the index takes it; ``key`` is the document's id, ``access_class`` all that it learns of access.

    Shape: ``headings`` stand in ``body`` too; ``anchors`` are texts of links that lead to it, a frequent one several times, from documents
    that whoever may see it may see as well; ``patterns`` are the terms of the URL patterns of the settings that mean it. Units:
    ``pagerank`` 68 to 100, ``link_rank`` 0 to 100, 0 where no link is known to lead to it. Without ``has_values`` the numbers and dates in
    text and metadata are not looked for.
    """

    key: int
    url: str
    display_url: str | None
    access_class: int
    title: str
    body: str
    metadata: Metadata
    datasource: str
    mimetype: str
    language: str | None
    last_modified: datetime | None
    pagerank: int
    links: Sequence[str] = ()
    headings: str = ""
    anchors: Sequence[str] = ()
    link_rank: int = 0
    patterns: tuple[str, ...] = ()
    has_values: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One match, best first: the document's id, its score, and the named parts of it where they were asked for."""

    key: int
    score: float
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """A page of matches. ``total`` is exact while ``is_exact``."""

    hits: tuple[Hit, ...]
    total: int
    is_exact: bool


# --- the searcher ---------------------------------------------------------------------------------------------------------------


class Occurrence(Enum):
    """Where the plain words of a query must stand."""

    ANYWHERE = "any"
    TITLE = "title"
    URL = "url"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced:
    """What the fields of the advanced search form add to a query, each as typed, "" for nothing.

    ``within`` is a site as well, which is never excluded and asks for nothing by itself.
    """

    all_words: str = ""
    phrase: str = ""
    any_words: str = ""
    no_words: str = ""
    occurrence: Occurrence = Occurrence.ANYWHERE
    site: str = ""
    excludes_site: bool = False
    within: str = ""
    filetype: str = ""
    excludes_filetype: bool = False
    links_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """An order other than by relevance: by a metadata name, or by the document's date where ``name`` is "".

    What lacks the value comes last in both directions. ``is_whole``: all that matches is ordered, else the most relevant 1,000.
    """

    name: str = ""
    is_descending: bool = True
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a listing of everything goes on: behind a document's number. ``is_loosened``: words need not all occur; None is undecided."""

    after: int = -1
    is_loosened: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What an asker wants.

    Units: ``start`` from 0, ``num`` at most 1,000; ``getfields``: metadata names, ("*",) for all; ``required_fields`` and
    ``partial_fields`` as the parameters came, decoded once; ``sort`` None for relevance. ``navigation`` holds restrictions that were
    chosen rather than typed, written as in a query; ``facets`` are to be counted over the whole result. With a ``cursor`` documents come
    by number, whatever ``start`` and ``sort`` say. ``site`` names collections,
    ``client`` a front end, "" for all documents and the default one; at most ``keymatches`` of those are given. ``expands``: synonyms are
    searched for too. ``languages`` as the parameter came; ``explains``: results tell the parts of their scores.
    """

    query: str
    start: int = 0
    num: int = 10
    match: Match = Match.AUTO
    getfields: tuple[str, ...] = ()
    required_fields: str = ""
    partial_fields: str = ""
    sort: Sort | None = None
    advanced: Advanced = Advanced()
    navigation: str = ""
    cursor: Cursor | None = None
    facets: tuple[Facet, ...] = ()
    site: str = ""
    client: str = ""
    keymatches: int = 3
    expands: bool = True
    languages: str = ""
    explains: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A passage of the text; ``marks`` are the (start, end) character ranges to highlight."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result as it leaves: decided once more after the index.

    Units: ``title_marks`` as a snippet's; ``rank`` 68 to 100; ``has_copy``: a cached copy of it may be shown. ``parts``: of the score,
    by name, where they were asked for. ``is_late``: another server permitted it, and no total counts it.
    """

    url: str
    display_url: str
    title: str | None
    snippet: Snippet
    score: float
    date: datetime | None
    mimetype: str | None
    language: str | None
    metadata: Metadata
    title_marks: tuple[tuple[int, int], ...] = ()
    rank: int = 96
    content_bytes: int = 0
    has_copy: bool = False
    updated_at: datetime | None = None
    parts: tuple[tuple[str, float], ...] = ()
    is_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """The answer to a search request. Units: ``seconds`` the time the search took. Shape: ``related`` other queries to offer.

    ``is_loosened``: documents that do not hold all of the query's words are in the list too, below those that do.
    ``late_length`` says, where another server decided about some of what matches, how long the list is known to be with what it permitted.
    """

    query: str
    start: int
    total: int
    is_exact: bool
    results: tuple[Result, ...]
    warnings: tuple[str, ...]
    seconds: float
    facets: tuple[FacetCounts, ...] = ()
    keymatches: tuple[KeyMatch, ...] = ()
    related: tuple[str, ...] = ()
    spelling: str | None = None
    next_cursor: Cursor | None = None
    late_length: int | None = None
    is_loosened: bool = False

    @property
    def length(self) -> int:
        """How long the list is that somebody pages through, as far as is known."""
        return self.total if self.late_length is None else self.late_length
