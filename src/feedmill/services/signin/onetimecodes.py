"""Passes a credential from one request to a later one of the same browser, once and for a short time.

``use_once`` makes other names count once, such as the ids of assertions.
"""

import json
import secrets
from datetime import datetime, timedelta

from feedmill.core.signin.credentialtext import read_credentials, write_credentials
from feedmill.model.signin import Credential
from feedmill.ports import Clock, Store
from feedmill.services.signin.proofs import digest_of_secret


class OneTimeCodes:
    """One-time values in the store, so that any process may take them. May be used from several threads."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def use_once(self, name: str, until: datetime) -> bool:
        """Marks a name as used until a time. Returns whether it was unused."""
        with self._store.writing() as unit:
            unit.signin.one_time_values.remove_expired(self._clock())
            return unit.signin.one_time_values.put(digest_of_secret(f"used {name}"), "", until)

    def put(self, credential: Credential, in_response_to: str, lasting: timedelta) -> str:
        """Stores a credential with the request that it answers, and returns the code to take it with."""
        code = secrets.token_urlsafe(32)
        value = json.dumps([in_response_to, write_credentials((credential,))])
        with self._store.writing() as unit:
            unit.signin.one_time_values.put(digest_of_secret(f"code {code}"), value, self._clock() + lasting)
        return code

    def take(self, code: str) -> tuple[Credential, str] | None:
        """Returns and removes the value of a code; None if there is none. Errors: Corrupt."""
        with self._store.writing() as unit:
            value = unit.signin.one_time_values.take(digest_of_secret(f"code {code}"), self._clock())
        if value is None:
            return None
        in_response_to, written = json.loads(value)
        return read_credentials(written)[0], in_response_to
