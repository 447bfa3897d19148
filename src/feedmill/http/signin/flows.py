"""What a browser keeps while it is at another provider: a signed cookie of some minutes, so that the server keeps nothing for strangers.

The answer that comes back counts for the browser that began the attempt alone: it must fit what the cookie holds.
"""

import base64
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256

from starlette.responses import Response
from starlette.types import Scope

from feedmill.http.signin.cookies import FLOW, Cookies

FLOW_SECONDS = 600


class Flows:
    """Keeps attempts in cookies; ``key`` is the server's own."""

    def __init__(self, key: bytes, cookies: Cookies, clock: Callable[[], datetime]) -> None:
        self._key = key
        self._cookies = cookies
        self._clock = clock

    def begin(self, response: Response, scope: Scope, provider: str, kept: Mapping[str, str]) -> None:
        """Keeps an attempt at a provider, in place of an earlier one."""
        until = int(self._clock().timestamp()) + FLOW_SECONDS
        raw = json.dumps({"provider": provider, "until": until, **kept}).encode()
        body = base64.urlsafe_b64encode(raw).decode().rstrip("=")  # which a cookie would have to quote
        self._cookies.put(response, scope, FLOW, f"{body}.{self._sign(body)}", seconds=FLOW_SECONDS)

    def find(self, scope: Scope, provider: str) -> Mapping[str, str] | None:
        """Finds the attempt at a provider that the browser is in; None where there is none, or none any more."""
        body, _, signature = self._cookies.read(scope, FLOW).partition(".")
        if not hmac.compare_digest(self._sign(body).encode(), signature.encode("utf-8", "replace")):
            return None
        held = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if held["provider"] != provider or held["until"] <= self._clock().timestamp():
            return None
        return {name: str(value) for name, value in held.items()}

    def end(self, response: Response, scope: Scope) -> None:
        """Forgets the attempt."""
        self._cookies.drop(response, scope, FLOW)

    def _sign(self, body: str) -> str:
        return hmac.new(self._key, f"flow={body}".encode("utf-8", "replace"), sha256).hexdigest()
