"""What users do on the search port."""

from collections.abc import Sequence
from typing import Final

from feedmill_client._addresses import make_query
from feedmill_client._bodies import JsonBody
from feedmill_client._endpoint import Endpoint
from feedmill_client._exchange import Request
from feedmill_client._flows import Flow, Item, Stream
from feedmill_client._ports import ClientPorts
from feedmill_client.answers import DocumentSummary, Passages, ResultShown, SearchAnswer, Suggestions

PAGE: Final = 500
_SEARCH: Final = "/api/v1/search"


def search(
    ports: ClientPorts,
    /,
    query: str,
    *,
    start: int = 0,
    num: int = 10,
    facets: Sequence[str] = (),
    select: Sequence[str] = (),
    getfields: Sequence[str] = (),
    **parameters: str,
) -> Flow[SearchAnswer]:
    """Searches. ``select`` is what results must have of facets, ``NAME:VALUE`` each.

    ``parameters`` are more parameters of the API: ``sort``, ``match``, ``site``, ``client``, ``requiredfields``.
    """
    sent: dict[str, str | list[str]] = {"q": query, "start": str(start), "num": str(num), "facet": list(facets)}
    sent |= _restrict(select, getfields) | parameters
    return ports.search.read(SearchAnswer, (yield from ports.search.get_json(_SEARCH, sent)))


def iter_results(
    ports: ClientPorts, /, query: str, *, select: Sequence[str] = (), getfields: Sequence[str] = (), **parameters: str
) -> Stream[ResultShown]:
    """Yields every result, each document once, in the order in which documents came to the server.

    The order does not change while documents come and go. New documents come at the end.
    """
    sent: dict[str, str | list[str]] = {"q": query, "num": str(PAGE), "cursor": "*"}
    page = make_query(sent | _restrict(select, getfields) | parameters)
    while page:
        answer, page = yield from ports.search.read_page(_SEARCH, page)
        for result in ports.search.read(SearchAnswer, answer).results:
            yield Item(result)


def suggest(ports: ClientPorts, typed: str, *, num: int = 10) -> Flow[list[str]]:
    """Returns suggestions that complete what the user typed."""
    answer = yield from ports.search.get_json("/api/v1/suggest", {"q": typed, "num": str(num)})
    return ports.search.read(Suggestions, answer).suggestions


def retrieve(ports: ClientPorts, query: str, *, num: int = 10, site: str = "") -> Flow[Passages]:
    """Returns passages that may answer a question, as sources for a program that writes the answer."""
    endpoint: Endpoint = ports.search
    body = JsonBody({"query": query, "num": num, "site": site})
    response = yield from endpoint.ask(Request(method="POST", path="/api/v1/retrieve", body=body, is_repeatable=True))
    return endpoint.read(Passages, endpoint.read_json(response))


def get_document(ports: ClientPorts, url: str) -> Flow[DocumentSummary]:
    """Returns what the user may know of a document."""
    return ports.search.read(DocumentSummary, (yield from ports.search.get_json("/api/v1/documents", {"url": url})))


def _restrict(select: Sequence[str], getfields: Sequence[str]) -> dict[str, str | list[str]]:
    fields = ".".join(name.replace("%", "%25").replace(".", "%2E") for name in getfields)
    return {**({"select": list(select)} if select else {}), **({"getfields": fields} if fields else {})}
