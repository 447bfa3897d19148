"""The client as type checkers and ``help`` see it: both kinds have the same methods, with the types of their results."""

import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, assert_type

import pytest

from feedmill_client import (
    AsyncClient,
    AsyncSeedlistReader,
    Client,
    Diagnosis,
    Receipt,
    ResultShown,
    SearchAnswer,
    SeedlistItem,
    SeedlistReader,
)
from feedmill_client.asyncclients import AsyncAdministration
from tests.eitherclient import CLASSES


def check_types_of_blocking(client: Client, reader: SeedlistReader) -> None:
    """Is not run: mypy checks it."""
    assert_type(client.search("x", facets=["a"], sort="date:D"), SearchAnswer)
    assert_type(client.iter_results("x"), Iterator[ResultShown])
    assert_type(client.push(Path("feed.xml"), datasource="d"), str)
    assert_type(client.wait("7", timeout_seconds=1.0), Receipt)
    assert_type(reader.iter_items(), Iterator[SeedlistItem])
    client.push(Path("feed.xml"))  # type: ignore[call-arg]
    client.search(1)  # type: ignore[arg-type]


async def check_types_of_asyncio(client: AsyncClient, administration: AsyncAdministration, reader: AsyncSeedlistReader) -> None:
    """Is not run: mypy checks it."""
    assert_type(await client.search("x", facets=["a"], sort="date:D"), SearchAnswer)
    assert_type(client.iter_results("x"), AsyncIterator[ResultShown])
    assert_type(await client.wait("7", timeout_seconds=1.0), Receipt)
    assert_type(await administration.why("http://a.test/"), Diagnosis)
    assert_type(reader.iter_items(), AsyncIterator[SeedlistItem])
    await client.push(Path("feed.xml"))  # type: ignore[call-arg]


def list_methods(kind: type[Any]) -> dict[str, Any]:
    return {name: method for name, method in inspect.getmembers(kind, callable) if not name.startswith("_")}


@pytest.mark.parametrize("name", CLASSES)
def test_both_kinds_have_the_same_methods(name: str) -> None:
    blocking, asynchronous = (list_methods(kind) for kind in CLASSES[name])
    assert list(blocking) == list(asynchronous)
    assert inspect.signature(CLASSES[name][0]) == inspect.signature(CLASSES[name][1])
    for each, method in blocking.items():
        assert method.__doc__ == asynchronous[each].__doc__
        assert inspect.signature(method).parameters == inspect.signature(asynchronous[each]).parameters


def test_help_shows_parameters_and_results() -> None:
    search, listing = inspect.signature(Client.search), inspect.signature(Client.iter_results)
    assert list(search.parameters)[:3] == ["self", "query", "start"]
    assert search.return_annotation is SearchAnswer
    assert listing.return_annotation == Iterator[ResultShown]
    assert inspect.signature(AsyncClient.iter_results).return_annotation == AsyncIterator[ResultShown]
    assert Client.search.__name__ == "search"
