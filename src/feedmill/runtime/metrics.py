"""What is counted, for Prometheus: each process counts for itself, any of them answers for all.

The parent names a folder in ``PROMETHEUS_MULTIPROC_DIR`` before a role is started; a process that was not told to count there answers
for itself alone.
Names and meanings stand in docs/reference/operation.md.
"""

import os
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from feedmill.model.authorization import LateOutcome, Mechanism
from feedmill.runtime.metricfiles import FOLDER_VARIABLE

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Counts:
    """What one process counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.feeds = self._counter("feedmill_feeds_received", "Feeds received and kept, by kind.", "kind")
        self.feed_bytes = self._counter("feedmill_feed_bytes_received", "Bytes of feeds received and kept.")
        self.records = self._counter("feedmill_records", "Records applied, by result: included or error.", "result")
        self.extractions = self._counter("feedmill_extractions", "Documents extracted, by outcome: whole, cut or failed.", "outcome")
        self.failures = self._counter("feedmill_failures", "Documents and records whose step failed, by step.", "step")
        self.commits = self._counter("feedmill_index_commits", "Commits of the index.")
        self.indexed = self._counter("feedmill_index_documents", "Documents put into or removed from the index by commits.")
        self.queries = Histogram(
            "feedmill_query_seconds",
            "Time that searches took.",
            registry=self.registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self.bounded = self._counter("feedmill_searches_bounded", "Searches that met a bound: deadline, refused or gone.", "bound")
        meaning = "Documents that other servers were, or might have been, asked about, by mechanism and outcome."
        self.late = self._counter("feedmill_authorization_documents", meaning, "mechanism", "outcome")
        self.late_seconds = Histogram(
            "feedmill_authorization_seconds",
            "Time that asking a server about a batch took.",
            ("mechanism",),
            registry=self.registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30),
        )

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=self.registry)


_counts = _Counts()


def count_in_files() -> None:
    """Has this process count in files from now on, which any process of the server can add up.

    The library settles this when it is imported; a forked process settles it anew.
    """
    global _counts
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
    _counts = _Counts()


class LateMetrics:
    """Fills ``services.authorization.asking.LateCounts``."""

    def count(self, mechanism: Mechanism, outcome: LateOutcome, documents: int) -> None:
        """Counts documents by what came of them."""
        _counts.late.labels(mechanism.value, outcome.value.replace(" ", "_")).inc(documents)

    def observe(self, mechanism: Mechanism, seconds: float) -> None:
        """Counts a request to a server and the time it took."""
        _counts.late_seconds.labels(mechanism.value).observe(seconds)


def count_feed(kind: str, size_bytes: int) -> None:
    """Counts a feed that was received and kept."""
    _counts.feeds.labels(kind).inc()
    _counts.feed_bytes.inc(size_bytes)


def count_records(*, included: int, errors: int) -> None:
    """Counts records that were applied, and those in error."""
    _counts.records.labels("included").inc(included)
    _counts.records.labels("error").inc(errors)


def count_extraction(outcome: str) -> None:
    """Counts an extraction; the outcome is whole, cut or failed."""
    _counts.extractions.labels(outcome).inc()


def count_failure(step: str) -> None:
    """Counts a document or record of which a step failed."""
    _counts.failures.labels(step).inc()


def count_commit(documents: int) -> None:
    """Counts a commit of the index and the documents it changed."""
    _counts.commits.inc()
    _counts.indexed.inc(documents)


def observe_query(seconds: float) -> None:
    """Counts a search and the time it took."""
    _counts.queries.observe(seconds)


def count_bounded(bound: str) -> None:
    """Counts a search that met a bound: its deadline, the number of its client's searches (refused), or whose client is gone."""
    _counts.bounded.labels(bound).inc()


def _of_none() -> Mapping[str, float]:
    return {}


def render_metrics(
    gauges: Callable[[], Mapping[str, float]],
    restarts: Callable[[], Mapping[str, int]],
    oldest: Callable[[], Mapping[str, float]] = _of_none,
) -> bytes:
    """Returns all metrics as Prometheus reads them.

    Shape: ``gauges`` by the names of GAUGES, asked at each call; ``restarts`` by role; ``oldest`` by queue.
    """
    registry = CollectorRegistry()
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    else:
        registry.register(_Copied(_counts.registry))
    registry.register(_Asked(gauges, restarts, oldest))
    return generate_latest(registry)


GAUGES = {
    "feeds_waiting": "Feeds not wholly applied.",
    "documents": "Documents that are live.",
    "marks_extract": "Documents that wait for extraction.",
    "marks_index": "Documents that wait for the index.",
    "authorization_servers_left_alone": "Servers that are not asked about documents for a while, since they failed again and again.",
}
"""What is asked of the store, by name without the prefix ``feedmill_``, with its meaning."""


class _Copied(Collector):
    """Returns the metrics of another registry."""

    def __init__(self, source: CollectorRegistry) -> None:
        self._source = source

    def collect(self) -> Iterable[Metric]:
        return self._source.collect()


class _Asked(Collector):
    """Returns what is not counted but asked for when somebody looks."""

    def __init__(
        self,
        gauges: Callable[[], Mapping[str, float]],
        restarts: Callable[[], Mapping[str, int]],
        oldest: Callable[[], Mapping[str, float]],
    ) -> None:
        self._gauges = gauges
        self._restarts = restarts
        self._oldest = oldest

    def collect(self) -> Iterable[Metric]:
        values = self._gauges()
        for name, meaning in GAUGES.items():
            if name in values:
                yield GaugeMetricFamily(f"feedmill_{name}", meaning, value=values[name])
        waiting = GaugeMetricFamily("feedmill_oldest_waiting_seconds", "How long the oldest item of a queue waits.", labels=("queue",))
        for queue, seconds in self._oldest().items():
            waiting.add_metric((queue,), seconds)
        yield waiting
        family = CounterMetricFamily("feedmill_role_restarts", "Times that a role's process was started again.", labels=("role",))
        for role, count in sorted(self._restarts().items()):
            family.add_metric((role,), count)
        yield family
