"""The state of a sign-in at another provider, in a signed cookie of some minutes, so that the server stores nothing for strangers.

A provider's response counts only for the browser that began the attempt: it must match the cookie.
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
    """Stores attempts in cookies; ``key`` is the server's signing key."""

    def __init__(self, key: bytes, cookies: Cookies, clock: Callable[[], datetime]) -> None:
        self._key = key
        self._cookies = cookies
        self._clock = clock

    def begin(self, response: Response, scope: Scope, provider: str, flow: Mapping[str, str]) -> None:
        """Stores an attempt at a provider, in place of an earlier one."""
        until = int(self._clock().timestamp()) + FLOW_SECONDS
        raw = json.dumps({"provider": provider, "until": until, **flow}).encode()
        body = base64.urlsafe_b64encode(raw).decode().rstrip("=")  # a cookie with padding would need quotes
        self._cookies.put(response, scope, FLOW, f"{body}.{self._sign(body)}", seconds=FLOW_SECONDS)

    def find_flow(self, scope: Scope, provider: str) -> Mapping[str, str] | None:
        """Returns the browser's attempt at a provider; None if there is none or it has expired."""
        body, _, signature = self._cookies.read(scope, FLOW).partition(".")
        if not hmac.compare_digest(self._sign(body).encode(), signature.encode("utf-8", "replace")):
            return None
        held = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        # Otherwise one provider could answer an attempt at another one (RFC 9700, 4.4, "Mix-Up Attacks").
        if held["provider"] != provider or held["until"] <= self._clock().timestamp():
            return None
        return {name: str(value) for name, value in held.items()}

    def end(self, response: Response, scope: Scope) -> None:
        """Deletes the attempt."""
        self._cookies.drop(response, scope, FLOW)

    def _sign(self, body: str) -> str:
        # The word separates this use of the key from others: the code of a form is no signature of an attempt.
        return hmac.new(self._key, f"flow={body}".encode("utf-8", "replace"), sha256).hexdigest()
