"""The threads that searches run in, since the searcher is synchronous.

They are those of the standard library: to hand a request to a thread of anyio, which Starlette would do, takes five times as long, a
fifth of a millisecond of every search.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Final, ParamSpec, TypeVar

from starlette.requests import Request
from starlette.responses import Response

AT_ONCE: Final = 40

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="search")


async def run_search(act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs what a search takes in a thread; further ones wait for a free one."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(act, *args, **kwargs))


def in_thread(endpoint: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Gives the endpoint that answers as another one does, in a thread."""

    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        return await run_search(endpoint, request)

    return answer
