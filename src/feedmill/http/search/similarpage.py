"""The page of a ``related:`` query: it names the document of the query, and shows the best twenty that are similar to it."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from feedmill.core.documents.presentation import shown_title
from feedmill.core.query.nodes import parts_of
from feedmill.core.query.plan import QueryPlan
from feedmill.core.urls.breadcrumbs import name_url
from feedmill.http.search.parameters import read_search
from feedmill.http.search.resultpage import lists_results
from feedmill.http.search.titles import shorten_title
from feedmill.model.document import Document
from feedmill.model.query import Related
from feedmill.model.results import ResultPage, Snippet
from feedmill.model.search import SearchRequest

MAX_SIMILAR = 20


def find_related_url(plan: QueryPlan) -> str | None:
    """Returns the URL whose similar documents a search finds, None if it is another search."""
    urls = [part.url for part in parts_of(plan.root) if isinstance(part, Related)] if plan.root is not None else []
    return urls[0] if len(urls) == 1 else None


def only_by_likeness(request: SearchRequest) -> SearchRequest:
    """Returns the request without facets, groups and another order: they would be those of a list that the page does not show."""
    return replace(request, facet_names=(), has_frontend_facets=False, has_built_in_facets=False, groups_alike=False, sort=None)


def find_way_back(parameters: str) -> str:
    """Returns the parameters of the list from which a user came, written anew, "" if they list nothing."""
    pairs = parse_qsl(parameters, errors="replace")
    selected = tuple(value for name, value in pairs if name == "select")
    request = replace(read_search(dict(pairs)), selected=selected)
    return urlencode(pairs, errors="replace") if lists_results(request.query, request) else ""


def keep_best(page: ResultPage) -> ResultPage:
    """Returns the page of a list that ends after twenty documents. Nobody typed the words by which they are similar, so none is marked."""
    late_length = None if page.late_length is None else min(page.late_length, MAX_SIMILAR)
    results = tuple(
        replace(result, title_marks=(), snippet=Snippet(text=result.snippet.text))
        for result in page.results[: max(MAX_SIMILAR - page.start, 0)]
    )
    return replace(page, total=min(page.total, MAX_SIMILAR), late_length=late_length, results=results)


def name_document(document: Document) -> str:
    """Returns the title of a document as a heading names it, the name of its file if it has none."""
    title = shorten_title(shown_title(document) or "", ()).text
    return title if title.strip() else name_url(document.attributes.display_url or document.url)
