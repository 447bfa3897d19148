"""Who sends a request: worked out once, before the request is handled, and kept with it.

``find_current_user`` returns the user that ``AuthenticationMiddleware`` found. Without that middleware every request is anonymous, so an
application that forgets it shows public documents only.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.common.proxyheaders import ProxyTrust, read_proxy_identity
from feedmill.model.authorization import Login
from feedmill.model.identity import NOBODY, Identity
from feedmill.model.role import Role

_KEY: Final = "feedmill.asker"


class Way(Enum):
    """By what a request says whom it is from."""

    NONE = ""
    PROXY = "proxy"
    BASIC = "basic"
    TOKEN = "token"  # noqa: S105 - a word
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentUser:
    """Whoever sends a request. ``role`` is None for who is not signed in; a role alone permits no document.

    ``label`` names a program that is no user. ``login`` is what the request proved him by where it was HTTP Basic.
    """

    identity: Identity = NOBODY
    role: Role | None = None
    way: Way = Way.NONE
    label: str = ""
    login: Login | None = field(default=None, repr=False)

    @property
    def is_signed_in(self) -> bool:
        """Whether the asker proved to be somebody."""
        return self.role is not None


SIGNED_OUT: Final = CurrentUser()
"""Who is not signed in."""


def find_current_user(request: Request) -> CurrentUser:
    """Returns who sends a request."""
    current_user = request.scope.get(_KEY)
    return current_user if isinstance(current_user, CurrentUser) else SIGNED_OUT


def set_current_user(scope: Scope, current_user: CurrentUser) -> None:
    """Keeps with a request who sends it."""
    scope[_KEY] = current_user


class AuthenticationMiddleware:
    """ASGI middleware that finds out who sends a request; by a trusted proxy's headers alone."""

    def __init__(self, app: ASGIApp, *, proxy: ProxyTrust) -> None:
        self._app = app
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on with its asker."""
        if scope["type"] == "http":
            set_current_user(scope, find_by_proxy(scope, self._proxy))
        await self._app(scope, receive, send)


def find_by_proxy(scope: Scope, proxy: ProxyTrust) -> CurrentUser:
    """Returns whom a trusted proxy names."""
    identity = read_proxy_identity(scope, proxy)
    return CurrentUser(identity=identity, role=Role.SEARCHER, way=Way.PROXY) if identity is not None else SIGNED_OUT
