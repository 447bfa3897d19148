"""Checks that the names of other servers in the settings resolve."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from feedmill.adapters.http.lookup import look_up
from feedmill.core.urls.hostnames import is_address
from feedmill.model.errors import UpstreamFailure
from feedmill.runtime.doctor.findings import Finding, State
from feedmill.settings import Settings, dotted
from feedmill.settings.keypaths import KeyPath

PATIENCE_SECONDS: Final = 5.0
MAX_NAMES: Final = 50
"""No more names are looked up; the rest are not checked."""

_KEYS: Final = frozenset("url urls endpoint issuer public_url login_url form_action token_url dsn start".split())
"""The keys that hold addresses of servers."""

_FOR_BROWSERS: Final = ("signin", "public_url")
"""The own name, which browsers must resolve and this machine need not."""

_FOR_READERS: Final = frozenset({"frontends"})
"""The tables whose addresses only readers of the pages follow."""


def check_names(settings: Settings) -> Iterator[Finding]:
    """Looks each name up once, all of them within a few seconds."""
    names = _find_names(settings)
    checked = dict(list(names.items())[:MAX_NAMES])
    failures = asyncio.run(_look_up_all(checked))
    for name, (worst, reason) in failures.items():
        text = f"'{name}' ({dotted(checked[name])}) does not resolve: {reason}"
        state = State.WARNING if checked[name] == _FOR_BROWSERS else worst
        yield Finding("name", state, f"{text}; correct the name, or the resolver of this machine (/etc/resolv.conf)")
    if names and not failures:
        others = len(names) - len(checked)
        rest = f"; {others} more are not checked" if others else ""
        yield Finding("name", State.OK, f"the names in the settings resolve: {', '.join(checked)}{rest}")


def _find_names(settings: Settings) -> Mapping[str, KeyPath]:
    """Returns the host of every address in the settings that has a name, with the path of its first key."""
    found: dict[str, KeyPath] = {}
    for path, text in _walk(settings.model_dump(exclude=set(_FOR_READERS)), ()):
        if next((part for part in reversed(path) if isinstance(part, str)), "") in _KEYS and (host := _find_host(text)):
            found.setdefault(host, path)
    return found


def _walk(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk(inner, (*path, key))
    elif isinstance(value, tuple | list):
        for place, inner in enumerate(value):
            yield from _walk(inner, (*path, place))


def _find_host(text: str) -> str:
    try:
        host = urlsplit(text).hostname or ""
    except ValueError:
        return ""
    return "" if is_address(host) else host


async def _look_up_all(names: Mapping[str, KeyPath]) -> dict[str, tuple[State, str]]:
    """Returns the names that do not resolve, each with a state and a reason."""
    found = await asyncio.gather(*(_look_up(name) for name in names))
    return {name: failure for name, failure in zip(names, found, strict=True) if failure is not None}


async def _look_up(name: str) -> tuple[State, str] | None:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await look_up(name, 0)
    except TimeoutError:
        return State.WARNING, f"no answer within {PATIENCE_SECONDS:.0f} s"
    except OSError as exc:
        return State.FAULT, exc.strerror or str(exc)
    except (UnicodeError, UpstreamFailure) as exc:
        return State.FAULT, str(exc)
    return None
