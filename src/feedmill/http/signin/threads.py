"""Threads for what signing in waits for (password hashes, directories, other providers), apart from those that searches run in.

Somebody who keeps all of them busy, with a slow directory or a flood of passwords, keeps nobody from searching. Each provider that browsers
are sent to has threads of its own, so that one that is slow keeps nobody from signing in by another way.
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
    """Runs what may take seconds in a thread, a few at once; further ones wait without a thread."""
    return await _run("", partial(act, *args, **kwargs))


async def run_for_provider(provider: str, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Does the same in the threads of one of the providers that the settings name."""
    return await _run(provider, partial(act, *args, **kwargs))


async def _run(lane: str, act: Callable[[], T]) -> T:
    try:
        limiters = _limiters.get()
    except LookupError:
        limiters = {}
        _limiters.set(limiters)
    limiter = limiters.setdefault(lane, CapacityLimiter(AT_ONCE))
    return await anyio.to_thread.run_sync(act, limiter=limiter)
