"""The page of the admin port: the state of the server for the people who run it, behind a sign-in page of its own.

GET        /           the state of the server, for users with the role viewer; signed out, it leads to the sign-in page
GET, POST  /signin     the form: a name and a password for each namespace with passwords
GET, POST  /signout    ends the session

A session is that of the search port: browsers send the cookies of a host to all of its ports. It opens this page and nothing else.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from feedmill.core.signin.accounts import write_user
from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.currentuser import find_current_user
from feedmill.http.common.health import Problems
from feedmill.http.common.requirements import USER, DeclaredRoute
from feedmill.http.pages.apidocs import DOCS_PATH
from feedmill.http.pages.branding import Brand
from feedmill.http.pages.languages import choose_language
from feedmill.http.pages.staticfiles import static_mount
from feedmill.http.signin.page import PAGE, SIGN_OUT, PageTools, SignInPage
from feedmill.model.userrole import UserRole

CONSOLE_PATH: Final = "/"


class _Console:
    """Shows the state of the server."""

    def __init__(self, tools: PageTools, read_status: Callable[[], Mapping[str, Any]], find_problems: Problems) -> None:
        self._tools = tools
        self._read_status = read_status
        self._find_problems = find_problems

    async def show(self, request: Request) -> Response:
        """Shows the page to a user with the role, 403 to another one, and leads anyone else to the sign-in page. Errors: FeedmillError."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        user = find_current_user(request)
        if user.role is None:
            return RedirectResponse(PAGE, status_code=302, headers=NO_STORE)
        values: dict[str, Any] = {
            "name": ", ".join(write_user(each) for each in user.identity.users) or user.label,
            "role": user.role.value,
            "needed": UserRole.VIEWER.value,
            "code": self._tools.guard.code_of_session(request.scope),
            "docs": DOCS_PATH,
            "status": None,
            "problems": [],
        }
        if not user.role.may_act_as(UserRole.VIEWER):
            return self._render(403, values)
        return self._render(200, {**values, "status": self._read_status(), "problems": self._find_problems()})

    def _render(self, status: int, values: Mapping[str, Any]) -> Response:
        # the words of the program are English, like those of its commands
        page = self._tools.pages.render("console.html", choose_language("", ""), Brand(), **values)
        return HTMLResponse(page, status, NO_STORE)


def console_routes(tools: PageTools, read_status: Callable[[], Mapping[str, Any]], find_problems: Problems) -> list[BaseRoute]:
    """Returns the routes of the page, of signing in to it, and of the files that they load."""
    console, page = _Console(tools, read_status, find_problems), SignInPage(tools)
    return [
        DeclaredRoute(CONSOLE_PATH, console.show, methods=["GET"], requires=USER),
        *(route for route in page.routes() if route.path in (PAGE, SIGN_OUT)),
        static_mount(),
    ]
