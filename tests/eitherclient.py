"""The objects of ``feedmill_client`` of both kinds, which tests call alike."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from feedmill_client import (
    Administration,
    AsyncAdministration,
    AsyncClient,
    AsyncPort,
    AsyncSeedlistReader,
    Client,
    Options,
    Port,
    Retries,
    SeedlistReader,
    Timeouts,
)

KINDS = pytest.mark.parametrize("kind", ["blocking", "asyncio"])
CLASSES: dict[str, tuple[type[Any], type[Any]]] = {
    "Client": (Client, AsyncClient),
    "Administration": (Administration, AsyncAdministration),
    "Port": (Port, AsyncPort),
    "SeedlistReader": (SeedlistReader, AsyncSeedlistReader),
}
QUICK = Options(
    timeouts=Timeouts(connect_seconds=30, silence_seconds=30, answer_seconds=30),
    retries=Retries(attempts=3, first_seconds=0.001, longest_seconds=0.002, total_seconds=30),
)


class Either:
    """A client of one kind, whose methods tests call alike: they return what they return, those that yield items return a list."""

    def __init__(self, kind: str, name: str, *args: Any, **given: Any) -> None:
        self._runner = asyncio.Runner()
        self._client = CLASSES[name][kind == "asyncio"](*args, **given)

    def __enter__(self) -> "Either":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._runner.close()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return partial(self._call, found) if callable(found) else found

    def _call(self, method: Callable[..., Any], *args: Any, **given: Any) -> Any:
        result = method(*args, **given)
        if inspect.isasyncgen(result):
            return self._runner.run(_list_all(result))
        if inspect.isgenerator(result):
            return list(result)
        return self._runner.run(result) if inspect.iscoroutine(result) else result


async def _list_all(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]
