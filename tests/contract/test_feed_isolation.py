"""A record that fails in any step of the feeder costs itself: the others are applied, the log has its line, its step and its reason."""

import io
from pathlib import Path

import pytest

from feedmill.core.documents.urlstate import Rules
from feedmill.model.access import AccessClass
from feedmill.model.document import Attributes, AuthMethod, DocumentState
from feedmill.model.feed import FeedKind, FeedState, LogLevel, NewFeed
from feedmill.services.feeds.feeder import Feeder, FeederLane
from feedmill.services.feeds.feeding import Admission
from feedmill.services.feeds.groupsrun import GroupsRun
from feedmill.services.isolation.faultpoints import injected
from feedmill.services.sweeps.admissionsweep import AdmissionSweep
from tests.builders.access import STAFF
from tests.builders.changes import OPEN, delete, put, put_acl, url
from tests.builders.feedxml import make_feed, make_record
from tests.builders.groups import make_groups_feed, make_membership
from tests.contract.databases import DAMAGES, damage
from tests.contract.feedharness import FeedHarness
from tests.contract.markedrecords import MARKED, name_of, records
from tests.fakes import SilentNotifier
from tests.feedreaders import gsafeed_reader

STEPS = ("content", "apply", "class", "store")


@pytest.mark.parametrize("step", STEPS)
def test_records_that_fail_cost_themselves_and_the_log_names_them(harness: FeedHarness, step: str) -> None:
    with injected(f"{step}=raise:marked"):
        feed = harness.push(*records())
    assert (feed.state, feed.included, feed.errors, feed.applied) == (FeedState.COMPLETED_WITH_ERRORS, 197, 3, 200)
    log = harness.log(feed.id)
    assert [(entry.record, entry.line, entry.url, entry.level) for entry in log] == [
        (number + 1, number + 1, url(name_of(number)), LogLevel.ERROR) for number in MARKED
    ]
    assert {entry.reason for entry in log} == {f"step {step} failed: RuntimeError: injected fault in {step}"}
    assert len(harness.live()) == 197


@pytest.mark.parametrize("step", STEPS)
def test_full_feed_keeps_what_its_failing_records_name(harness: FeedHarness, step: str) -> None:
    harness.push(*records("old"), put("unnamed"))
    with injected(f"{step}=raise:marked"):
        feed = harness.push(*records("new", whole=True), kind=FeedKind.FULL)
    assert (feed.state, feed.errors) == (FeedState.COMPLETED_WITH_ERRORS, 3)
    live = harness.live()
    assert set(live) == {url(name_of(number)) for number in range(200)}
    contents = {number: live[url(name_of(number))].content for number in (0, *MARKED)}
    old = {harness.blobs.read(contents[number]) for number in MARKED if contents[number] is not None}  # type: ignore[arg-type]
    assert old == {b"old"}
    assert harness.blobs.read(contents[0]) == b"new"  # type: ignore[arg-type]


def test_feed_of_which_every_record_fails_fails_and_sweeps_nothing(harness: FeedHarness) -> None:
    harness.push(put("stays"))
    with injected("apply=raise:http"):
        feed = harness.push(*records(whole=True), kind=FeedKind.FULL)
    assert (feed.state, feed.errors) == (FeedState.FAILED_IN_ERROR, 200)
    assert set(harness.live()) == {url("stays")}


def test_later_feeds_of_the_source_and_others_go_on(harness: FeedHarness) -> None:
    bad = harness.receive(records())
    later, other = harness.receive([put("later")]), harness.receive([put("other")], datasource="other")
    feeder = Feeder(FeederLane(owner="one"), harness.tools, SilentNotifier())
    with injected("store=raise:marked"):
        while feeder.turn():
            pass
    assert [harness.feed(each).state for each in (bad, later, other)] == [
        FeedState.COMPLETED_WITH_ERRORS,
        FeedState.COMPLETED,
        FeedState.COMPLETED,
    ]


def test_scan_that_fails_ends_the_feed_with_the_reason(harness: FeedHarness) -> None:
    with injected("scan=raise:hr"):
        feed = harness.push(put("a"))
    assert feed.state is FeedState.FAILED_IN_ERROR
    assert [entry.reason for entry in harness.log(feed.id)] == ["step scan failed: RuntimeError: injected fault in scan"]


def test_records_that_cannot_be_worked_out_are_in_error_with_their_place() -> None:
    feed = make_feed(*("\n" + make_record(f"http://docs.test/{name_of(n)}", "x") for n in range(200)))
    reader = gsafeed_reader(lambda: io.BytesIO(feed))
    with injected("parse=raise:marked"):
        changes = list(reader.changes())
    assert [(change.place.record, change.place.line, change.url) for change in changes if hasattr(change, "reason")] == [
        (number + 1, number + 2, url(name_of(number))) for number in MARKED
    ]


def test_sweep_removes_all_but_the_documents_and_acls_that_fail(harness: FeedHarness) -> None:
    harness.push(*records(), *[put_acl(f"marked-acl{number}") for number in range(3)], *[put_acl(f"acl{number}") for number in range(3)])
    with injected("sweep=raise:marked"):
        feed = harness.push(put("new", whole=True), kind=FeedKind.FULL)
    assert (feed.state, feed.errors) == (FeedState.COMPLETED_WITH_ERRORS, 6)
    assert set(harness.live()) == {url("new"), *(url(name_of(number)) for number in MARKED)}
    assert set(harness.acls(*(url(f"acl{number}") for number in range(3)))) == set()
    assert len(harness.acls(*(url(f"marked-acl{number}") for number in range(3)))) == 3
    reasons = {entry.reason for entry in harness.log(feed.id)}
    assert len(reasons) == 1
    assert "step sweep failed" in reasons.pop()
    again = harness.push(put("new", whole=True), kind=FeedKind.FULL)
    assert again.state is FeedState.COMPLETED
    assert set(harness.live()) == {url("new")}


def test_document_that_cannot_be_pushed_out_stays_and_another_goes(harness: FeedHarness) -> None:
    harness.admission = Admission(rules=OPEN, max_documents=100)
    with injected("eviction=raise:marked3"):
        feed = harness.push(*records())
    assert feed.state is FeedState.COMPLETED
    assert len(harness.live()) == 100
    assert url("marked3") in harness.live()


def test_document_that_cannot_be_checked_against_new_patterns_is_hidden(harness: FeedHarness) -> None:
    harness.push(*records())
    refusing = Rules(refusal=lambda each: "refused" if each.endswith("7") else None, make_public=lambda _url: None)
    sweep = AdmissionSweep(harness.store, lambda: Admission(rules=refusing), lambda: "new", SilentNotifier(), harness.clock)
    with injected("admission=raise:marked"):
        for _ in range(20):
            harness.clock()
            sweep.step()
    marked = [harness.document(url(name_of(number))) for number in MARKED]
    assert [(document.state, document.access_class, document.secure) for document in marked] == [
        (DocumentState.LIVE, AccessClass.CLOSED, True)
    ] * 3
    assert not [each for each in harness.live() if each.endswith("7") and "marked" not in each]
    assert url("good8") in harness.live()


def groups_feed(harness: FeedHarness) -> int:
    kind = FeedKind.GROUPS_FULL
    with harness.store.writing() as unit:
        feed_id = unit.feeds.queue.add(NewFeed(datasource="g", kind=kind, file="", size_bytes=1, received_at=harness.clock()))
    harness.groups[feed_id] = make_groups_feed(*("\n" + make_membership(name_of(number), ["bob"]) for number in range(200)))
    return feed_id


def test_memberships_that_fail_cost_themselves(harness: FeedHarness) -> None:
    with injected("groups=raise:marked"):
        run = GroupsRun(harness.feed(groups_feed(harness)), harness.tools)
        while not run.feed.phase.is_past_feeder:
            run.step()
    assert (run.feed.state, run.feed.included, run.feed.errors) == (FeedState.COMPLETED_WITH_ERRORS, 197, 3)
    assert [entry.line for entry in harness.log(run.feed.id)] == [number + 2 for number in MARKED]
    assert {entry.reason for entry in harness.log(run.feed.id)} == {"step groups failed: RuntimeError: injected fault in groups"}


def test_acl_of_a_record_in_error_stays(harness: FeedHarness) -> None:
    harness.push(put("marked", acl=STAFF))
    with injected("store=raise:marked"):
        feed = harness.push(put("marked", "other", whole=True), kind=FeedKind.FULL)
    assert feed.errors == 1
    assert harness.document(url("marked")).secure
    assert set(harness.acls(url("marked"))) == {url("marked")}


@pytest.mark.parametrize(("column", "value"), DAMAGES)
def test_document_whose_row_cannot_be_read_can_be_fed_swept_and_deleted(
    harness: FeedHarness, tmp_path: Path, column: str, value: str
) -> None:
    harness.push(*(put(name) for name in "abcd"))
    for name in "abc":
        damage(tmp_path, url(name), column, value)
    fed = harness.push(put("a", whole=True), delete("b"), put("new"))
    assert (fed.state, fed.included, fed.errors) == (FeedState.COMPLETED, 3, 0)
    assert harness.document(url("a")).damage == ""
    harness.push(put("a"), kind=FeedKind.FULL)
    assert set(harness.live()) == {url("a")}


def test_document_whose_attributes_cannot_be_read_stays_closed(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(put("a", attributes=Attributes(authmethod=AuthMethod.NTLM)))
    damage(tmp_path, url("a"), "attributes", "{")
    harness.push(put("a", "changed"))
    assert (harness.document(url("a")).secure, harness.document(url("a")).damage) == (True, "")
