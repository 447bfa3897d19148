import os
import subprocess
import sys
from pathlib import Path

from feedmill.telemetry import metrics


def test_render_metrics_returns_counters_gauges_and_restarts() -> None:
    metrics.count_feed("full", 100)
    metrics.count_records(included=3, errors=1)
    metrics.EXTRACTIONS.add("whole")
    metrics.count_commit(3)
    metrics.QUERY_SECONDS.observe(0.02)
    metrics.SEARCHES_BOUNDED.add("deadline")
    text = metrics.render_metrics(lambda: {"documents": 7, "feeds_waiting": 2}, lambda: {"gate": 1}).decode()
    assert 'feedmill_feeds_received_total{kind="full"}' in text
    assert 'feedmill_records_total{result="error"}' in text
    assert 'feedmill_query_seconds_bucket{le="0.025"}' in text
    assert 'feedmill_searches_bounded_total{bound="deadline"}' in text
    assert "feedmill_documents 7.0" in text
    assert 'feedmill_role_restarts_total{role="gate"} 1.0' in text
    assert "feedmill_index_tasks_index" not in text


ADDED = """
from feedmill.telemetry import metrics
ADDED = metrics.CountedMetric("feedmill_added", "Shows what a metric needs.", "kind")
metrics.count_in_files()
ADDED.add("one", count=2)
print(metrics.render_metrics(dict, dict).decode())
"""


def test_added_metric_needs_a_declaration_and_a_call(tmp_path: Path) -> None:
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ADDED], env=environment, check=True, capture_output=True, text=True)
    assert 'feedmill_added_total{kind="one"} 2.0' in done.stdout
    assert list(tmp_path.glob("counter_*.db"))
