"""The metrics of the server, for Prometheus. Each process counts for itself, and any of them renders the sum.

A metric is declared once, as a constant here, and is counted where it happens: ``EXTRACTIONS.add("whole")``.
docs/reference/operation.md lists all metrics.

The supervisor names a folder in ``PROMETHEUS_MULTIPROC_DIR`` before it starts a role. A process without it renders only what it counted
itself.
"""

import os
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from feedmill.model.authorization import LateOutcome, Mechanism
from feedmill.telemetry.metricfiles import FOLDER_VARIABLE

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class CountedMetric:
    """A counter."""

    def __init__(self, name: str, meaning: str, *labels: str) -> None:
        self._declaration = (name, meaning, labels)
        _DECLARED.append(self)
        self.register(_registry)

    def register(self, registry: CollectorRegistry) -> None:
        """Begins at 0, in a registry."""
        self._counter = Counter(*self._declaration, registry=registry)

    def add(self, *labels: str, count: float = 1) -> None:
        """Adds to the counter of some values of its labels."""
        (self._counter.labels(*labels) if labels else self._counter).inc(count)


class TimedMetric:
    """A histogram of durations."""

    def __init__(self, name: str, meaning: str, *labels: str, buckets: tuple[float, ...]) -> None:
        self._declaration = (name, meaning, labels)
        self._buckets = buckets
        _DECLARED.append(self)
        self.register(_registry)

    def register(self, registry: CollectorRegistry) -> None:
        """Begins at 0, in a registry."""
        self._histogram = Histogram(*self._declaration, registry=registry, buckets=self._buckets)

    def observe(self, seconds: float, *labels: str) -> None:
        """Counts a duration for some values of its labels."""
        (self._histogram.labels(*labels) if labels else self._histogram).observe(seconds)


_registry = CollectorRegistry()
_DECLARED: list[CountedMetric | TimedMetric] = []

FEEDS = CountedMetric("feedmill_feeds_received", "Feeds received and stored, by kind.", "kind")
FEED_BYTES = CountedMetric("feedmill_feed_bytes_received", "Bytes of feeds received and stored.")
RECORDS = CountedMetric("feedmill_records", "Records applied, by result: included or error.", "result")
EXTRACTIONS = CountedMetric("feedmill_extractions", "Documents extracted, by outcome: whole, cut or failed.", "outcome")
FAILURES = CountedMetric("feedmill_failures", "Documents and records with a failed step, by step.", "step")
COMMITS = CountedMetric("feedmill_index_commits", "Commits of the index.")
COMMITTED_DOCUMENTS = CountedMetric("feedmill_index_documents", "Documents that commits added to or removed from the index.")
FETCHES = CountedMetric("feedmill_fetches", "URLs of the crawler whose fetch ended, by the code of their state.", "code")
FETCHED_BYTES = CountedMetric("feedmill_fetched_bytes", "Bytes of the bodies that the crawler fetched.")
FETCH_SECONDS = TimedMetric(
    "feedmill_fetch_seconds",
    "Duration of the crawler's fetches.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180),
)
_SEARCH_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
QUERY_SECONDS = TimedMetric(
    "feedmill_query_seconds",
    "Duration of searches.",
    buckets=_SEARCH_BUCKETS,
)
TYPING_SECONDS = TimedMetric(
    "feedmill_typing_seconds",
    "Duration of searches for words that somebody is typing, which are not counted as searches.",
    buckets=_SEARCH_BUCKETS,
)
SEARCHES_BOUNDED = CountedMetric("feedmill_searches_bounded", "Searches that met a bound: deadline, refused or gone.", "bound")
AUTHORIZED_DOCUMENTS = CountedMetric(
    "feedmill_authorization_documents",
    "Documents that needed a decision of another server, by mechanism and outcome.",
    "mechanism",
    "outcome",
)
AUTHORIZATION_SECONDS = TimedMetric(
    "feedmill_authorization_seconds",
    "Duration of requests to authorization servers.",
    "mechanism",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30),
)
EMBEDDINGS = CountedMetric(
    "feedmill_embeddings",
    "Documents of the queue of semantic search, by outcome: embedded, unchanged, removed or refused.",
    "outcome",
)
RENDER_PAGES = CountedMetric("feedmill_render_pages", "Pages that a browser rendered, by outcome: whole, cut or failed.", "outcome")
RENDER_SECONDS = TimedMetric(
    "feedmill_render_seconds",
    "Duration of rendering a page in a browser.",
    buckets=(0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120),
)


def count_in_files() -> None:
    """Has this process count in files from now on, which any process of the server can add up.

    The library decides where it counts when a metric is created, so a forked process creates its metrics again.
    """
    global _registry
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
    _registry = CollectorRegistry()
    for metric in _DECLARED:
        metric.register(_registry)


class LateMetrics:
    """Implements ``services.authorization.authorizer.LateCounts``."""

    def count(self, mechanism: Mechanism, outcome: LateOutcome, documents: int) -> None:
        """Counts documents by their outcome."""
        AUTHORIZED_DOCUMENTS.add(mechanism.value, outcome.value.replace(" ", "_"), count=documents)

    def observe(self, mechanism: Mechanism, seconds: float) -> None:
        """Counts a request to a server and its duration."""
        AUTHORIZATION_SECONDS.observe(seconds, mechanism.value)


def count_feed(kind: str, size_bytes: int) -> None:
    """Counts a feed that was received and stored."""
    FEEDS.add(kind)
    FEED_BYTES.add(count=size_bytes)


def count_records(*, included: int, errors: int) -> None:
    """Counts applied records and faulty ones."""
    RECORDS.add("included", count=included)
    RECORDS.add("error", count=errors)


def count_commit(documents: int) -> None:
    """Counts a commit of the index and the documents that it changed."""
    COMMITS.add()
    COMMITTED_DOCUMENTS.add(count=documents)


def count_embedded(outcome: str, documents: int) -> None:
    """Counts documents of the queue of semantic search by what was done with them."""
    EMBEDDINGS.add(outcome, count=documents)


def _find_none() -> Mapping[str, float]:
    return {}


def render_metrics(
    gauges: Callable[[], Mapping[str, float]],
    restarts: Callable[[], Mapping[str, int]],
    oldest: Callable[[], Mapping[str, float]] = _find_none,
) -> bytes:
    """Returns all metrics as Prometheus reads them.

    The callables are called each time: ``gauges`` by the names of GAUGES, ``restarts`` by role, ``oldest`` by queue.
    """
    registry = CollectorRegistry()
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    else:
        registry.register(_Copied(_registry))
    registry.register(_Read(gauges, restarts, oldest))
    return generate_latest(registry)


GAUGES = {
    "feeds_waiting": "Feeds that are not completely applied.",
    "documents": "Live documents.",
    "index_tasks_extract": "Documents that wait for extraction.",
    "index_tasks_index": "Documents that wait for the index.",
    "crawl_due": "URLs that the crawler is to fetch now, counted up to 100,000.",
    "authorization_open_circuits": "Servers that get no requests for a while because they failed again and again.",
}
"""The gauges, which are read from the store by ``services.overview``: names without the prefix ``feedmill_``, and meanings."""


class _Copied(Collector):
    """Returns the metrics of another registry."""

    def __init__(self, source: CollectorRegistry) -> None:
        self._source = source

    def collect(self) -> Iterable[Metric]:
        return self._source.collect()


class _Read(Collector):
    """Returns the metrics that are read when they are requested."""

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
        waiting = GaugeMetricFamily("feedmill_oldest_waiting_seconds", "How long the oldest item of a queue has waited.", labels=("queue",))
        for queue, seconds in self._oldest().items():
            waiting.add_metric((queue,), seconds)
        yield waiting
        family = CounterMetricFamily("feedmill_role_restarts", "How often the process of a role was restarted.", labels=("role",))
        for role, count in sorted(self._restarts().items()):
            family.add_metric((role,), count)
        yield family
