"""Gives the methods of clients the names, the documentation and the parameters of the operations that they run."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, get_args, get_origin

from feedmill_client._flows import Item

C = TypeVar("C")
O_co = TypeVar("O_co", covariant=True)


class Holds(Protocol[O_co]):
    """An object with the state that operations work on."""

    @property
    def _core(self) -> O_co: ...


def imitate(method: C, operation: Callable[..., Any], iterator: Any = None) -> C:
    """Returns ``method`` with the name, documentation and signature of an operation, as ``help`` shows them.

    ``iterator`` is the type of iterators that the method returns, None if it returns the result of a flow.
    """
    signature = inspect.signature(operation)
    _, *parameters = signature.parameters.values()
    yielded, _, result = get_args(signature.return_annotation)
    if iterator is not None:
        (item,) = (get_args(kind)[0] for kind in get_args(yielded) if get_origin(kind) is Item)
        result = iterator[item]
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    shown = signature.replace(parameters=[own, *parameters], return_annotation=result)
    for name, value in {"__name__": operation.__name__, "__qualname__": operation.__name__, "__doc__": operation.__doc__}.items():
        setattr(method, name, value)
    setattr(method, "__signature__", shown)  # noqa: B010 - mypy knows no such attribute
    return method
