"""Compares the results of two servers that speak the search protocol: an old appliance and its successor.

Both are asked for the best results of each query as XML, without the filters that hide similar results. Only the sets of URLs are compared,
because the scores of two servers are never the same. Source: Search Protocol Reference.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from feedmill.conformance.cases import Unmet
from feedmill.conformance.exchange import Exchange, parse_xml
from feedmill.model.errors import UpstreamFailure

_ALWAYS: Final = {"output": "xml_no_dtd", "filter": "0", "ie": "UTF-8", "oe": "UTF-8"}
_DEFAULTS: Final = {"site": "default_collection", "client": "default_frontend"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How the results of a query differ.

    ``overlap`` is the number of common results by the length of the longer list, 1 if both are empty. ``missing`` are URLs that only the
    old server returns, ``extra`` those that only the new one does, in their order. ``error`` says why the query cannot be compared.
    """

    query: str
    overlap: float = 0.0
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    error: str = ""


class SearchServer:
    """A server by the address of its search port, or of its search page with parameters for every query. Errors: BadRequest."""

    def __init__(self, url: str, *, seconds: float, certificate: str = "") -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        self._path = parts.path if parts.path.strip("/") else "/search"
        self._parameters = _DEFAULTS | dict(parse_qsl(parts.query))
        root = urlunsplit(parts._replace(path="", query="", fragment=""))
        self._exchange = Exchange(root, seconds=seconds, certificate=certificate)

    def find_urls(self, query: str, num: int) -> list[str]:
        """Returns the URLs of the best results. Errors: UpstreamFailure, Unmet."""
        parameters = self._parameters | _ALWAYS | {"q": query, "num": str(num)}
        reply = self._exchange.send("GET", self._path, parameters=parameters)
        if reply.status != 200:
            raise Unmet(f"{self._exchange.base_url} answers with {reply.describe()}")
        root = parse_xml(reply)
        if root.tag != "GSP":
            raise Unmet(f"{self._exchange.base_url} answers with <{root.tag}>, not with <GSP>")
        return list(dict.fromkeys(url.text.strip() for url in root.findall("RES/R/U") if url.text))


def compare(old: SearchServer, new: SearchServer, queries: Iterable[str], num: int) -> Iterator[Difference]:
    """Yields how the results of each query differ, in the order of the queries."""
    with ThreadPoolExecutor(2) as both:
        for query in queries:
            asked = [both.submit(server.find_urls, query, num) for server in (old, new)]
            try:
                before, after = (each.result() for each in asked)
            except (UpstreamFailure, Unmet) as error:
                yield Difference(query=query, error=str(error))
                continue
            common = len(set(before) & set(after))
            yield Difference(
                query=query,
                overlap=round(common / max(len(before), len(after)), 4) if before or after else 1.0,
                missing=tuple(url for url in before if url not in after),
                extra=tuple(url for url in after if url not in before),
            )
