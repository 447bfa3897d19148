"""Requests to the searcher, and what it asks the index."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from feedmill.model.document import Metadata
from feedmill.model.lightdataclass import light_dataclass
from feedmill.model.query import Node


class Match(Enum):
    """How many of the plain words and phrases must occur: all, any, or all first and then any if fewer than ten documents have all."""

    ALL = "all"
    ANY = "any"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A query tree and the warnings for the user."""

    root: Node
    warnings: tuple[str, ...] = ()


# --- the index ------------------------------------------------------------------------------------------------------------------


@light_dataclass(frozen=True, slots=True, kw_only=True)
class IndexDocument:
    """One document for the index. ``key`` is the document's id; ``access_class`` is all that the index knows about access.

    Shape: ``headings`` are in ``body`` too; ``navigation`` is what a page holds beside its main text, ``body``. ``anchors`` are texts of
    links to it, a frequent one several times; every user who may see it may also see the documents with these links. ``patterns`` are the
    terms of the settings' URL patterns that match it. Units: ``pagerank`` 68 to 100, ``link_rank`` 0 to 100, 0 without known links to it.
    Without ``has_values`` the numbers and dates in text and metadata are not indexed. ``metadata`` is what queries for a field find;
    ``sort_metadata`` is what results can be sorted by, ``text_metadata`` holds the words that other queries find, ``facet_metadata`` is
    what facets count: None if it is ``metadata``.
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
    navigation: str = ""
    anchors: Sequence[str] = ()
    link_rank: int = 0
    patterns: tuple[str, ...] = ()
    has_values: bool = True
    sort_metadata: Metadata | None = None
    text_metadata: Metadata | None = None
    facet_metadata: Metadata | None = None

    def list_text_metadata(self) -> Metadata:
        """Returns the metadata whose words queries find that name no field."""
        return self.metadata if self.text_metadata is None else self.text_metadata

    def list_facet_metadata(self) -> Metadata:
        """Returns the metadata that facets count."""
        return self.metadata if self.facet_metadata is None else self.facet_metadata


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One match, best first: the document's id, its score, and the named parts of the score if they were requested.

    ``passage`` is the place of the passage that is near to the query, from 0, None if semantic search did not find the document.
    ``fingerprint`` is that of its text, 0 if it has none or if the hit is not among the best. ``alike`` are the ids of documents with
    nearly the same text, for which it stands in a grouped list.
    """

    key: int
    score: float
    parts: tuple[tuple[str, float], ...] = ()
    passage: int | None = None
    fingerprint: int = 0
    alike: tuple[int, ...] = ()


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """A page of matches. ``total`` is exact if ``is_exact``."""

    hits: tuple[Hit, ...]
    total: int
    is_exact: bool


# --- the searcher ---------------------------------------------------------------------------------------------------------------


class Occurrence(Enum):
    """Where the plain words of a query must occur."""

    ANYWHERE = "any"
    TITLE = "title"
    URL = "url"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedSearch:
    """What the fields of the advanced search form add to a query, each as typed, "" for nothing.

    ``within`` is also a site, but it is never excluded and is no query by itself.
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
    """An order other than by relevance: by a metadata name, or by the document's date if ``name`` is "".

    Documents without the value come last in both directions. ``is_whole``: all matches are ordered, else the most relevant 1,000.
    """

    name: str = ""
    is_descending: bool = True
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """The position in a listing of all matches: after a document's number. ``is_loosened``: words are optional; None is undecided."""

    after: int = -1
    is_loosened: bool | None = None


@light_dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The parameters of a user's search, decoded once. A ``QueryPlan`` says what they mean."""

    query: str
    #: counts from 0
    start: int = 0
    #: at most 1,000
    num: int = 10
    match: Match = Match.AUTO
    #: metadata names, ("*",) for all
    getfields: tuple[str, ...] = ()
    required_fields: str = ""
    partial_fields: str = ""
    #: None for relevance
    sort: Sort | None = None
    advanced: AdvancedSearch = AdvancedSearch()
    #: restrictions that the user selected rather than typed, written as in a query
    navigation: str = ""
    #: what the user selected of facets, each ``NAME:VALUE`` or ``NAME:LOW..HIGH``
    selected: tuple[str, ...] = ()
    #: a selection without meaning and a front end that does not exist are errors, else a warning and the default one
    is_strict: bool = False
    #: with a cursor, documents are in the order of their numbers, whatever ``start`` and ``sort`` say
    cursor: Cursor | None = None
    #: the facets to count over the whole result, by their names
    facet_names: tuple[str, ...] = ()
    #: the facets of the front end are counted too
    has_frontend_facets: bool = False
    #: the built-in facets are counted too
    has_built_in_facets: bool = False
    #: where something is selected of facets, they are counted over the whole list too
    counts_unselected: bool = False
    #: names of collections, "" for all documents
    site: str = ""
    #: the data source of the documents, "" for any
    datasource: str = ""
    #: the name of a front end, "" for the default one
    client: str = ""
    #: the maximum number of KeyMatches
    keymatches: int = 3
    #: another spelling is looked for if few documents match
    corrects: bool = True
    #: the last word of the query may be half typed
    is_unfinished: bool = False
    #: results whose texts are nearly the same are one, in a list by relevance
    groups_alike: bool = False
    #: synonyms are searched too
    expands: bool = True
    languages: str = ""
    #: results include the parts of their scores
    explains: bool = False
    #: results have snippets
    has_snippets: bool = True
    #: results have marks in their titles, if they have snippets
    marks_titles: bool = True
