"""``/texis/search/main.xml``: searches the documents of one profile, for front ends of Thunderstone's appliance.

Its queries are translated into the language of the server. Source: Thunderstone Search Appliance Manual, "Issuing a Query";
docs/reference/dataload.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import quote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.common.currentuser import Identify
from feedmill.http.common.searchthreads import SearchThreads, find_deadline
from feedmill.http.search.gsasearch import read_query
from feedmill.http.search.parameters import DEFAULT_NUM, MAX_NUM, MAX_START, read_number
from feedmill.model.dataload import Profile
from feedmill.model.search import AdvancedSearch, Match, SearchRequest, Sort
from feedmill.services.searching.searcher import Searcher
from feedmill.telemetry.metrics import QUERY_SECONDS
from feedmill.wire.dataload.queries import translate_query, write_restrictions
from feedmill.wire.dataload.results import render_exit, render_results

PATH: Final = "/texis/search/main.xml"
FindProfile = Callable[[str], Profile | None]

_ORDERS: Final = {"dd": Sort(is_descending=True), "d": Sort(is_descending=True), "da": Sort(is_descending=False)}


class ProfileSearch:
    """The handler of the route."""

    def __init__(self, searcher: Searcher, identify: Identify, find_profile: FindProfile, threads: SearchThreads) -> None:
        self._searcher = searcher
        self._identify = identify
        self._find_profile = find_profile
        self._threads = threads

    async def answer(self, request: Request) -> Response:
        """Returns the results that the user may see, for parameters in the URL or in a form. Errors: TooLarge."""
        return await self._threads.run(request, self._respond, request, QueryParams(await read_query(request)))

    def _respond(self, request: Request, values: QueryParams) -> Response:
        name = values.get("pr", "").strip()
        categories = [part.strip() for text in values.getlist("category") for part in text.split("|") if part.strip()]
        wanted = read_request(values, name, categories)
        echo = {
            "Query": values.get("query", ""),
            "TitleQuery": values.get("tq", ""),
            "UrlQuery": values.get("uq", ""),
            "MimeTypeQuery": values.get("mtq", ""),
            "CategoryName": "|".join(categories),
            "RequireAllCategories": "Y" if _requires_all(values) else "N",
            "UserResultsPerPage": str(wanted.num),
            "SiteQuery": values.get("sq", ""),
            "ModifiedDateLessThan": values.get("mdlt", ""),
            "ModifiedDateGreaterThan": values.get("mdgt", ""),
            "UrlRoot": PATH.rpartition("/")[0],
            "Profile": name,
            "dropXSL": values.get("dropXSL", ""),
            "Order": values.get("order", "r"),
        }
        profile = self._find_profile(name)
        if profile is None:
            body = render_exit("NoSuchProfile" if name else "NoProfileSpecified", echo)
        else:
            search = self._searcher.prepare(wanted, self._identify(request), find_deadline(request))
            page = self._searcher.find_page(search)
            QUERY_SECONDS.observe(page.seconds)
            body = render_results(page, profile, echo, write_local_time)
        return Response(body, media_type="text/xml; charset=UTF-8", headers=PRIVATE_NO_CACHE)


def read_request(values: Mapping[str, str], profile: str, categories: list[str]) -> SearchRequest:
    """Returns the search request of the parameters. A value that is none becomes the default, as on ``/search``."""
    order = values.get("order", "").strip()
    quoted = [f"category:{quote(category, safe='').replace('.', '%2E')}" for category in categories]
    request = SearchRequest(
        query=" ".join(part for part in (translate_query(values.get("query", "")), write_restrictions(values)) if part),
        start=read_number(values.get("jump", ""), default=0, at_most=MAX_START),
        num=read_number(values.get("rpp", ""), default=DEFAULT_NUM, at_most=MAX_NUM) or DEFAULT_NUM,
        match=Match.ALL,
        getfields=("*",),
        required_fields=("." if _requires_all(values) else "|").join(quoted),
        sort=_ORDERS.get(order) or (Sort(name=order, is_descending=False) if order not in ("", "r") else None),
        datasource=profile,
    )
    return replace(request, advanced=AdvancedSearch(site=values.get("sq", "")))


def _requires_all(values: Mapping[str, str]) -> bool:
    return values.get("requireAllCategories", "").strip().upper() == "Y"


def write_local_time(moment: datetime) -> str:
    """Returns a time in the zone of the server, as the appliance writes it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
