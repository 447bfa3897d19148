"""For a document that the user may not see the store is asked exactly what it is asked for one that does not exist."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from searchhouse import ANN, FOR_ANN, SearchHouse, open_house

from feedmill.core.urldigest import digest_of_url
from feedmill.model.access import Access, Acl, Entry, Principal, Scope
from feedmill.model.errors import NotFound
from feedmill.ports import UnitOfWork
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.searching.searcher import Searcher

FOR_BOB = Acl(entries=(Entry(access=Access.PERMIT, principal=Principal(scope=Scope.USER, name="bob")),))


@pytest.fixture
def house(tmp_path: Path) -> SearchHouse:
    made = open_house(tmp_path)
    documents = [made.make(f"http://{kind}.test/{number}", "text") for kind in ("open", "hidden", "hers") for number in range(5)]
    acls = {f"http://{kind}.test/{number}": acl for kind, acl in (("hidden", FOR_BOB), ("hers", FOR_ANN)) for number in range(5)}
    made.add(documents, acls=acls)
    return made


def asked_of(house: SearchHouse, ask: Callable[[Searcher], object]) -> list[str]:
    """Gives the queries that reach the database, without their values."""
    seen: list[str] = []
    reading = house.store.reading

    @contextmanager
    def traced() -> Any:
        with reading() as unit:
            connection = find_connection(unit)
            connection.set_trace_callback(seen.append)
            try:
                yield unit
            finally:
                connection.set_trace_callback(None)

    searcher = house.searcher()
    searcher.classes_of(ANN)
    house.store.reading = traced  # type: ignore[method-assign]
    try:
        with pytest.raises(NotFound):
            ask(searcher)
    finally:
        house.store.reading = reading  # type: ignore[method-assign]
    return [re.sub("x'[0-9a-f]*'", "?", text) for text in seen]


def find_connection(unit: UnitOfWork) -> sqlite3.Connection:
    """Gives the driver's connection of a unit of work."""
    connection = unit.documents._connection.connection.driver_connection  # type: ignore[attr-defined]
    assert isinstance(connection, sqlite3.Connection)
    return connection


def test_get_document_asks_the_same_for_both(house: SearchHouse) -> None:
    def get(url: str) -> list[str]:
        return asked_of(house, lambda searcher: searcher.get_document(url, searcher.classes_of(ANN)))

    hidden = get("http://hidden.test/1")
    assert hidden == get("http://none.test/1")
    assert any("documents" in text for text in hidden)


def test_cached_copies_ask_the_same_for_both(house: SearchHouse) -> None:
    def copy(url: str) -> list[str]:
        def ask(searcher: Searcher) -> object:
            copies = CachedCopies(searcher, house.blobs)
            return copies.get([url], "", searcher.classes_of(ANN), digest_of_url(url)[:9])

        return asked_of(house, ask)

    assert copy("http://hidden.test/1") == copy("http://none.test/1")


def test_what_the_user_may_see_is_found(house: SearchHouse) -> None:
    searcher = house.searcher()
    for url in ("http://open.test/1", "http://hers.test/1"):
        assert searcher.get_document(url, searcher.classes_of(ANN)).document.url == url
