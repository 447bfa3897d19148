"""Finds the user of each request to the search port, and refuses wrong credentials."""

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.currentuser import SIGNED_OUT, CurrentUser, set_current_user
from feedmill.http.common.problems import find_problem, make_answer, problem_of
from feedmill.http.common.requirements import Sender, find_requirement
from feedmill.http.common.searchthreads import run_search
from feedmill.http.signin.requestauthenticator import Refusal, RequestAuthenticator
from feedmill.http.signin.threads import run_slowly
from feedmill.model.errors import FeedmillError


class SignInCheck:
    """ASGI middleware in place of ``AuthenticationMiddleware`` if users can sign in."""

    def __init__(self, app: ASGIApp, *, authenticator: RequestAuthenticator) -> None:
        self._app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = self._app
        if scope["type"] == "http":
            try:
                found = await self._find_user(scope)
            except FeedmillError as exc:
                problem = find_problem(exc)
                found = Refusal(status=problem.status, text="signing in is not possible now; try again later")
            if isinstance(found, Refusal):
                app = answer_refusal(found, is_json=scope["path"].startswith("/api/"))
            else:
                set_current_user(scope, found)
        await app(scope, receive, send)

    async def _find_user(self, scope: Scope) -> CurrentUser | Refusal:
        if find_requirement(scope).sender is Sender.ANYONE:
            return SIGNED_OUT
        names = {name.lower() for name, _ in scope["headers"]}
        # A password takes long to check, by design, and must not delay the searches of others.
        if b"authorization" in names:
            return await run_slowly(self._authenticator.find_user, scope)
        if b"cookie" in names:
            return await run_search(self._authenticator.find_user, scope)
        return self._authenticator.find_user(scope)  # reads only the headers of a proxy, so it does not block


def answer_refusal(refusal: Refusal, *, is_json: bool) -> Response:
    """Returns the response for a refusal."""
    headers = {**refusal.headers, **NO_STORE}
    if is_json:
        return make_answer(problem_of(refusal.status), refusal.text, headers)
    return PlainTextResponse(refusal.text + "\n", refusal.status, headers=headers)
