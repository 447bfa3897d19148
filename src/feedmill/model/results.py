"""The results of a search: one page, as every format shows it."""

from dataclasses import dataclass
from datetime import datetime

from feedmill.model.document import Metadata
from feedmill.model.facets import FacetCounts, Selection
from feedmill.model.lightdataclass import light_dataclass
from feedmill.model.search import Cursor
from feedmill.model.serving import KeyMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapsing:
    """What is omitted from a result list: results that look alike, and all but two of a directory."""

    snippets: bool = True
    directories: bool = True

    @property
    def is_off(self) -> bool:
        """Whether the list shows everything."""
        return not (self.snippets or self.directories)


Marks = tuple[tuple[int, int], ...]
"""The (start, end) character ranges of a text to highlight."""


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A passage of the text, with its marks."""

    text: str
    marks: Marks = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeDocument:
    """A document whose text is nearly the same as that of the result that stands for both."""

    url: str
    display_url: str
    title: str | None


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result, after it was decided once more outside of the index. Shape: ``key`` is the document's id."""

    key: int
    url: str
    display_url: str
    title: str | None
    snippet: Snippet
    score: float
    date: datetime | None
    mimetype: str | None
    language: str | None
    metadata: Metadata
    #: as in a snippet
    title_marks: Marks = ()
    #: 68 to 100
    rank: int = 96
    content_bytes: int = 0
    #: a cached copy may be shown
    has_copy: bool = False
    updated_at: datetime | None = None
    #: the parts of the score by name, if they were requested
    parts: tuple[tuple[str, float], ...] = ()
    #: the place of the passage of its main text that is near to the query by meaning, None if it was found by its words alone
    near_passage: int | None = None
    #: another server permitted it, and no total counts it
    is_late: bool = False
    #: in a collapsed list: it belongs below the previous result, which is of the same directory
    is_second: bool = False
    #: in a collapsed list: its directory, if that has more results than the list shows
    more_in: str = ""
    #: words and phrases of the query that it lacks, where documents are listed that hold only some
    missing: tuple[str, ...] = ()
    #: the documents for which it stands too
    alike: tuple[AlikeDocument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnselectedList:
    """A result list as it would be if nothing were selected of facets. Shape: ``facets`` are those of the page, in the same order."""

    total: int
    facets: tuple[FacetCounts, ...]


@light_dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """The response to a search request: one page of a result list. A format renders it and changes nothing of it."""

    #: as the user typed it
    query: str
    #: counts from 0; where the page begins, which a collapsed list may move before the requested start
    start: int
    #: all matches, collapsed or not; exact if ``is_exact``
    total: int = 0
    is_exact: bool = True
    results: tuple[Result, ...] = ()
    #: what the user should know about the query and its results
    warnings: tuple[str, ...] = ()
    #: those of ``warnings`` that say what is missing for lack of time
    deadline_warnings: tuple[str, ...] = ()
    #: the duration of the search
    seconds: float = 0.0
    facets: tuple[FacetCounts, ...] = ()
    #: what the user selected of facets
    selections: tuple[Selection, ...] = ()
    #: the list before that; None if nothing was selected, or if it was not asked for
    unselected: UnselectedList | None = None
    #: shown above the results
    keymatches: tuple[KeyMatch, ...] = ()
    #: other queries to offer
    related: tuple[str, ...] = ()
    spelling: str | None = None
    #: no document holds all of what was typed, whatever was selected; some do in that spelling
    is_misspelt: bool = False
    next_cursor: Cursor | None = None
    #: set if another server decided about some matches: the known length of the list including what it permitted
    late_length: int | None = None
    #: the list also has documents without some of the query's words, below those with all
    is_loosened: bool = False
    #: results were omitted, since they look alike or crowd the list
    is_collapsed: bool = False
    #: another page follows
    has_more: bool = False
    #: in a grouped list: how many matches stand below others
    folded: int = 0
    #: in a grouped list: how many matches the pages before show, None in another list
    before: int | None = None

    @property
    def length(self) -> int:
        """The length of the list that the user pages through, as far as it is known."""
        return self.total - self.folded if self.late_length is None else self.late_length
