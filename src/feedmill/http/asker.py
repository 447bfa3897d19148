"""Who sends a request: worked out once, before the request is handled, and kept with it.

``find_asker`` gives whom ``AskerCheck`` found. A request that no ``AskerCheck`` has seen comes from nobody, so an application that forgets
it shows public documents only.
"""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.proxyheaders import ProxyTrust, read_proxy_identity
from feedmill.model.identity import NOBODY, Identity
from feedmill.model.role import Role

_KEY: Final = "feedmill.asker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Whoever sends a request. ``role`` is None for who is not signed in; a role alone permits no document."""

    identity: Identity = NOBODY
    role: Role | None = None

    @property
    def is_signed_in(self) -> bool:
        """Whether the asker proved to be somebody."""
        return self.role is not None


SIGNED_OUT: Final = Asker()
"""Who is not signed in."""


def find_asker(request: Request) -> Asker:
    """Gives who sends a request."""
    asker = request.scope.get(_KEY)
    return asker if isinstance(asker, Asker) else SIGNED_OUT


class AskerCheck:
    """ASGI middleware that finds out who sends a request."""

    def __init__(self, app: ASGIApp, *, proxy: ProxyTrust) -> None:
        self._app = app
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on with its asker."""
        if scope["type"] == "http":
            scope[_KEY] = self._find(scope)
        await self._app(scope, receive, send)

    def _find(self, scope: Scope) -> Asker:
        identity = read_proxy_identity(scope, self._proxy)
        return Asker(identity=identity, role=Role.SEARCHER) if identity is not None else SIGNED_OUT
