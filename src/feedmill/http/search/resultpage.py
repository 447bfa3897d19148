"""The search page: the values that its template shows of a result page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Final
from urllib.parse import urlencode

from feedmill.core.query.language import list_restrictions
from feedmill.core.query.plan import QueryPlan
from feedmill.core.ranking.scoring import HOLDS_TELLING_BONUS
from feedmill.core.urls.breadcrumbs import CONTROL, name_url, shorten_url, split_url
from feedmill.http.search.facetlinks import ShownFilters, show_filters
from feedmill.http.search.parameters import DEFAULT_NUM, read_sort, write_refined
from feedmill.http.search.rowpage import find_row_path
from feedmill.http.search.titles import Ends, find_site_ends, shorten_title, show_title, skip_heading
from feedmill.model.document import Metadata
from feedmill.model.messages import message
from feedmill.model.results import AlikeDocument, Result, ResultPage, Snippet
from feedmill.model.search import Match, SearchRequest
from feedmill.model.serving import KeyMatch
from feedmill.services.searching.cachedcopy import CachedCopy

PAGES_SHOWN = 9
MAX_SHOWN_AUTHOR = 60
MAX_AUTHORS = 3

AUTHOR: Final = "author"
"""The metadata name of who wrote a document."""

# only URLs that a browser may open without harm; blanks, control characters and marks of direction hide where a URL leads
_LINKABLE = re.compile(r"(?:https?|ftps?|smb)://[^\s\x00-\x20\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\"<>\\^`{|}]+", re.IGNORECASE)

LITERAL = ("correct", "0")
"""The parameter that keeps the page from searching for another spelling than the one that was typed."""

UNFINISHED = ("prefix", "1")
"""The parameter of results that came while somebody typed: the last word of the query may be half typed."""

UNGROUPED = ("filter", "0")
"""The parameter that shows each result by itself, also those whose texts are nearly the same."""

BACK: Final = "back"
"""The parameter of a page of similar documents that holds those of the list from which a user came to it, with the ``back`` of that one."""

MAX_BACK_LENGTH: Final = 2_000
"""The length from which a list is left out of the way back: it would hold all lists before it, and each link of a page repeats it."""

MAX_ALIKE = 10
MAX_RESTRICTIONS = 5

ORDERS = (("", message("Relevance")), ("date:D:R:d1", message("Newest")), ("date:A:R:d1", message("Oldest")))
"""The orders that the page offers: the value of ``sort=`` and its label."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of content. ``sign`` names an icon of the page; ``name`` "" is not written, because most documents are pages."""

    name: str
    sign: str


PAGE: Final = FileKind("", "page")


_OOXML = "application/vnd.openxmlformats-officedocument"


_ODF = "application/vnd.oasis.opendocument"


_KINDS: Final = {
    "application/epub+zip": FileKind("EPUB", "text"),
    "application/json": FileKind("JSON", "text"),
    "application/msword": FileKind("Word", "text"),
    "application/pdf": FileKind("PDF", "pdf"),
    "application/postscript": FileKind("PostScript", "pdf"),
    "application/rtf": FileKind("RTF", "text"),
    "application/vnd.ms-excel": FileKind("Excel", "sheet"),
    "application/vnd.ms-outlook": FileKind(message("Mail"), "mail"),
    "application/vnd.ms-powerpoint": FileKind("PowerPoint", "slides"),
    "application/x-7z-compressed": FileKind("7Z", "archive"),
    "application/x-tar": FileKind("TAR", "archive"),
    "application/xml": FileKind("XML", "text"),
    "application/zip": FileKind("ZIP", "archive"),
    f"{_ODF}.presentation": FileKind("ODP", "slides"),
    f"{_ODF}.spreadsheet": FileKind("ODS", "sheet"),
    f"{_ODF}.text": FileKind("ODT", "text"),
    f"{_OOXML}.presentationml.presentation": FileKind("PowerPoint", "slides"),
    f"{_OOXML}.spreadsheetml.sheet": FileKind("Excel", "sheet"),
    f"{_OOXML}.wordprocessingml.document": FileKind("Word", "text"),
    "message/rfc822": FileKind(message("Mail"), "mail"),
    "text/csv": FileKind("CSV", "sheet"),
    "text/markdown": FileKind("Markdown", "text"),
    "text/plain": FileKind(message("Text"), "text"),
    "text/rtf": FileKind("RTF", "text"),
    "text/troff": FileKind("man", "text"),
    "text/xml": FileKind("XML", "text"),
}


_FAMILIES: Final = {
    "image": FileKind(message("Image"), "image"),
    "audio": FileKind(message("Audio"), "media"),
    "video": FileKind(message("Video"), "media"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a snippet, highlighted or not."""

    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAlike:
    """A document for which a result stands too; ``link`` is None if a browser should not open its URL."""

    title: str
    link: str | None
    crumbs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownResult:
    """One result; ``link`` is None if a browser should not open its URL. Units: ``size`` in bytes, 0 if it is not known.

    ``anchor`` is the fragment by which a copy of it, and documents similar to it, lead back to it in the list.

    ``alike`` are the first of the ``alike_count`` documents for which it stands too; ``missing`` words of the query that it lacks.
    """

    title: tuple[Part, ...]
    link: str | None
    crumbs: tuple[str, ...]
    parts: tuple[Part, ...]
    kind: FileKind
    language: str | None
    date: datetime | None
    size: int
    author: str
    copy: str | None
    similar: str
    anchor: str
    alike: tuple[ShownAlike, ...] = ()
    alike_count: int = 0
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLink:
    """A link to a page of the same result list; ``number`` counts from 1."""

    number: int
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order of the list, and the page in that order."""

    label: str
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMatch:
    """A KeyMatch; ``link`` is None if a browser should not open its URL."""

    title: str
    link: str | None
    shown_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySuggestion:
    """Another query, and the page of its results."""

    query: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPage:
    """Everything that the template needs. ``first``, ``last`` and ``place`` count from 1; only the first page has KeyMatches.

    ``first`` to ``last`` are the documents that the page shows, ``place`` is that of its first result in the list. They differ if results
    stand for several documents; ``ungrouped`` then leads to a list in which each stands for itself.

    ``parting`` is the position, from 0, of the first result without some words of the query, None if all have all words
    or if words may not be left out. ``typed`` is what was typed if the page shows the results of another spelling. ``again`` leads to the
    same list if time was too short for it. ``restrictions`` are terms of a query without results, each with the page without it. ``back``
    is the list from which a user came to similar documents.
    """

    query: str
    has_query: bool
    total: int
    first: int
    last: int
    place: int
    seconds: float
    results: tuple[ShownResult, ...]
    warnings: tuple[str, ...]
    previous: str | None
    following: str | None
    pages: tuple[PageLink, ...]
    hidden: tuple[tuple[str, str], ...]
    keymatches: tuple[ShownMatch, ...] = ()
    related: tuple[QuerySuggestion, ...] = ()
    is_counted: bool = True
    meant: QuerySuggestion | None = None
    typed: QuerySuggestion | None = None
    filters: ShownFilters
    orders: tuple[Order, ...] = ()
    parting: int | None = None
    feed: str = ""
    ungrouped: str | None = None
    again: str | None = None
    restrictions: tuple[QuerySuggestion, ...] = ()
    back: str | None = None


def may_correct(page: ResultPage, request: SearchRequest) -> bool:
    """Whether a page may show the results of another spelling instead of its own: nothing holds what was typed, and no filter hides it.

    What holds parts of it counts only for a user who asked for parts.
    """
    is_list_wanted = page.total > 0 and request.match is not Match.AUTO
    is_held = is_list_wanted or any(result.is_late for result in page.results)
    return page.is_misspelt and not is_held and not request.navigation


def show_page(
    page: ResultPage,
    plan: QueryPlan,
    repeated: Mapping[str, str] | None = None,
    *,
    typed: str = "",
    chosen: tuple[tuple[str, str], ...] = (),
    back: str = "",
    likened: str = "",
) -> ShownPage:
    """Returns the values for the template. Every link and the form have the parameters ``repeated``.

    Shape: ``typed`` is the query of the user if the page is that of another spelling. Links within the list repeat what was ``chosen`` for
    it, of ``LITERAL``, ``UNFINISHED`` and ``UNGROUPED``, and ``back``, the parameters of the list that led to it by the document
    ``likened``. Those to other queries and the form do not.
    """
    same = tuple((repeated or {}).items())
    request = plan.request
    num = max(request.num, 1)
    elsewhere = (*_list_parameters(request), *same)
    own = (*same, *chosen, *([(BACK, back)] if back else []))
    parameters = (*_list_parameters(request), *own)
    here = _add_start(parameters, request.start)
    before = page.start if page.before is None else page.before
    origin = _encode([("q", page.query), *here])
    if back and len(origin) > MAX_BACK_LENGTH:
        origin = back

    def link_to(other: SearchRequest) -> str:
        return _href(page.query, 0, (*_list_parameters(other), *own))

    has_more = page.length > request.start + num
    ends = find_site_ends(page.results)
    return ShownPage(
        query=page.query,
        has_query=lists_results(page.query, request),
        total=page.total,
        is_counted=page.length + page.folded == page.total and not any(result.is_late for result in page.results),
        first=before + 1,
        last=before + sum(1 + len(result.alike) for result in page.results),
        place=page.start + 1,
        seconds=page.seconds,
        results=tuple(_show_result(result, page.query, here, (*same, (BACK, origin)), ends) for result in page.results),
        warnings=page.warnings,
        previous=_href(page.query, max(request.start - num, 0), parameters) if request.start > 0 else None,
        following=_href(page.query, request.start + num, parameters) if has_more else None,
        pages=_page_links(page, request.start // num, num, parameters),
        hidden=(*_list_parameters(replace(request, navigation="")), *same),
        keymatches=tuple(_show_match(match) for match in page.keymatches) if request.start == 0 else (),
        related=tuple(QuerySuggestion(query=query, href=_href(query, 0, elsewhere)) for query in page.related),
        meant=QuerySuggestion(query=page.spelling, href=_href(page.spelling, 0, elsewhere)) if page.spelling else None,
        typed=QuerySuggestion(query=typed, href=_href(typed, 0, (*elsewhere, LITERAL))) if typed else None,
        filters=show_filters(page, plan, link_to, lambda other: (*_list_parameters(other), *own)),
        orders=_orders(page.query, request, own),
        parting=_find_parting(page, request),
        feed=_write_feed_address(page.query, request),
        ungrouped=_href(page.query, 0, (*parameters, UNGROUPED)) if page.folded else None,
        again=_href(page.query, 0, here) if page.deadline_warnings else None,
        restrictions=tuple(
            QuerySuggestion(query=term, href=_href(rest, 0, parameters))
            for term, rest in (() if page.total or page.deadline_warnings else list_restrictions(page.query)[:MAX_RESTRICTIONS])
            if lists_results(rest, request)
        ),
        back=f"/?{back}#{write_anchor(likened)}" if back else None,
    )


def _find_parting(page: ResultPage, request: SearchRequest) -> int | None:
    """Returns where the results begin that have only some words of the query, None if there are none. Function words do not count."""
    if not page.is_loosened or request.match is not Match.AUTO or request.sort is not None:
        return None
    return next((place for place, result in enumerate(page.results) if result.score < HOLDS_TELLING_BONUS), None)


def _orders(query: str, request: SearchRequest, same: tuple[tuple[str, str], ...]) -> tuple[Order, ...]:
    orders = []
    for text, label in ORDERS:
        sort = read_sort(text)
        parameters = (*_list_parameters(replace(request, sort=sort)), *same)
        orders.append(Order(label=label, href=_href(query, 0, parameters), is_current=sort == request.sort))
    return tuple(orders)


def _show_match(match: KeyMatch) -> ShownMatch:
    shown = shorten_url(match.url)
    return ShownMatch(title=match.title.strip() or shown, link=find_link(match.url), shown_url=shown)


def lists_results(query: str, request: SearchRequest) -> bool:
    """Whether a page lists results: for a query, or for restrictions without one."""
    return bool(query.strip()) or bool(write_refined(replace(request, sort=None)))


def _list_parameters(request: SearchRequest) -> list[tuple[str, str]]:
    parameters = []
    if request.num != DEFAULT_NUM:
        parameters.append(("num", str(request.num)))
    if request.match is not Match.AUTO:
        parameters.append(("match", request.match.value))
    parameters += [(name, value) for name, value in (("site", request.site), ("client", request.client)) if value]
    parameters += [("facet", name) for name in request.facet_names]
    return [*parameters, *write_refined(request)]


def _page_links(page: ResultPage, current: int, num: int, parameters: tuple[tuple[str, str], ...]) -> tuple[PageLink, ...]:
    count = -(-page.length // num)
    if count < 2:
        return ()
    first = max(0, min(current - PAGES_SHOWN // 2, count - PAGES_SHOWN))
    numbers = range(first, min(first + PAGES_SHOWN, count))
    return tuple(
        PageLink(number=number + 1, href=_href(page.query, number * num, parameters), is_current=number == current) for number in numbers
    )


def write_page_address(query: str, request: SearchRequest) -> str:
    """Returns the address of the page that shows the results of a request."""
    return _href(query, request.start, tuple(_list_parameters(request)))


def _write_feed_address(query: str, request: SearchRequest) -> str:
    """Returns the address of a feed with the results of the page: in ``/search`` all words must occur and likes are left out by default."""
    parameters = [pair for pair in _list_parameters(request) if pair[0] != "match"]
    pairs = [("q", query), *parameters, ("match", request.match.value), ("filter", "0"), ("output", "atom")]
    return "/search?" + _encode(pairs)


def _href(query: str, start: int, parameters: tuple[tuple[str, str], ...]) -> str:
    return "/?" + _encode([("q", query), *_add_start(parameters, start)])


def _encode(pairs: Sequence[tuple[str, str]]) -> str:
    return urlencode(pairs, errors="replace")


def _add_start(parameters: tuple[tuple[str, str], ...], start: int) -> tuple[tuple[str, str], ...]:
    return (*parameters, ("start", str(start))) if start else parameters


def _show_result(
    result: Result, query: str, here: tuple[tuple[str, str], ...], elsewhere: tuple[tuple[str, str], ...], ends: Ends
) -> ShownResult:
    """Returns a result. Shape: a copy leads back to this list with the parameters ``here``; links to other lists have ``elsewhere``."""
    title = show_title(result, ends)
    if not title.text.strip():
        title = Snippet(text=name_url(result.display_url))
    return ShownResult(
        title=split_snippet(title),
        link=find_address(result),
        crumbs=split_url(result.display_url),
        parts=split_snippet(skip_heading(result.snippet, result.title or "")),
        kind=_find_kind(result.mimetype),
        language=result.language,
        date=result.date,
        size=result.content_bytes,
        author=write_authors(result.metadata),
        copy="/cache?" + _encode([("url", result.url), ("q", query), *here]) if result.has_copy else None,
        similar=_href(f"related:{result.url}", 0, elsewhere),
        anchor=write_anchor(result.url),
        alike=tuple(map(_show_alike, result.alike[:MAX_ALIKE])),
        alike_count=len(result.alike),
        missing=result.missing,
    )


def _show_alike(document: AlikeDocument) -> ShownAlike:
    title = shorten_title(document.title or "", ()).text
    shown = title if title.strip() else name_url(document.display_url)
    return ShownAlike(title=shown, link=find_address(document), crumbs=split_url(document.display_url))


def write_anchor(url: str) -> str:
    """Returns the fragment that names the result of a URL in any list."""
    return f"r{sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def find_address(result: Result | AlikeDocument | CachedCopy) -> str | None:
    """Returns where a result or a copy leads: a URL, or a path of this server; None if a browser should open neither."""
    return find_link(result.display_url) or find_row_path(result.display_url) or find_link(result.url) or find_row_path(result.url)


def find_link(url: str) -> str | None:
    """Returns the URL if a browser may open it, else None."""
    return url if _LINKABLE.fullmatch(url) else None


def write_authors(metadata: Metadata) -> str:
    """Returns who wrote a document, "" if that is not known."""
    values = [CONTROL.sub(" ", value).strip() for name, value in metadata if name.strip().casefold() == AUTHOR]
    text = ", ".join([value for value in dict.fromkeys(values) if value][:MAX_AUTHORS])
    return text if len(text) <= MAX_SHOWN_AUTHOR else f"{text[:MAX_SHOWN_AUTHOR].rstrip()}…"


def split_snippet(snippet: Snippet) -> tuple[Part, ...]:
    """Returns a snippet, divided at the ends of its marks."""
    parts: list[Part] = []
    position = 0
    for start, end in snippet.marks:
        parts += (Part(text=snippet.text[position:start], is_marked=False), Part(text=snippet.text[start:end], is_marked=True))
        position = end
    parts.append(Part(text=snippet.text[position:], is_marked=False))
    return tuple(part for part in parts if part.text)


def _find_kind(mimetype: str | None) -> FileKind:
    """Returns the name of a content type for users, and its icon; those of a page for an unknown type."""
    bare = (mimetype or "").partition(";")[0].strip().lower()
    return _KINDS.get(bare) or _FAMILIES.get(bare.partition("/")[0]) or PAGE
