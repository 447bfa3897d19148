"""The id of the request that is being handled: log lines, errors and audit entries name it, so that each is found by the others.

It is a context variable, which tasks inherit from the task that starts them. Threads do not, unless ``RequestThreads`` starts their work.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ID: Final[ContextVar[str]] = ContextVar("feedmill.request_id", default="")


def set_request_id(request_id: str) -> None:
    """Sets the id for this task, and what it starts from now on."""
    _ID.set(request_id)


def find_request_id() -> str:
    """Returns the id of the request that is being handled, "" outside of one."""
    return _ID.get()


class RequestThreads(ThreadPoolExecutor):
    """Threads whose work belongs to the request that submits it."""

    def submit(self, act: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs a function in a thread."""
        return super().submit(partial(copy_context().run, act, *args, **kwargs))
