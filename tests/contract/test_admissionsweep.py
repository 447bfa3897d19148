from contextlib import suppress
from dataclasses import dataclass

import pytest

from feedmill.core.documents.admission import build_rules, digest_of_rules
from feedmill.model.document import Attributes, AuthMethod, EventKind
from feedmill.model.errors import Busy
from feedmill.ports import Store
from feedmill.services import keyvalues
from feedmill.services.feeds.feeding import Admission
from feedmill.services.sweeps import admissionsweep
from feedmill.services.sweeps.admissionsweep import AdmissionSweep
from tests.builders.access import STAFF
from tests.builders.changes import put, url
from tests.contract.feedharness import FeedHarness
from tests.contract.fuses import LosingStore
from tests.fakes import SilentNotifier


@dataclass(kw_only=True)
class Settings:
    """The values of the settings file."""

    do_not_follow: tuple[str, ...] = ()
    access: tuple[tuple[str, bool], ...] = ()
    secure: tuple[str, ...] = ()
    max_documents: int = 0

    def admission(self) -> Admission:
        return Admission(rules=build_rules(["/"], self.do_not_follow, self.access, self.secure), max_documents=self.max_documents)

    def digest(self) -> str:
        return digest_of_rules(["/"], self.do_not_follow, self.access, self.secure, self.max_documents)


def sweep_of(harness: FeedHarness, settings: Settings, store: Store | None = None) -> AdmissionSweep:
    return AdmissionSweep(store or harness.store, settings.admission, settings.digest, SilentNotifier(), harness.clock, at_once=2)


def sweep_all(harness: FeedHarness, settings: Settings) -> int:
    """Sweeps both rounds and counts the steps that had more to do."""
    sweep = sweep_of(harness, settings)
    busy = 0
    for _ in range(3):
        while sweep.step():
            busy += 1
        harness.now += admissionsweep.BETWEEN_ROUNDS
    with harness.store.reading() as unit:
        assert unit.state.key_values.get(keyvalues.ADMISSION_DIGEST) == settings.digest()
    return busy


def test_sweep_with_a_new_pattern_removes_what_it_blocks_and_names_it(harness: FeedHarness) -> None:
    harness.push(put("private/a"), put("b"), put("private/c"), datasource="wiki")

    sweep_all(harness, Settings(do_not_follow=("docs.test/private/",)))

    assert set(harness.live()) == {url("b")}
    last = harness.events(url("private/a"))[-1]
    assert (last.kind, last.feed_id) == (EventKind.BLOCKED, None)
    assert "'docs.test/private/'" in last.detail
    with harness.store.reading() as unit:
        task = unit.processing.index_tasks.find_many([harness.document(url("private/a")).id or 0]).popitem()[1]
    assert (task.feed_id, task.datasource, task.version) == (None, "wiki", 2)


def test_sweep_with_a_source_declared_secure_tightens_its_documents(harness: FeedHarness) -> None:
    harness.push(put("a"), put("b", acl=STAFF))
    harness.push(put("theirs"), datasource="wiki")
    harness.index_all()

    sweep_all(harness, Settings(secure=("hr",)))

    assert {name: document.secure for name, document in harness.live().items()} == {url("a"): True, url("b"): True, url("theirs"): False}
    assert [harness.document(url(name)).version for name in ("a", "b", "theirs")] == [2, 1, 1]
    with harness.store.reading() as unit:
        found = unit.processing.index_tasks.find_many([document.id or 0 for document in harness.live().values()])
    assert {mark.revokes_access for mark in found.values()} == {True}
    assert len(found) == 1

    sweep_all(harness, Settings())
    assert not harness.document(url("a")).secure


def test_sweep_with_an_access_rule_made_public_opens_what_only_it_closed(harness: FeedHarness) -> None:
    harness.push(put("a", attributes=Attributes(authmethod=AuthMethod.NTLM)), put("b", acl=STAFF))

    sweep_all(harness, Settings(access=(("docs.test/", True),)))

    assert not harness.document(url("a")).secure
    assert harness.document(url("b")).secure


def test_sweep_with_a_lower_limit_pushes_the_excess_out(harness: FeedHarness) -> None:
    harness.push(*[put(f"d{number}") for number in range(9)])

    sweep_all(harness, Settings(max_documents=3))

    assert set(harness.live()) == {url("d6"), url("d7"), url("d8")}
    assert harness.events(url("d0"))[-1].kind is EventKind.PUSHED_OUT


def test_sweep_of_settings_that_are_in_force_touches_nothing(harness: FeedHarness) -> None:
    harness.push(put("a"), put("b"))
    settings = Settings(do_not_follow=("docs.test/b",))
    assert sweep_all(harness, settings) > 0
    before = harness.live()

    assert sweep_all(harness, settings) == 0
    assert harness.live() == before
    assert not sweep_of(harness, settings).step()


def test_sweep_comes_again_for_what_a_feeder_fed_by_old_settings(harness: FeedHarness) -> None:
    harness.push(put("a"))
    settings = Settings(do_not_follow=("docs.test/private/",))
    sweep = sweep_of(harness, settings)
    while sweep.step():
        pass
    harness.push(put("private/late"))
    assert not sweep.step()
    assert len(harness.live()) == 2

    harness.now += admissionsweep.BETWEEN_ROUNDS
    while sweep.step():
        pass

    assert set(harness.live()) == {url("a")}


def test_sweep_killed_at_any_step_comes_to_the_same_end(harness: FeedHarness) -> None:
    harness.push(*[put(f"{'private' if number % 3 == 0 else 'open'}/{number}") for number in range(12)])
    settings = Settings(do_not_follow=("docs.test/private/",), secure=("hr",))
    store = LosingStore(harness.store, doomed=range(1, 1_000, 2))

    for _ in range(60):
        with suppress(Busy):
            sweep_of(harness, settings, store).step()
        if store.writes > 14:
            break
    sweep_all(harness, settings)

    assert {document.version for document in harness.live().values()} == {2}
    assert len(harness.live()) == 8
    assert [event.kind for event in harness.events(url("private/0"))] == [EventKind.FED, EventKind.BLOCKED]


def test_sweep_restarts_when_the_settings_change_on_the_way(harness: FeedHarness) -> None:
    harness.push(*[put(f"d{number}") for number in range(6)])
    settings = Settings(secure=("hr",))
    sweep = sweep_of(harness, settings)
    assert sweep.step()
    assert sweep.step()

    settings.do_not_follow = ("docs.test/d0",)
    sweep_all(harness, settings)

    assert url("d0") not in harness.live()
    assert all(document.secure for document in harness.live().values())


@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("is_same_process", [True, False], ids=["same process", "another process"])
def test_sweep_goes_back_when_the_old_settings_return_before_its_end(harness: FeedHarness, steps: int, *, is_same_process: bool) -> None:
    harness.push(put("a"), put("b"), put("c"))
    settings = Settings(secure=("hr",))
    sweep = sweep_of(harness, settings)

    def run() -> None:
        for _ in range(3):
            while sweep.step():
                pass
            harness.now += admissionsweep.BETWEEN_ROUNDS

    run()
    settings.secure = ()
    for _ in range(steps):
        sweep.step()
    assert {document.secure for document in harness.live().values()} >= {False}
    settings.secure = ("hr",)
    if not is_same_process:
        sweep = sweep_of(harness, settings)
    run()
    assert {document.secure for document in harness.live().values()} == {True}
