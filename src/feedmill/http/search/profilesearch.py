"""``/texis/search/main.xml``: searches the documents of one profile, for front ends of Thunderstone's appliance.

Its queries are translated into the language of the server. Source: Thunderstone Search Appliance Manual, "Issuing a Query";
docs/reference/dataload.md.
"""

import re
from collections.abc import Callable, Mapping, Sequence
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

_CATEGORY_NUMBERS: Final = re.compile(r"[0-9]{1,6}")
_ECHOED: Final = {
    "Query": "query",
    "TitleQuery": "tq",
    "UrlQuery": "uq",
    "DepthQuery": "dq",
    "MimeTypeQuery": "mtq",
    "CategoryQuery": "cq",
    "CategoryName": "category",
    "RequireAllCategories": "requireAllCategories",
    "UserResultsPerPage": "rpp",
    "SiteQuery": "sq",
    "ModifiedDateLessThan": "mdlt",
    "ModifiedDateGreaterThan": "mdgt",
    "UrlRoot": "",
    "Profile": "pr",
    "dropXSL": "dropXSL",
    "Proximity": "prox",
    "Suffixes": "sufs",
    "Order": "order",
    "RankOrder": "rorder",
    "RankProximity": "rprox",
    "rankDatabaseFrequency": "rdfreq",
    "RankDocumentFrequency": "rwfreq",
    "RankPosition": "rlead",
}
"""The elements that repeat the request, in their order, and the parameters whose values they have."""

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
        profile = self._find_profile(name)
        categories = _list_categories(values, profile)
        wanted = read_request(values, name, categories)
        echo = {element: values.get(parameter, "") for element, parameter in _ECHOED.items()} | {
            "CategoryQuery": ",".join(values.getlist("cq")),
            "CategoryName": "|".join(categories),
            "RequireAllCategories": "Y" if _requires_all(values) else "N",
            "UserResultsPerPage": str(wanted.num),
            "UrlRoot": PATH.rpartition("/")[0],
            "Profile": name,
            "Order": values.get("order", "r"),
        }
        if profile is None:
            body = render_exit("NoSuchProfile" if name else "NoProfileSpecified", echo)
        else:
            search = self._searcher.prepare(wanted, self._identify(request), find_deadline(request))
            page = self._searcher.find_page(search)
            QUERY_SECONDS.observe(page.seconds)
            body = render_results(page, profile, echo, write_local_time)
        return Response(body, media_type="text/xml; charset=UTF-8", headers=PRIVATE_NO_CACHE)


def read_request(values: Mapping[str, str], profile: str, categories: Sequence[str]) -> SearchRequest:
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


def _list_categories(values: QueryParams, profile: Profile | None) -> list[str]:
    """Lists the categories that are named, and those whose numbers in the profile are given, which count from 1."""
    named = [part.strip() for text in values.getlist("category") for part in text.split("|") if part.strip()]
    numbers = [part.strip() for name in ("cq", "cqall") for text in values.getlist(name) for part in text.split(",")]
    known = profile.categories if profile is not None else ()
    places = [int(number) for number in numbers if _CATEGORY_NUMBERS.fullmatch(number)]
    return list(dict.fromkeys([*named, *(known[place - 1] for place in places if 1 <= place <= len(known))]))


def _requires_all(values: Mapping[str, str]) -> bool:
    return values.get("requireAllCategories", "").strip().upper() == "Y" or bool(values.get("cqall", "").strip())


def write_local_time(moment: datetime) -> str:
    """Returns a time in the zone of the server, as the appliance writes it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
