"""Threads for the slow parts of signing in (password hashes, directories, other providers), apart from those that run searches.

A slow directory, or a flood of passwords, may occupy all of them without a delay to searches. Each provider to which browsers are
redirected has threads of its own, so a slow provider does not delay other ways to sign in.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

AT_ONCE: Final = 12

P = ParamSpec("P")
T = TypeVar("T")

_limiters: RunVar[dict[str, CapacityLimiter]] = RunVar("feedmill.signin.limiters")


async def run_slowly(act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a function that may take seconds in a thread, a few at once; further calls wait without a thread."""
    return await _run_in_lane("", partial(act, *args, **kwargs))


async def run_for_provider(provider: str, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Does the same in the threads of one configured provider."""
    return await _run_in_lane(provider, partial(act, *args, **kwargs))


async def _run_in_lane(lane: str, act: Callable[[], T]) -> T:
    try:
        limiters = _limiters.get()
    except LookupError:
        limiters = {}
        _limiters.set(limiters)
    limiter = limiters.setdefault(lane, CapacityLimiter(AT_ONCE))
    return await anyio.to_thread.run_sync(act, limiter=limiter)
