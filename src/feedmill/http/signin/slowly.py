"""Threads for what signing in waits for (password hashes, directories, other providers), apart from those that searches run in.

Somebody who keeps all of them busy, with a slow directory or a flood of passwords, keeps nobody from searching.
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

_limiter: RunVar[CapacityLimiter] = RunVar("feedmill.signin.limiter")


async def run_slowly(act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs what may take seconds in a thread, a few at once; further ones wait without a thread."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = CapacityLimiter(AT_ONCE)
        _limiter.set(limiter)
    return await anyio.to_thread.run_sync(partial(act, *args, **kwargs), limiter=limiter)
