"""A query as a tree, what is asked of the searcher, what comes back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum

from feedmill.model.document import Metadata
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.serving import KeyMatch

# --- the query tree -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Word:
    """One word as typed; matches in title, body, URL and metadata. ``is_fixed``: a plus stood in front, it means itself and must occur."""

    text: str
    is_fixed: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must follow one another."""

    text: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A word of which only pieces are given: ``*`` stands for any characters, none too. Shape: it does not begin with one."""

    text: str


@dataclass(frozen=True, slots=True)
class Site:
    """``site:``: a host (its subdomains too) and, after a slash, a path prefix."""

    value: str


@dataclass(frozen=True, slots=True)
class InUrl:
    """``inurl:``: words of the URL, in order."""

    text: str


@dataclass(frozen=True, slots=True)
class InTitle:
    """``intitle:``: words of the title, in order."""

    text: str


@dataclass(frozen=True, slots=True)
class InText:
    """``intext:``: words of the text, in order."""

    text: str


@dataclass(frozen=True, slots=True)
class FileType:
    """``filetype:``: the ending of the URL's path, or the kind of the content, by the ending that it usually has."""

    ending: str


@dataclass(frozen=True, slots=True)
class LinksTo:
    """``link:``: documents that link to exactly this URL."""

    url: str


@dataclass(frozen=True, slots=True)
class NumberRange:
    """``LOW..HIGH``: a number that stands in title or text, both ends included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class DateRange:
    """``daterange:``: the document's date, both days included; None where the range is open. Units: days in UTC."""

    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class Language:
    """``lr=``: the document is written in this language, by its ISO 639-1 code."""

    code: str


@dataclass(frozen=True, slots=True)
class Info:
    """``info:``: the document of exactly this URL."""

    url: str


@dataclass(frozen=True, slots=True)
class Related:
    """``related:``: documents that are about the same as the one of exactly this URL. No index answers it: it is resolved before."""

    url: str


@dataclass(frozen=True, slots=True)
class MetaEquals:
    """``inmeta:NAME=VALUE``: one whole value of a metadata name, both in any letter case."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class MetaExists:
    """``inmeta:NAME``: the document has the name."""

    name: str


@dataclass(frozen=True, slots=True)
class MetaStarts:
    """``NAME:VALUE*``: a value of a metadata name begins with this text."""

    name: str
    start: str


@dataclass(frozen=True, slots=True)
class MetaContains:
    """``inmeta:NAME~TEXT``: a value of the name holds the words, in order; ``is_prefix``: the last one may go on."""

    name: str
    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class MetaNumbers:
    """``inmeta:NAME:LOW..HIGH``: a value of the name is a number in the range, both ends included; None where it is open."""

    name: str
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class MetaDates:
    """``inmeta:NAME:daterange:FIRST..LAST``: a value of the name is a date in the range; None where it is open. Units: days in UTC."""

    name: str
    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class UnderPattern:
    """The URL is one that a URL pattern of the settings means; nothing that can be typed."""

    pattern: str


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of the parts."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of the parts; what holds all of them comes before what holds some."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """None of what the part matches."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class Everything:
    """Every document; stands for an empty query."""


Plain = Word | Phrase | Wildcard
Restriction = (
    Site
    | InUrl
    | InTitle
    | InText
    | FileType
    | LinksTo
    | NumberRange
    | DateRange
    | Language
    | Info
    | Related
    | MetaEquals
    | MetaExists
    | MetaStarts
    | MetaContains
    | MetaNumbers
    | MetaDates
    | UnderPattern
)
Node = Plain | Restriction | And | Or | Some | Not | Everything


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
    ``pagerank`` 68 to 100, ``link_rank`` 0 to 100, 0 where no link is known to lead to it.
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

    @property
    def length(self) -> int:
        """How long the list is that somebody pages through, as far as is known."""
        return self.total if self.late_length is None else self.late_length
