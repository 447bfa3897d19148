"""A search whose user's groups and classes are not known in time shows public documents alone, and says so."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from feedmill.http.common.searchthreads import SearchBounds, find_deadline
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import ANONYMOUS, Acl, Scope
from feedmill.model.errors import OutOfTime
from feedmill.ports import UnitOfWork
from feedmill.services.access.permissioncache import PermissionCache
from feedmill.services.deadline import Deadline
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.searching.searchservices import SearchServices
from tests.builders.access import ANN, FOR_ANN, acl, group_principal, permit, user_principal
from tests.builders.groups import define_group, publish_groups
from tests.contract.searchharness import SearchHarness, ask, open_harness
from tests.contract.test_search_deadline import Caller
from tests.waiting import wait_for, wait_until

STAFF = group_principal("staff")
FOR_STAFF = acl(permit("staff", scope=Scope.GROUP))
HERS, STAFFS, OPEN = "http://hers.test/", "http://staff.test/", "http://open.test/"


class SlowGroups:
    """Groups of a real store that are read only once they are let go. Shape: ``waits`` counts who waited or waits."""

    def __init__(self, harness: SearchHarness) -> None:
        self.waits = self.read = 0
        self.let_go = threading.Event()
        reading = harness.store.reading

        @contextmanager
        def slowly() -> Iterator[Any]:
            with reading() as unit:
                yield _Slow(unit, groups=_Slow(unit.groups, snapshots=_Slow(unit.groups.snapshots, list_visible=lambda: self._wait(unit))))

        harness.store.reading = slowly  # type: ignore[method-assign]

    def _wait(self, unit: UnitOfWork) -> dict[int, str]:
        self.waits += 1
        assert self.let_go.wait(180)
        self.read += 1
        return unit.groups.snapshots.list_visible()


class Readings:
    """Counts the reading transactions of a real store."""

    def __init__(self, harness: SearchHarness) -> None:
        self.count = 0
        reading = harness.store.reading

        @contextmanager
        def counted() -> Iterator[UnitOfWork]:
            self.count += 1
            with reading() as unit:
                yield unit

        harness.store.reading = counted  # type: ignore[method-assign]


class _Slow:
    """Something real of which some attributes are replaced."""

    def __init__(self, real: object, **replaced: object) -> None:
        self._real, self._replaced = real, replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced.get(name) or getattr(self._real, name)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    made.add([made.make(url, "needle", title="needle") for url in (OPEN, HERS, STAFFS)], acls={HERS: FOR_ANN, STAFFS: FOR_STAFF})
    publish_groups(made.store, 1, define_group("staff", user_principal("ann")))
    yield made
    made.store.close()


@pytest.fixture
def slow(harness: SearchHarness) -> Iterator[SlowGroups]:
    made = SlowGroups(harness)
    yield made
    made.let_go.set()


def bounded(harness: SearchHarness, services: SearchServices, seconds: float) -> ASGIApp:
    site = SearchSite(
        identify=lambda request: services.filters.find_filter(ANN, deadline=find_deadline(request)),
        copies=CachedCopies(services.documents, harness.blobs, services.states),
        bounds=SearchBounds(deadline_seconds=seconds),
    )
    return search_app(services, site)


def urls(app: ASGIApp) -> list[str]:
    return sorted(result["url"] for result in ask(app, "/api/v1/search", "q=needle").json["results"])


def test_groups_that_are_not_read_in_time_leave_public_documents_and_a_warning(harness: SearchHarness, slow: SlowGroups) -> None:
    services = harness.services()
    app = bounded(harness, services, 1.0)
    body = ask(app, "/api/v1/search", "q=needle").json
    assert ([result["url"] for result in body["results"]], body["total"], body["exact"]) == ([OPEN], 1, False)
    assert body["warnings"] == ["the deadline of 1 seconds left no time to find out what you may see; only public documents are shown"]
    xml = ask(app, "/search", "q=needle&access=a").text
    assert "<CT>the deadline of 1 seconds left no time" in xml
    assert (OPEN in xml, HERS in xml) == (True, False)
    assert HERS not in ask(app, "/search", "q=needle&access=s").text
    assert ask(app, "/suggest", "token=need&access=s").json == []
    assert ask(app, "/cluster", "q=needle&access=s").json["documents"] == []
    # what was begun for the first is there for the next
    slow.let_go.set()
    wait_for([HERS, OPEN, STAFFS], lambda: urls(app))
    assert ask(app, "/api/v1/search", "q=needle").json["warnings"] == []


def test_document_of_which_nothing_is_known_in_time_is_neither_shown_nor_denied(harness: SearchHarness, slow: SlowGroups) -> None:
    app = bounded(harness, harness.services(), 0.2)
    for path in ("/api/v1/documents", "/cache"):
        assert [ask(app, path, f"url={url}").status for url in (OPEN, HERS, "http://none.test/")] == [200, 503, 503]
    slow.let_go.set()
    wait_for([200, 200, 404], lambda: [ask(app, "/cache", f"url={url}").status for url in (OPEN, HERS, "http://none.test/")])


def test_search_whose_client_is_gone_does_not_wait_for_groups(harness: SearchHarness, slow: SlowGroups) -> None:
    async def act() -> None:
        caller = Caller(bounded(harness, harness.services(), 600), "/api/v1/search", "q=needle")
        running = asyncio.create_task(caller.call())
        await asyncio.to_thread(wait_until, lambda: slow.waits)
        caller.is_gone.set()
        await asyncio.wait_for(running, 180)
        assert not slow.read

    asyncio.run(act())


def test_groups_that_change_while_results_are_made_leave_public_results(harness: SearchHarness) -> None:
    services = harness.services()
    access = services.filters.find_filter(ANN)
    with harness.store.reading() as unit:
        documents = unit.documents.reader.find_many([OPEN, HERS]).values()
        keys = [document.id or 0 for document in documents]
    assert len(services.documents.list_visible(keys, access, deadline=Deadline(60))) == 2
    publish_groups(harness.store, 2, define_group("others", STAFF), source="others")
    slow, deadline = SlowGroups(harness), Deadline(0.2)
    refreshing = threading.Thread(target=services.permissions.load)
    refreshing.start()
    wait_until(lambda: slow.waits)
    assert [document.url for document in services.documents.list_visible(keys, access, deadline=deadline)] == [OPEN]
    assert deadline.is_cut
    slow.let_go.set()
    refreshing.join()
    assert len(services.documents.list_visible(keys, access, deadline=Deadline(60))) == 2


def test_many_groups_and_classes_are_taken_up_by_later_requests(harness: SearchHarness) -> None:
    names = [f"group{number}" for number in range(5_000)]
    publish_groups(harness.store, 2, *(define_group(name, STAFF, user_principal(f"user{name}")) for name in names), source="others")
    many = (Acl(entries=(permit(name, scope=Scope.GROUP),)) for name in names)
    harness.add([], acls={f"http://many.test/{number}": acl for number, acl in enumerate(many)})
    directory = PermissionCache(harness.store)
    with pytest.raises(OutOfTime):
        directory.classes_of(ANN, Deadline(0.0))
    with pytest.raises(OutOfTime):
        directory.undecided(Deadline(0.0))
    whole = directory.classes_of(ANN, Deadline(180))
    assert len(whole.permitted) >= len(names)
    assert whole == PermissionCache(harness.store).classes_of(ANN)
    # what is known is given at once, however little time there is
    assert directory.classes_of(ANN, Deadline(0.0)) == whole
    services = harness.services()
    short = Deadline(0.0)
    assert services.filters.find_filter(ANN, deadline=short) == ANONYMOUS
    assert short.is_public_only


def test_call_that_finds_its_answer_cached_reads_the_store_once(harness: SearchHarness) -> None:
    directory = PermissionCache(harness.store)
    known = directory.classes_of(ANN, Deadline(180))
    undecided = directory.undecided(Deadline(180))
    readings = Readings(harness)
    assert directory.classes_of(ANN, Deadline(180)) == known
    assert readings.count == 1
    assert directory.undecided(Deadline(180)) == undecided
    assert readings.count == 2
    directory.principal_keys_of(ANN, Deadline(180))
    assert readings.count == 2
