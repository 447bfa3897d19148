"""Click reports of result pages, ours and those written for the old appliance.

    url   where the click led          q     the query                    ct   what was clicked, "c" a result
    r     its place in the list        s     where the page began         cd   what else the page knows, such as the place
    site, client                       src_id  which page sent it

A report is believed as little as any other input: every value is cut, what is no number is 0, nothing is ever an error, and reports of
another site's pages are dropped. Clicks change no result and no suggestion.
Source: Search Protocol Reference, advanced search reporting.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from feedmill.core.urls.networks import name_network
from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.currentuser import find_current_user
from feedmill.http.search.parameters import read_number
from feedmill.model.click import Click, ClickSender

MAX_CHARACTERS = 2_000
MAX_SHORT_CHARACTERS = 100
MAX_PLACE = 100_000


class ClickLog(Protocol):
    """Where clicks are kept."""

    def keep(self, click: Click, sender: ClickSender) -> bool:
        """Keeps a click and tells whether it did."""


class NoClickLog:
    """Keeps no clicks."""

    def keep(self, click: Click, sender: ClickSender) -> bool:  # noqa: ARG002 - the protocol names them
        """Keeps nothing."""
        return False


def read_click(values: Mapping[str, str], at: datetime) -> Click | None:
    """Reads a report, None for one that tells nothing."""
    url, query = _cut(values, "url", MAX_CHARACTERS), _cut(values, "q", MAX_CHARACTERS)
    if not url and not query:
        return None
    place = read_number(values.get("r", "") or values.get("cd", ""), default=0, at_most=MAX_PLACE)
    return Click(
        at=at,
        kind=_cut(values, "ct", MAX_SHORT_CHARACTERS) or "c",
        query=query,
        url=url,
        place=place,
        site=_cut(values, "site", MAX_SHORT_CHARACTERS),
        client=_cut(values, "client", MAX_SHORT_CHARACTERS),
        details=_cut(values, "cd", MAX_SHORT_CHARACTERS),
    )


def _cut(values: Mapping[str, str], name: str, size: int) -> str:
    return "".join(character if character.isprintable() else " " for character in values.get(name, "")[:size]).strip()


def click_route(log: ClickLog, clock: Callable[[], datetime], clients: Clients) -> Callable[[Request], Awaitable[Response]]:
    """Returns the endpoint that takes clicks."""

    async def take_click(request: Request) -> Response:
        click = read_click(request.query_params, clock())
        if click is not None and _is_from_here(request):
            await run_in_threadpool(log.keep, click, find_sender(request, clients))
        return Response(status_code=204, headers=NO_STORE)

    return take_click


def find_sender(request: Request, clients: Clients) -> ClickSender:
    """Returns whose clicks are counted with a request's: a signed-in user's, else an address's, of IPv6 a /64 network's."""
    users = find_current_user(request).identity.users
    if users:
        return ClickSender(name="user " + "|".join(f"{user.namespace}\\{user.name}" for user in users))
    client = clients.find(request.scope)
    return ClickSender(name=name_network(client.address), is_many=client.is_shared)


def _is_from_here(request: Request) -> bool:
    """Returns whether a browser does not say that another site's page sent the report."""
    return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin", "same-site")
