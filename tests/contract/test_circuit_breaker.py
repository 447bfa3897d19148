"""Circuit breakers of authorization servers that fail repeatedly, the count of requests, and the three protocols of the appliance."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from feedmill.adapters.store.engine import SqlStore
from feedmill.bootstrap.context import utc_now
from feedmill.model.authorization import LateLimits, LateOutcome, Mechanism, OpenCircuit, QueryForm
from feedmill.services.authorization.authorizer import Authorizer
from feedmill.services.authorization.circuitnote import CircuitNote
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.overview import read_gauges, read_overview
from feedmill.telemetry import metrics
from tests.contract.lateharness import ANN, BOB, LOGIN, URLS, Now, files, head, saml, say, select
from tests.decisionpoint import DecisionPoint, running_point
from tests.waiting import wait_until

DOWN = say("HTTP/1.1 503 Down")


class Counts:
    """Counts for a test."""

    def __init__(self) -> None:
        self.documents: Counter[tuple[str, str]] = Counter()
        self.requests: Counter[str] = Counter()

    def count(self, mechanism: Mechanism, outcome: LateOutcome, documents: int) -> None:
        self.documents[mechanism.value, outcome.value] += documents

    def observe(self, mechanism: Mechanism, seconds: float) -> None:
        assert seconds >= 0.0
        self.requests[mechanism.value] += 1


class Place:
    """Late binding with everything that a test looks at."""

    def __init__(self, *authorizers: Authorizer, **limits: float) -> None:
        self.clock, self.counts = Now(), Counts()
        self.reports: list[list[str]] = []
        late_limits = LateLimits(**{"open_after_failures": 3, "open_seconds": 30.0, "cache_seconds": 0.0, "seconds": 60.0} | limits)  # type: ignore[arg-type]
        self.late = LateBinding(authorizers, self.clock, late_limits, counts=self.counts, report=self._report)

    def _report(self, open_circuits: Sequence[OpenCircuit]) -> None:
        self.reports.append([f"{each.rule} {each.reason}" for each in open_circuits])


def test_server_that_fails_repeatedly_opens_its_circuit_then_is_tried_once_and_resumed(point: DecisionPoint) -> None:
    point.permit("ann", *URLS)
    place = Place(saml(point))
    point.misbehave = DOWN
    with capture_logs() as logs:
        for _ in range(5):
            assert select(place.late, URLS) == set()
    assert len(point.requests) == 3
    open_circuits = [entry for entry in logs if entry["event"] == "authorization_circuit_opened"]
    assert [(entry["log_level"], entry["rule"], entry["failures"], entry["seconds"]) for entry in open_circuits] == [
        ("error", "pdp", 3, 30.0)
    ]
    assert place.reports == [["pdp it answers with status 503"]]
    assert place.counts.documents == {("saml", "failed"): 15, ("saml", "circuit open"): 10}

    place.clock.seconds += 30.0
    for _ in range(3):
        assert select(place.late, URLS) == set()
    assert len(point.requests) == 4  # one trial, which failed: twice the rest now
    place.clock.seconds += 59.0
    assert select(place.late, URLS) == set()
    assert len(point.requests) == 4

    point.misbehave = None
    place.clock.seconds += 1.0
    with capture_logs() as logs:
        assert select(place.late, URLS) == set(URLS)
        assert select(place.late, URLS) == set(URLS)
    assert [entry["event"] for entry in logs] == ["authorization_circuit_closed"]
    assert place.reports[-1] == []


def test_rest_never_grows_beyond_its_bound(point: DecisionPoint) -> None:
    place = Place(saml(point), open_after_failures=1, open_seconds=1.0)
    point.misbehave = DOWN
    with capture_logs() as logs:
        for _ in range(12):
            select(place.late, URLS)
            place.clock.seconds += 1_000.0
    pauses = [entry["seconds"] for entry in logs if entry["event"] == "authorization_circuit_opened"]
    assert pauses == [1.0, 2.0, 4.0, 8.0, *[16.0] * 8]


def test_success_between_failures_resets_the_count(point: DecisionPoint) -> None:
    point.permit("ann", *URLS)
    place = Place(saml(point))
    for misbehaviour in (DOWN, DOWN, None) * 3:
        point.misbehave = misbehaviour
        assert select(place.late, URLS) == (set() if misbehaviour else set(URLS))
    assert place.reports == []


def test_status_about_one_question_is_no_failure_of_the_server(point: DecisionPoint) -> None:
    point.permit("bob", *URLS)
    place = Place(saml(point), open_after_failures=1)
    for _ in range(4):
        point.misbehave = say("HTTP/1.1 400 All queries must be for the same subject")
        assert select(place.late, URLS) == set()
        point.misbehave = None
        assert select(place.late, URLS, BOB) == set(URLS)
    assert place.reports == []


def test_time_that_a_search_had_left_is_not_held_against_a_server(point: DecisionPoint) -> None:
    point.permit("ann", *URLS)
    point.delay_seconds = 60.0
    counts = Counts()
    late = LateBinding([saml(point)], time.monotonic, LateLimits(seconds=0.2, open_after_failures=1), counts=counts)
    for number in (1, 2):
        assert select(late, URLS) == set()
        wait_until(lambda: counts.requests["saml"] == number, f"request {number} to be over")  # noqa: B023 - called at once
    assert counts.documents["saml", "circuit open"] == 0


def test_server_that_hangs_costs_searches_nothing_once_it_is_left_alone(point: DecisionPoint) -> None:
    point.delay_seconds = 60.0
    late = LateBinding([saml(point, seconds=0.3)], time.monotonic, LateLimits(open_after_failures=1, open_seconds=600.0, seconds=60.0))
    for _ in range(20):
        assert select(late, URLS) == set()
    assert len(point.requests) <= 1


def test_user_who_causes_no_request_is_no_trial(point: DecisionPoint) -> None:
    point.permit("ann", *URLS)
    place = Place(saml(point), open_after_failures=1)
    point.misbehave = DOWN
    select(place.late, URLS)
    point.misbehave = None
    place.clock.seconds += 30.0
    elsewhere = replace(BOB, users=(replace(BOB.users[0], namespace="elsewhere"),))
    assert select(place.late, URLS, elsewhere) == set()
    assert select(place.late, URLS) == set(URLS)


def test_servers_of_documents_are_left_alone_each_for_itself(point: DecisionPoint) -> None:
    with running_point() as dead:
        dead.misbehave = DOWN
        urls, lost = files(point, {"/a": {"ann"}}), files(dead, {"/a": {"ann"}, "/b": {"ann"}})
        point.passwords = dead.passwords = {"ann": "pa:ss"}
        here, there = f"http://127.0.0.1:{point.port}/", f"http://127.0.0.1:{dead.port}/"
        place = Place(head(point, patterns=(here, there), allow_private=(here, there)), open_after_failures=2)
        for _ in range(4):
            assert select(place.late, [*urls, *lost], login=LOGIN) == set(urls)
        assert place.reports[-1] == ["head it answers with status 503"]
        assert len(dead.requests) < 8
        assert place.counts.documents["head", "permitted"] == 4


def test_everything_that_comes_of_documents_is_counted(point: DecisionPoint) -> None:
    point.permit("ann", *URLS[:2])
    point.decisions["ann", URLS[2]] = "Deny"
    place = Place(saml(point, batch=2), cache_seconds=60.0)
    for _ in range(2):
        select(place.late, URLS)
    assert place.counts.documents == {
        ("saml", "permitted"): 2,
        ("saml", "denied"): 1,
        ("saml", "undecided"): 4,
        ("saml", "cached"): 3,
    }
    assert place.counts.requests["saml"] == 4


def test_counts_stand_in_the_metrics() -> None:
    counts = metrics.LateMetrics()
    counts.count(Mechanism.SAML, LateOutcome.CIRCUIT_OPEN, 7)
    counts.observe(Mechanism.HEAD, 0.02)
    text = metrics.render_metrics(lambda: {"authorization_open_circuits": 1.0}, dict).decode()
    assert 'feedmill_authorization_documents_total{mechanism="saml",outcome="circuit_open"}' in text
    assert 'feedmill_authorization_seconds_bucket{le="0.025",mechanism="head"}' in text
    assert "feedmill_authorization_open_circuits 1.0" in text


def test_servers_with_open_circuits_stand_in_the_status(store: SqlStore) -> None:
    note = CircuitNote(store, utc_now)
    note([OpenCircuit(rule="wiki", server="wiki.example:5678", failures=5, reason="it does not answer in time")])
    circuits = read_overview(store)["authorization"]["open_circuits"]
    assert [(each["rule"], each["server"], each["failures"], each["reason"]) for each in circuits] == [
        ("wiki", "wiki.example:5678", 5, "it does not answer in time")
    ]
    since = circuits[0]["since"]
    note([OpenCircuit(rule="wiki", server="wiki.example:5678", failures=6, reason="again")])
    assert read_overview(store)["authorization"]["open_circuits"][0]["since"] == since
    assert read_gauges(store, datetime.now(UTC))["authorization_open_circuits"] == 1.0
    note.clear()
    assert read_overview(store)["authorization"]["open_circuits"] == []


def test_open_circuits_of_several_processes_stand_in_the_status_once_each(store: SqlStore) -> None:
    moments = iter(datetime(2026, 3, 1, 12, minute, tzinfo=UTC) for minute in range(60))
    first, second = (CircuitNote(store, lambda: next(moments), number) for number in range(2))

    def list_open() -> list[tuple[str, int]]:
        return sorted((each["server"], each["failures"]) for each in read_overview(store)["authorization"]["open_circuits"])

    first([OpenCircuit(rule="wiki", server="a", failures=5, reason="late")])
    second([OpenCircuit(rule="wiki", server=server, failures=7, reason="late") for server in "ab"])
    assert list_open() == [("a", 5), ("b", 7)]
    assert not any("process" in each for each in read_overview(store)["authorization"]["open_circuits"])
    first([])
    assert list_open() == [("a", 7), ("b", 7)]
    first.clear(processes=2)
    assert list_open() == [("a", 7), ("b", 7)]
    first.clear(processes=1)
    assert list_open() == []


# --- the protocols of the appliance ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "requests"), [(QueryForm.SINGLE, 5), (QueryForm.BATCH, 2), (QueryForm.BATCH_2, 2)], ids=lambda each: str(each)
)
def test_every_protocol_shows_what_is_permitted_and_nothing_else(point: DecisionPoint, form: QueryForm, requests: int) -> None:
    point.permit("ann", URLS[0], URLS[3])
    point.decisions["ann", URLS[1]] = "Deny"
    place = Place(saml(point, form=form, batch=3))
    assert select(place.late, URLS) == {URLS[0], URLS[3]}
    assert len(point.requests) == requests
    assert point.queried == URLS
    assert all(credential["name"] == "ann" for credential in point.credentials)


def test_listed_documents_are_not_permitted_by_an_answer_about_others(point: DecisionPoint) -> None:
    point.permit("ann", *URLS)
    point.spoil = lambda body: body.replace(b"/0", b"/#").replace(b'Resource="http://wiki.example/1"', b'Resource=""')
    assert select(Place(saml(point, form=QueryForm.BATCH_2)).late, URLS, ANN) == set(URLS[2:])
    point.spoil = lambda body: body.replace(b'InResponseTo="_', b'InResponseTo="x')
    assert select(Place(saml(point, form=QueryForm.BATCH_2)).late, URLS, ANN) == set()
