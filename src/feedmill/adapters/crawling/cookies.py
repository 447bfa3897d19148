"""Stores the cookies of servers in memory.

A cookie goes back to the host that set it, or also to hosts below its domain if the host that set it is in that domain and the domain has
more than one label. Source: RFC 6265, 5.
"""

import re
import time
from dataclasses import dataclass
from typing import Final

from feedmill.core.text.dates import parse_date
from feedmill.core.urls.targets import Target
from feedmill.ports.http import HttpResponse

MAX_COOKIES: Final = 3_000
_MAX_CHARACTERS: Final = 4_096

# RFC 6265, 5.2.2
_AGE = re.compile(r"-?[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cookie:
    value: str
    has_domain: bool
    is_secure: bool
    expires_at: float | None

    def is_current(self) -> bool:
        return self.expires_at is None or self.expires_at > time.time()


class CookieJar:
    """Cookies by domain, path and name."""

    def __init__(self) -> None:
        self._cookies: dict[tuple[str, str, str], _Cookie] = {}

    def make_header(self, target: Target) -> str:
        """Returns the value of ``Cookie`` for a request, "" for none. Longer paths come first."""
        found = [
            (path, name, cookie)
            for (domain, path, name), cookie in self._cookies.items()
            if _matches_host(target.host, domain, cookie) and _matches_path(target.path, path) and cookie.is_current()
            if target.is_tls or not cookie.is_secure
        ]
        found.sort(key=lambda each: -len(each[0]))
        return "; ".join(f"{name}={cookie.value}" for _, name, cookie in found)

    def store(self, target: Target, response: HttpResponse) -> None:
        """Stores what a response sets."""
        for name, value in response.headers:
            if name == "set-cookie" and len(value) <= _MAX_CHARACTERS:
                self._store(target, value.decode("latin-1"))

    def clear(self) -> None:
        """Forgets all cookies."""
        self._cookies.clear()

    def _store(self, target: Target, text: str) -> None:
        pair, *rest = text.split(";")
        name, sign, value = (part.strip() for part in pair.partition("="))
        if not sign or not name:
            return
        attributes = {key.strip().lower(): given.strip() for key, _, given in (part.partition("=") for part in rest)}
        domain = attributes.get("domain", "").lstrip(".").lower()
        if domain and domain != target.host and not ("." in domain and target.host.endswith("." + domain)):
            return
        path = attributes.get("path", "")
        path = path if path.startswith("/") else target.path.partition("?")[0].rpartition("/")[0] or "/"
        cookie = _Cookie(value=value, has_domain=bool(domain), is_secure="secure" in attributes, expires_at=_find_expiry(attributes))
        key = (domain or target.host, path, name)
        self._cookies.pop(key, None)
        if cookie.is_current():
            self._cookies[key] = cookie
        while len(self._cookies) > MAX_COOKIES:
            del self._cookies[next(iter(self._cookies))]


def _matches_host(host: str, domain: str, cookie: _Cookie) -> bool:
    return host == domain or (cookie.has_domain and host.endswith("." + domain))


def _matches_path(request: str, path: str) -> bool:
    request = request.partition("?")[0]
    return request == path or (request.startswith(path) and (path.endswith("/") or request[len(path)] == "/"))


def _find_expiry(attributes: dict[str, str]) -> float | None:
    age = attributes.get("max-age", "")
    if _AGE.fullmatch(age):
        return time.time() + int(age)
    until = parse_date(attributes.get("expires", ""))
    return None if until is None else until.timestamp()
