"""The cookies of signing in: for the session, for the form, and for a sign-in that is in progress at a provider.

Scripts cannot read them. Browsers do not send them with requests that another site begins, except for links. Over TLS they are
sent over TLS alone, and their names begin with ``__Host-``, so that neither a neighbouring host nor plain HTTP can set one.
Source: RFC 6265bis, sections 4.1.2 and 4.1.3.
"""

from typing import Final

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import Scope

SESSION: Final = "GSA_SESSION_ID"
"""The name that the old appliance's clients know."""

FORM: Final = "feedmill_form"
FLOW: Final = "feedmill_flow"
_PREFIX: Final = "__Host-"
MAX_COOKIE: Final = 4_000


class Cookies:
    """Reads and sets cookies. ``always_secure`` is for a proxy that ends TLS in front of this server, as an https public URL shows."""

    def __init__(self, *, always_secure: bool) -> None:
        self._always_secure = always_secure

    def read(self, scope: Scope, name: str) -> str:
        """Returns a cookie, "" if it is missing or repeated."""
        wanted = self._name(scope, name)
        # Part by part, because the parser of a whole line returns only one of several cookies with the same name.
        pairs = [
            value
            for line in Headers(scope=scope).getlist("cookie")
            for part in line.split(";")
            for key, value in cookie_parser(part).items()
            if key == wanted
        ]
        # Of two cookies with one name, another host may have planted one. Neither counts.
        return pairs[0] if len(pairs) == 1 and len(pairs[0]) <= MAX_COOKIE else ""

    def put(self, response: Response, scope: Scope, name: str, value: str, *, seconds: int | None = None) -> None:
        """Sets a cookie; without ``seconds`` it ends with the browser."""
        response.set_cookie(
            self._name(scope, name), value, max_age=seconds, path="/", secure=self._is_secure(scope), httponly=True, samesite="lax"
        )

    def drop(self, response: Response, scope: Scope, name: str) -> None:
        """Deletes a cookie in the browser."""
        response.delete_cookie(self._name(scope, name), path="/", secure=self._is_secure(scope), httponly=True, samesite="lax")

    def _name(self, scope: Scope, name: str) -> str:
        # Browsers accept the prefix only with ``Secure``, so over plain HTTP the name has none.
        return _PREFIX + name if self._is_secure(scope) else name

    def _is_secure(self, scope: Scope) -> bool:
        return self._always_secure or scope.get("scheme") == "https"
