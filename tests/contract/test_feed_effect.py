"""What a feed would do is counted as the feeder then does it, and the count changes nothing."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill.core.documents.receipts import final_state
from feedmill.core.documents.urlstate import Rules
from feedmill.model.change import Change, PutDocument
from feedmill.model.feed import Feed, FeedKind, FeedState, FeedType
from feedmill.services.feeds.feedeffect import EffectTools, FeedEffect, find_effect
from feedmill.services.feeds.feeding import Admission
from feedmill.services.feeds.reading import FeedReader
from tests.builders.changes import OPEN
from tests.builders.feedxml import make_acl_element, make_feed, make_group, make_grouped_feed, make_record
from tests.contract.feedharness import FeedHarness, open_harness
from tests.feedreaders import GIVEN, gsafeed_reader

URL = "http://effect.example.com/"
BINARY = bytes(range(256)) * 400
SAME = make_record(f"{URL}same", "same", [("a", "b")], lock="true", acl=make_acl_element("ann"))
OTHER, GONE, BINARY_RECORD = make_record(f"{URL}other", "other"), make_record(f"{URL}gone", "gone"), make_record(f"{URL}binary", BINARY)
BEFORE = make_feed(SAME, OTHER, GONE, BINARY_RECORD)
FOREIGN = make_feed(make_record(f"{URL}foreign", "foreign"))
NOWHERE = make_record("", "x")


def _reader(data: bytes, kind: FeedKind) -> FeedReader[Change]:
    return gsafeed_reader(lambda: io.BytesIO(data), replace(GIVEN, feedtype=kind.feedtype or FeedType.INCREMENTAL))


def _changes(data: bytes, kind: FeedKind) -> Iterator[Change]:
    reader = _reader(data, kind)
    for change in reader.changes(repaired=reader.scan().repaired):
        if isinstance(change, PutDocument) and change.content is not None:
            change = replace(change, content=replace(change.content, stream=io.BytesIO(change.content.stream.read())))
        yield change


def _push(harness: FeedHarness, data: bytes, kind: FeedKind, datasource: str = "hr") -> Feed:
    return harness.push(*_changes(data, kind), datasource=datasource, kind=kind)


def _find(harness: FeedHarness, data: bytes, kind: FeedKind) -> FeedEffect:
    tools = EffectTools(store=harness.store, blobs=harness.blobs, rules=harness.admission.rules, clock=harness.clock)
    return find_effect(_reader(data, kind), kind, "hr", tools)


def _counts(effect: FeedEffect) -> tuple[int, int, int, int]:
    return effect.add, effect.change, effect.delete, effect.errors


@pytest.fixture
def harness(tmp_path: Path) -> FeedHarness:
    harness = open_harness(tmp_path)
    _push(harness, BEFORE, FeedKind.FULL)
    _push(harness, FOREIGN, FeedKind.FULL, "it")
    return harness


FULL, INCREMENTAL, WEB = FeedKind.FULL, FeedKind.INCREMENTAL, FeedKind.METADATA_AND_URL
CASES = {
    "the same again": (BEFORE, FULL, (0, 0, 0, 0)),
    "one of each": (
        make_feed(SAME, make_record(f"{URL}other", "others"), BINARY_RECORD, make_record(f"{URL}new", "n")),
        FULL,
        (1, 1, 1, 0),
    ),
    "content of the same size": (make_feed(make_record(f"{URL}binary", BINARY[::-1])), INCREMENTAL, (0, 1, 0, 0)),
    "empty full feed": (make_grouped_feed(make_group()), FULL, (0, 0, 4, 0)),
    "empty incremental feed": (make_grouped_feed(make_group()), INCREMENTAL, (0, 0, 0, 0)),
    "taken over": (make_feed(make_record(f"{URL}foreign", "foreign")), INCREMENTAL, (0, 1, 0, 0)),
    "foreign delete": (make_feed(make_record(f"{URL}foreign", action="delete")), INCREMENTAL, (0, 0, 0, 0)),
    "unknown delete": (make_feed(make_record(f"{URL}unknown", action="delete")), INCREMENTAL, (0, 0, 0, 0)),
    "metadata alone": (make_feed(make_record(f"{URL}same", None, [("a", "c")])), INCREMENTAL, (0, 1, 0, 0)),
    "same metadata alone": (make_feed(make_record(f"{URL}same", None, [("a", "b")])), INCREMENTAL, (0, 0, 0, 0)),
    "bare record": (make_feed(make_record(f"{URL}same", mimetype=None)), INCREMENTAL, (0, 0, 0, 0)),
    "acl of a document": (make_feed(make_acl_element("bob", url=f"{URL}same")), INCREMENTAL, (0, 1, 0, 0)),
    "acl alone": (make_feed(make_acl_element("bob", url=f"{URL}folder")), INCREMENTAL, (0, 0, 0, 0)),
    "error keeps": (make_feed(SAME, make_record(f"{URL}other", None, [("a", "b")])), FULL, (0, 0, 2, 1)),
    "all in error": (make_feed(NOWHERE), FULL, (0, 0, 0, 1)),
    "named twice": (
        make_feed(
            make_record(f"{URL}new", "n"),
            make_record(f"{URL}other", action="delete"),
            make_record(f"{URL}new", action="delete"),
            make_record(f"{URL}other", "other"),
            make_record(f"{URL}gone", "later"),
            make_record(f"{URL}gone", action="delete"),
        ),
        INCREMENTAL,
        (0, 0, 1, 0),
    ),
    "web feed": (make_feed(make_record(f"{URL}new"), make_record(f"{URL}same")), WEB, (1, 0, 0, 0)),
    "repaired": (make_feed(make_record(f"{URL}new", "n")).replace(b">n<", b">n & m<"), INCREMENTAL, (1, 0, 0, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_effect_is_what_the_feed_then_does(harness: FeedHarness, name: str) -> None:
    data, kind, expected = CASES[name]
    before, acls = harness.live(), harness.acls(f"{URL}same")
    effect = _find(harness, data, kind)
    assert _counts(effect) == expected
    assert (harness.live(), harness.acls(f"{URL}same")) == (before, acls)
    feed = _push(harness, data, kind)
    assert feed.errors == effect.errors
    assert final_state(included=feed.included, errors=feed.errors, acls=feed.acls) is effect.state
    after = harness.live()
    assert (len(after.keys() - before.keys()), len(before.keys() - after.keys())) == (effect.add, effect.delete)


def test_feed_that_cannot_be_read_is_one_error_with_its_line(harness: FeedHarness) -> None:
    effect = _find(harness, BEFORE[:-20] + b"\n<", FULL)
    assert _counts(effect) == (0, 0, 0, 1)
    assert (effect.state, [entry.line for entry in effect.log]) == (FeedState.FAILED_IN_ERROR, [2])


def test_urls_that_the_patterns_refuse_are_errors_and_removed(harness: FeedHarness) -> None:
    harness.admission = Admission(rules=Rules(refusal=lambda url: "no" if url.endswith("gone") else None, make_public=OPEN.make_public))
    effect = _find(harness, make_feed(SAME, GONE), INCREMENTAL)
    assert _counts(effect) == (0, 0, 1, 1)
    assert [(entry.reason, entry.url) for entry in effect.log] == [("no", f"{URL}gone")]


def test_large_feed_is_counted_slice_by_slice(harness: FeedHarness) -> None:
    records = [make_record(f"{URL}{number}", str(number)) for number in range(1_200)]
    assert _counts(_find(harness, make_feed(SAME, *records, records[0]), FULL)) == (1_200, 0, 3, 0)
