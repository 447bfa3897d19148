"""Click reports of result pages, ours and those written for the old appliance.

url   the target of the click        q     the query                      ct   the kind of the target, "c" a result
r     its position in the list       s     the start of the page          cd   other data of the page, such as the position
site, client                         src_id  the page that sent the report

A report is untrusted input: every value is cut, a malformed number is 0, and reports of
another site's pages are dropped. No report causes an error. Clicks change no result and no suggestion.
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
    """The store of clicks."""

    def keep(self, click: Click, sender: ClickSender) -> bool:
        """Stores a click and returns whether it did."""


class NoClickLog:
    """Stores no clicks."""

    def keep(self, click: Click, sender: ClickSender) -> bool:  # noqa: ARG002 - the protocol names them
        """Stores nothing."""
        return False


def read_click(values: Mapping[str, str], at: datetime) -> Click | None:
    """Returns the click of a report, None for an empty one."""
    url, query = _cut_value(values, "url", MAX_CHARACTERS), _cut_value(values, "q", MAX_CHARACTERS)
    if not url and not query:
        return None
    place = read_number(values.get("r", "") or values.get("cd", ""), default=0, at_most=MAX_PLACE)
    return Click(
        at=at,
        kind=_cut_value(values, "ct", MAX_SHORT_CHARACTERS) or "c",
        query=query,
        url=url,
        place=place,
        site=_cut_value(values, "site", MAX_SHORT_CHARACTERS),
        client=_cut_value(values, "client", MAX_SHORT_CHARACTERS),
        details=_cut_value(values, "cd", MAX_SHORT_CHARACTERS),
    )


def _cut_value(values: Mapping[str, str], name: str, size: int) -> str:
    return "".join(character if character.isprintable() else " " for character in values.get(name, "")[:size]).strip()


def click_route(log: ClickLog, clock: Callable[[], datetime], clients: Clients) -> Callable[[Request], Awaitable[Response]]:
    """Returns the endpoint that receives clicks."""

    async def take_click(request: Request) -> Response:
        click = read_click(request.query_params, clock())
        if click is not None and _is_from_here(request):
            await run_in_threadpool(log.keep, click, find_sender(request, clients))
        return Response(status_code=204, headers=NO_STORE)

    return take_click


def find_sender(request: Request, clients: Clients) -> ClickSender:
    """Returns the sender for the count of clicks: the signed-in user, otherwise the address, of which IPv6 counts the /64 network."""
    users = find_current_user(request).identity.users
    if users:
        return ClickSender(name="user " + "|".join(f"{user.namespace}\\{user.name}" for user in users))
    client = clients.find_client(request.scope)
    return ClickSender(name=name_network(client.address), is_many=client.is_shared)


def _is_from_here(request: Request) -> bool:
    """Returns whether a browser does not say that another site's page sent the report."""
    return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin", "same-site")
