"""Decides what a token of scope ``push`` may do on the feed port."""

from dataclasses import dataclass
from hmac import compare_digest

from feedmill.model.signin import TokenScope
from feedmill.ports import Clock, Store
from feedmill.services.signin.proofs import digest_of_secret
from feedmill.services.signin.tokencheck import find_token, touch_token


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRight:
    """The right of a request on the feed port. Shape: ``datasources`` is empty if all are allowed."""

    label: str = ""
    datasources: frozenset[str] = frozenset()

    @property
    def is_limited(self) -> bool:
        """Whether only some data sources are allowed."""
        return bool(self.datasources)

    def allows(self, datasource: str) -> bool:
        """Whether a data source, or a group source, is allowed."""
        return not self.datasources or datasource in self.datasources


UNLIMITED = PushRight()
"""The right of a trusted address where no token is required."""


class PushCheck:
    """Checks tokens for the feed port. May be used from several threads.

    ``admin_token`` is the server's own, for commands on this machine; "" for none.
    """

    def __init__(self, store: Store, clock: Clock, admin_token: str = "") -> None:
        self._store = store
        self._clock = clock
        self._admin_digest = digest_of_secret(admin_token) if admin_token else b""

    def find_push_right(self, text: str) -> PushRight | None:
        """Returns the right of a token; None for a token that is unknown, has expired, or has another scope. Errors: Busy."""
        digest = digest_of_secret(text)
        if self._admin_digest and compare_digest(digest, self._admin_digest):
            return PushRight(label="admin.token")
        now = self._clock()
        with self._store.reading() as unit:
            token = find_token(unit, digest, now)
        if token is None or TokenScope.PUSH not in token.scopes:
            return None
        touch_token(self._store, token, now)
        return PushRight(label=f"token {token.label}", datasources=token.datasources)
