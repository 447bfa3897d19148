"""The discovery document of an OpenID Connect provider: its addresses and its keys.

It is read on first use and cached for an hour. While the provider returns nothing usable, concurrent calls fail at once instead of waiting
for it one after the other.
Source: OpenID Connect Discovery 1.0, 4.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from feedmill.adapters.identity.jsonhttp import JsonClient, check_safe_url
from feedmill.adapters.identity.oidc.keys import TokenKeys
from feedmill.model.errors import BadRequest, Busy, Denied

CACHE_SECONDS = 3_600.0
KEYS_AGAIN_SECONDS = 60.0
"""The shortest interval at which unauthenticated requests can make this server reload the provider's keys."""
TROUBLE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """The content of a provider's discovery document."""

    about: Mapping[str, Any]
    keys: TokenKeys
    at_seconds: float

    def address(self, name: str) -> str:
        """Returns one of the provider's addresses. Errors: Busy."""
        return _address(self.about, name)

    def has(self, name: str) -> bool:
        """Returns whether the provider names an address."""
        return isinstance(self.about.get(name), str)


class Discovery:
    """Reads the discovery document of one provider. Several threads may use it. Errors of all: Busy."""

    def __init__(self, issuer: str, client: JsonClient, clock: Callable[[], datetime]) -> None:
        self._issuer = issuer
        self._client = client
        self._clock = clock
        self._known: ProviderMetadata | None = None
        self._doubted_at = float("-inf")
        self._trouble = ("", float("-inf"))
        self._lock = threading.Lock()

    def learn(self) -> ProviderMetadata:
        """Returns the cached document, or reads it if it is missing or too old."""
        with self._lock:
            now = self._now()
            if self._known is not None and 0 <= now - self._known.at_seconds < CACHE_SECONDS:
                return self._known
            return self._ask(now)

    def learn_anew(self, known: ProviderMetadata, *, is_of_strangers: bool) -> ProviderMetadata:
        """Reads the document again because the cached one does not match. Unauthenticated requests cause this only rarely."""
        with self._lock:
            now = self._now()
            # Another thread has read it meanwhile.
            if self._known is not None and self._known is not known:
                return self._known
            if is_of_strangers:
                if 0 <= now - self._doubted_at < KEYS_AGAIN_SECONDS:
                    return known
                self._doubted_at = now
            return self._ask(now)

    def _now(self) -> float:
        return self._clock().timestamp()

    def _ask(self, now: float) -> ProviderMetadata:
        reason, until = self._trouble
        if now < until <= now + TROUBLE_SECONDS:
            raise Busy(reason)
        try:
            self._known = self._read_metadata(now)
        except Busy as exc:
            self._trouble = (str(exc), self._now() + TROUBLE_SECONDS)
            raise
        return self._known

    def _read_metadata(self, now: float) -> ProviderMetadata:
        try:
            about = self._client.get(self._issuer.rstrip("/") + "/.well-known/openid-configuration")
            # OpenID Connect Discovery, 4.3: must be exactly the issuer by which it was found.
            if about.get("issuer") != self._issuer:
                raise Busy(f"the provider calls itself {str(about.get('issuer'))[:200]!a}, not {self._issuer!a}")
            keys = TokenKeys(self._client.get(_address(about, "jwks_uri")))
        except Denied as exc:
            raise Busy(f"the provider does not say what it is: {exc}") from exc
        except ValueError as exc:
            raise Busy(f"the provider's keys cannot be used: {exc}") from exc
        return ProviderMetadata(about, keys, now)


def _address(about: Mapping[str, Any], name: str) -> str:
    try:
        return check_safe_url(str(about.get(name)))
    except BadRequest as exc:
        raise Busy(f"the provider names no {name} to use: {exc}") from exc
