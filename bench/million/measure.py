"""Asks two servers the same queries in turn: one with ACLs, one with the same documents and none."""

import http.client
import json
import statistics
import time
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.figures import percentile
from bench.ingest import children_seconds
from bench.million.build import ONE_PROCESS, SETTINGS
from bench.million.data import TWINS, CurrentUser, Shape, current_users, queries, read_shape
from bench.million.unfiltered import unfiltered
from bench.uniquequeries import make_unique
from tests.appliance import running

ROUNDS = 10
MILLISECONDS = 1_000
EXACT_TO = 1_000


class Line:
    """One persistent connection to a search port; searches as one user after the other."""

    def __init__(self, port: int, pid: int) -> None:
        self._pid = pid
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def ask(self, query: str, current_user: str = "", **parameters: str | int) -> tuple[float, dict[str, Any]]:
        """Returns the milliseconds of a search that no cache has seen, and its response."""
        path = "/api/v1/search?" + urllib.parse.urlencode({"q": make_unique(query), **parameters})
        headers = {"X-Forwarded-User": current_user} if current_user else {}
        began = time.perf_counter()
        try:
            self._connection.request("GET", path, headers=headers)
            answer = self._connection.getresponse()
        except http.client.RemoteDisconnected:
            # left alone for too long, as where the machine was stopped
            self._connection.close()
            began = time.perf_counter()
            self._connection.request("GET", path, headers=headers)
            answer = self._connection.getresponse()
        body = answer.read()
        taken = (time.perf_counter() - began) * MILLISECONDS
        assert answer.status == 200, body
        return taken, json.loads(body)

    def used_milliseconds(self) -> float:
        """Returns the processor time of the process that answers, so far."""
        return children_seconds({"web": [self._pid]})["web"] * MILLISECONDS


@dataclass(slots=True)
class ReadSlice:
    """What some searches took. Units: milliseconds; ``used`` is processor time, of all of them."""

    by_query: dict[str, list[float]] = field(default_factory=dict)
    used: float = 0.0

    def add(self, query: str, milliseconds: float) -> None:
        """Adds a search."""
        self.by_query.setdefault(query, []).append(milliseconds)

    @property
    def count(self) -> int:
        """How many searches there were."""
        return sum(map(len, self.by_query.values()))

    @property
    def p50(self) -> float:
        """The median of all searches."""
        return statistics.median(self._all())

    @property
    def p99(self) -> float:
        """What one search in a hundred takes longer than."""
        return percentile(self._all(), 99)

    def _all(self) -> list[float]:
        return [each for taken in self.by_query.values() for each in taken]

    def typical(self, query: str) -> float:
        """Returns the median of a query."""
        return statistics.median(self.by_query[query])


def measure(data: Path, rounds: int = ROUNDS) -> None:
    """Prints what the searches of every user take beside the same without access control."""
    shape = read_shape(data)
    limit = 1.3 if shape.acls else 2.0
    with running(data, SETTINGS, ONE_PROCESS) as appliance, unfiltered(data) as (port, pid):
        guarded, open_ = Line(appliance.search_port, appliance.role_pids()["web"][0]), Line(port, pid)
        report(f"{shape.documents:,} documents, {shape.acls or shape.documents:,} ACLs, {len(queries())} queries, {rounds} rounds")
        first, _ = guarded.ask("warm", "stranger")
        report(f"first query of all, with the reading of ACLs and groups: {first / MILLISECONDS:.1f} s")
        for query in queries():
            guarded.ask(query)
            open_.ask(query)
        measure_cold(guarded, open_, shape)
        for current_user in current_users(shape):
            compare(guarded, open_, current_user, rounds, limit)
        for current_user in current_users(shape):
            check_totals(guarded, open_, current_user, shape)


def report(text: str) -> None:
    """Prints a line at once."""
    print(f"  {text}", flush=True)


def measure_cold(guarded: Line, open_: Line, shape: Shape) -> None:
    """Prints the first queries of users that the server does not know yet."""
    query = queries()[5]
    for count in shape.groups:
        known = [current_user for current_user in current_users(shape) if current_user.groups == count]
        names = [replace(current_user, twin=twin).name for current_user in known for twin in range(TWINS)]
        taken = [guarded.ask(query, name)[0] for name in names]
        bare = statistics.median(open_.ask(query)[0] for _ in names)
        times = f"p50 {statistics.median(taken):.1f} ms, worst {max(taken):.1f} ms, of {len(taken)}"
        report(f"first question of a user in {count:,} groups: {times}; without ACLs {bare:.1f} ms")


def compare(guarded: Line, open_: Line, current_user: CurrentUser, rounds: int, limit: float) -> None:
    """Prints what the later questions of a user take, by the side of the same without ACLs, and with a facet."""
    with_, without = interleave([(guarded, current_user.name, {}), (open_, "", {})], rounds)
    counted, bare = interleave(
        [(guarded, current_user.name, {"facet": "department"}), (open_, "", {"facet": "department"})], max(rounds // 3, 2)
    )
    ratios = [with_.typical(query) / without.typical(query) for query in queries()]
    more = [with_.typical(query) - without.typical(query) for query in queries()]
    facet = [counted.typical(query) - with_.typical(query) for query in queries()]
    of_bare = [bare.typical(query) - without.typical(query) for query in queries()]
    ratio, added = with_.p50 / without.p50, with_.p50 - without.p50
    is_met = ratio <= limit if current_user.share > 10 else added <= 15
    times = (
        f"p50 {with_.p50:.1f} p99 {with_.p99:.1f} ms against {without.p50:.1f} and {without.p99:.1f}; {ratio:.2f} times, {added:+.1f} ms"
    )
    queried = f"by query {min(ratios):.2f} to {max(ratios):.2f} times, at most {max(more):+.1f} ms"
    used = f"processor time {with_.used / without.used:.2f} times, {(with_.used - without.used) / with_.count:+.1f} ms"
    report(f"{current_user.groups:,} groups, {current_user.share} %: {times}; {queried}; {used}: {'met' if is_met else 'MISSED'}")
    facets = f"p50 {statistics.median(facet):+.1f}, at most {max(facet):+.1f} ms; without ACLs {statistics.median(of_bare):+.1f}"
    report(f"    a facet more: {facets}, at most {max(of_bare):+.1f} ms: {'met' if statistics.median(facet) <= 20 else 'MISSED'}")


SignInMethod = tuple[Line, str, dict[str, str]]
"""Which server to query, as which user, with which parameters."""


def interleave(ways: Sequence[SignInMethod], rounds: int) -> list[ReadSlice]:
    """Asks all queries some rounds, each way in turn; once before, so that everything is warm."""
    taken = [ReadSlice() for _ in ways]
    for line, current_user, parameters in ways:
        for query in queries():
            line.ask(query, current_user, **parameters)
    before = [line.used_milliseconds() for line, _, _ in ways]
    for _ in range(rounds):
        for query in queries():
            for (line, current_user, parameters), one in zip(ways, taken, strict=True):
                one.add(query, line.ask(query, current_user, **parameters)[0])
    for one, (line, _, _), begin in zip(taken, ways, before, strict=True):
        one.used = max(line.used_milliseconds() - begin, 1.0)
    return taken


def check_totals(guarded: Line, open_: Line, current_user: CurrentUser, shape: Shape) -> None:
    """Compares the totals of rare words with what the ACLs say of each document that has them. Errors: AssertionError."""
    checked = 0
    for query in queries():
        _, bare = open_.ask(query, num=1_000, match="all")
        if bare["total"] > EXACT_TO:
            continue
        expected = {number for number in numbers_of(bare) if current_user.sees(shape.acl_of(number))}
        _, found = guarded.ask(query, current_user.name, num=1_000, match="all")
        assert numbers_of(found) == expected, (current_user, query)
        assert (found["total"], found["exact"]) == (len(expected), True), (current_user, query)
        checked += 1
    report(f"{current_user.name}: totals and results of {checked} queries are what the ACLs say, exactly")


def numbers_of(found: dict[str, Any]) -> set[int]:
    """Returns the numbers of the documents of a page."""
    return {int(result["url"].rpartition("/")[2]) for result in found["results"]}
