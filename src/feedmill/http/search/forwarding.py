"""Reads the cookies of a request that prove its user to other servers, such as the ``LtpaToken2`` of a single sign-on domain."""

from collections.abc import Set
from dataclasses import replace
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Scope

from feedmill.model.authorization import Login

MAX_CHARACTERS: Final = 8_000


def add_cookies(login: Login | None, scope: Scope, names: Set[str]) -> Login | None:
    """Returns what proves the user, with the cookies of these names as they were sent. One that is repeated or too long is left out."""
    found: dict[str, list[str]] = {}
    wanted = {name.lower() for name in names}
    for line in Headers(scope=scope).getlist("cookie") if wanted else ():
        for part in line.split(";"):
            name, sign, value = part.strip().partition("=")
            if sign and name.lower() in wanted:
                found.setdefault(name, []).append(value)
    # Of two cookies with one name, another host may have planted one. Neither counts.
    cookies = tuple((name, values[0]) for name, values in found.items() if len(values) == 1 and len(values[0]) <= MAX_CHARACTERS)
    return replace(login or Login(), cookies=cookies) if cookies else login
