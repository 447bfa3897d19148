import io

import pytest

from feedmill.model.feed import FeedKind, FeedState, LogEntry, LogLevel
from feedmill.services.feeds import validation
from feedmill.services.feeds.validation import Validation, validate
from feedmill.wire.registry import FORMATS
from tests.feedreaders import GIVEN
from tests.golden.feedtext import feed_of, record_of

GOOD = record_of("<content>x</content>")
BAD = record_of(action="odd")
ACL = "<acl url='http://a.example.com/'/>"


def verdict_on(data: bytes, kind: FeedKind | None = None, datasource: str | None = None) -> Validation:
    return validate(lambda: io.BytesIO(data), FORMATS, GIVEN, kind=kind, datasource=datasource)


def header(datasource: str, feedtype: str) -> str:
    return f"<header><datasource>{datasource}</datasource><feedtype>{feedtype}</feedtype></header>"


@pytest.mark.parametrize(
    ("inside", "state", "counts"),
    [
        ((), FeedState.COMPLETED, (0, 0, 0)),
        ((GOOD, GOOD, record_of(action="delete")), FeedState.COMPLETED, (3, 3, 0)),
        ((GOOD, BAD), FeedState.COMPLETED_WITH_ERRORS, (2, 1, 1)),
        ((BAD, BAD), FeedState.FAILED_IN_ERROR, (2, 0, 2)),
        ((BAD, ACL), FeedState.COMPLETED_WITH_ERRORS, (1, 0, 1)),
        ((GOOD, "<acl/>"), FeedState.COMPLETED_WITH_ERRORS, (1, 1, 1)),
        (("<acl/>",), FeedState.FAILED_IN_ERROR, (0, 0, 1)),
    ],
)
def test_verdict_states_how_the_feed_would_end(inside: tuple[str, ...], state: FeedState, counts: tuple[int, int, int]) -> None:
    verdict = verdict_on(feed_of(*inside, header=header("hr", "full")))
    assert (verdict.state, verdict.kind, verdict.datasource) == (state, FeedKind.FULL, "hr")
    assert (verdict.records, verdict.included, verdict.errors) == counts
    assert verdict.is_good is (state is FeedState.COMPLETED)


def test_verdict_on_refused_feed_names_the_line() -> None:
    verdict = verdict_on(b"<gsafeed>\n<group>\n</gsafeed>")
    assert verdict.state is FeedState.FAILED_IN_ERROR
    (entry,) = verdict.log
    assert entry.line == 3
    assert entry.reason.endswith("line 3, column 3")


def test_verdict_on_repaired_feed_is_good_with_a_warning() -> None:
    verdict = verdict_on(feed_of(record_of("<content>a & b</content>"), header=header("hr", "incremental")))
    assert verdict.is_good
    assert [entry.level for entry in verdict.log] == [LogLevel.WARNING]


def test_verdict_takes_kind_from_header_unless_given() -> None:
    web = feed_of(GOOD, header=header("web", "full"))
    assert verdict_on(web).kind is FeedKind.METADATA_AND_URL
    assert verdict_on(feed_of(GOOD, header=header("hr", "Metadata-and-URL"))).kind is FeedKind.METADATA_AND_URL
    assert verdict_on(web, FeedKind.FULL, "hr").kind is FeedKind.FULL


def test_verdict_without_known_feedtype_is_that_of_an_incremental_feed_with_a_warning() -> None:
    for data in (feed_of(GOOD), feed_of(GOOD, header=header("hr", "odd"))):
        verdict = verdict_on(data)
        assert (verdict.kind, verdict.is_good) == (FeedKind.INCREMENTAL, True)
        assert "feedtype" in verdict.log[0].reason
    assert verdict_on(feed_of(GOOD, header=header("web", ""))).kind is FeedKind.METADATA_AND_URL


def test_verdict_on_groups_feed_counts_memberships() -> None:
    group = "<membership><principal scope='GROUP'>g</principal></membership>"
    verdict = verdict_on(f"<?xml version='1.0'?><!-- x --><xmlgroups>{group}<membership/></xmlgroups>".encode())
    assert (verdict.kind, verdict.records, verdict.included, verdict.errors) == (None, 2, 1, 1)
    assert verdict_on(b"<xmlgroups/>").is_good


def test_verdict_log_has_places_and_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MAX_LOG_ENTRIES", 2)
    verdict = verdict_on(feed_of("\n", BAD, BAD, BAD, header=header("hr", "full")))
    reason = 'action="odd" is neither add nor delete'
    assert verdict.log[0] == LogEntry(level=LogLevel.ERROR, reason=reason, record=1, line=2, url="http://a.example.com/1")
    assert (len(verdict.log), verdict.errors) == (2, 3)


@pytest.mark.parametrize("data", [b"", b"<!-- " * 100, b"<!---->" * 5_000 + b"< ", b"<!DOCTYPE x [<!ENTITY a 'b'>]><xmlgroups/>"])
def test_verdict_on_what_is_no_feed_is_failure(data: bytes) -> None:
    assert verdict_on(data).state is FeedState.FAILED_IN_ERROR
