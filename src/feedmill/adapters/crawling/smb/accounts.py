"""Turns security identifiers into the principals of an ACL, as the JSON of ``X-Gsa-Doc-Controls``.

Names come from the file server, ``DOMAIN\\name``. Those of well-known identifiers are fixed, because servers translate them.
Source: MS-DTYP, 2.4.2.4 (well-known SIDs).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from feedmill.adapters.crawling.smb.descriptors import EVERYONE, Readers
from feedmill.adapters.crawling.smb.rpc import Account

MAX_REMEMBERED: Final = 100_000
LOOKED_UP_AT_ONCE: Final = 50
LIFE_SECONDS: Final = 3_600.0

_USER: Final = 1
_SIGNED_IN: Final = frozenset({EVERYONE, "S-1-5-2", "S-1-5-11", "S-1-5-15"})
"""Everyone, Network, Authenticated Users, This Organization: all who sign in."""
_NO_USER: Final = frozenset(
    {"S-1-0-0", "S-1-3-0", "S-1-3-1", "S-1-3-4", "S-1-5-1", "S-1-5-3", "S-1-5-4", "S-1-5-6", "S-1-5-7", "S-1-5-18", "S-1-5-19", "S-1-5-20"}
)
"""Owners in general, services, and ways to sign in other than over the network: no user of a search is one of these."""

LookUp = Callable[[Sequence[str]], list[Account | None]]
"""Returns the accounts of security identifiers, None for unknown ones."""


class Accounts:
    """The accounts of one file server, as it named them in the last hour."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Account | None]] = {}

    def list_entries(self, readers: Readers, everyone: str, namespace: str, look_up: LookUp) -> list[dict[str, str]]:
        """Returns the entries of an ACL, none if no user may read. A denial that cannot be named is one of everyone.

        Errors: those of ``look_up``.
        """
        sids = [sid for sid in (*readers.permitted, *readers.denied) if sid not in _SIGNED_IN | _NO_USER]
        found = self._find(sids, look_up)
        if any(sid in _SIGNED_IN or (sid not in _NO_USER and found[sid] is None) for sid in readers.denied):
            return []
        entries: dict[tuple[str, ...], dict[str, str]] = {}
        for access, listed in (("permit", readers.permitted), ("deny", readers.denied)):
            for sid in listed:
                account = found.get(sid)
                if sid in _NO_USER or (account is None and access == "permit" and sid not in _SIGNED_IN):
                    continue
                entry = _make_entry(access, account, everyone, namespace)
                entries[tuple(entry.values())] = entry
        return list(entries.values())

    def _find(self, sids: Iterable[str], look_up: LookUp) -> dict[str, Account | None]:
        now = time.monotonic()
        wanted = list(dict.fromkeys(sids))
        missing = [sid for sid in wanted if sid not in self._known or self._known[sid][0] < now - LIFE_SECONDS]
        for begin in range(0, len(missing), LOOKED_UP_AT_ONCE):
            batch = missing[begin : begin + LOOKED_UP_AT_ONCE]
            if len(self._known) + len(batch) > MAX_REMEMBERED:
                self._known = {sid: self._known[sid] for sid in wanted if sid in self._known}
            self._known.update({sid: (now, account) for sid, account in zip(batch, look_up(batch), strict=True)})
        return {sid: self._known[sid][1] for sid in wanted}


def _make_entry(access: str, account: Account | None, everyone: str, namespace: str) -> dict[str, str]:
    if account is None:
        scope, name = "group", everyone
    else:
        scope = "user" if account.kind == _USER else "group"
        name = f"{account.domain}\\{account.name}" if account.domain else account.name
    return {
        "access": access,
        "scope": scope,
        "name": name,
        "namespace": namespace,
        "case_sensitivity_type": "EVERYTHING_CASE_INSENSITIVE",
    }
