"""The user of a request, found once before the request is handled and stored in its scope.

``find_current_user`` returns the user that ``AuthenticationMiddleware`` found. Without that middleware every request is anonymous, so an
application that lacks it shows public documents only.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.common.problems import Problem, make_answer
from feedmill.http.common.proxyheaders import ProxyTrust, read_proxy_identity
from feedmill.http.common.requirements import Sender, find_requirement
from feedmill.model.access import AccessFilter
from feedmill.model.authorization import Login
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from feedmill.model.userrole import UserRole

Identify = Callable[[Request], AccessFilter]
"""Returns the classes of documents that the sender of a request may see."""

_KEY: Final = "feedmill.current_user"


class SignInMethod(Enum):
    """The way by which a request was authenticated."""

    NONE = ""
    PROXY = "proxy"
    BASIC = "basic"
    TOKEN = "token"  # noqa: S105 - a word
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentUser:
    """The user of a request. ``role`` is None for an anonymous user; a role alone permits no document.

    ``label`` names a program that is no user. ``login`` holds the credentials of a request that used HTTP Basic.
    """

    identity: Identity = ANONYMOUS_IDENTITY
    role: UserRole | None = None
    method: SignInMethod = SignInMethod.NONE
    label: str = ""
    login: Login | None = field(default=None, repr=False)

    @property
    def is_signed_in(self) -> bool:
        """Returns whether the user is signed in."""
        return self.role is not None


SIGNED_OUT: Final = CurrentUser()
"""The user of a request without authentication."""


def find_current_user(request: Request) -> CurrentUser:
    """Returns the user of a request."""
    current_user = request.scope.get(_KEY)
    return current_user if isinstance(current_user, CurrentUser) else SIGNED_OUT


def set_current_user(scope: Scope, current_user: CurrentUser) -> None:
    """Stores the user of a request in its scope."""
    scope[_KEY] = current_user


class AuthenticationMiddleware:
    """ASGI middleware that finds the user of a request by a trusted proxy's headers alone."""

    def __init__(self, app: ASGIApp, *, proxy: ProxyTrust) -> None:
        self._app = app
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            set_current_user(scope, find_by_proxy(scope, self._proxy))
        await self._app(scope, receive, send)


class RoleCheck:
    """ASGI middleware that refuses users without the role that a route needs. It runs behind the one that finds the user.

    ``challenge`` is the value of ``WWW-Authenticate`` for users who have not signed in, "" for none.
    """

    def __init__(self, app: ASGIApp, *, challenge: str = "") -> None:
        self._app = app
        self._challenge = challenge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and (requirement := find_requirement(scope)).sender is Sender.ROLE:
            role, needed = find_current_user(Request(scope)).role, requirement.role_for(scope["method"])
            if role is None:
                headers = {"www-authenticate": self._challenge} if self._challenge else {}
                app = make_answer(Problem.UNAUTHORIZED, f"sign in as a user with the role {needed.value}", headers)
            elif not role.may_act_as(needed):
                app = make_answer(Problem.FORBIDDEN, f"this needs the role {needed.value}")
        await app(scope, receive, send)


def find_by_proxy(scope: Scope, proxy: ProxyTrust) -> CurrentUser:
    """Returns the user that a trusted proxy names."""
    identity = read_proxy_identity(scope, proxy)
    return CurrentUser(identity=identity, role=UserRole.SEARCHER, method=SignInMethod.PROXY) if identity is not None else SIGNED_OUT
