from feedmill.runtime import metrics


def test_render_metrics_gives_counters_gauges_and_restarts() -> None:
    metrics.count_feed("full", 100)
    metrics.count_records(included=3, errors=1)
    metrics.count_extraction("whole")
    metrics.count_commit(3)
    metrics.observe_query(0.02)
    metrics.count_bounded("deadline")
    text = metrics.render_metrics(lambda: {"documents": 7, "feeds_waiting": 2}, lambda: {"gate": 1}).decode()
    assert 'feedmill_feeds_received_total{kind="full"}' in text
    assert 'feedmill_records_total{result="error"}' in text
    assert 'feedmill_query_seconds_bucket{le="0.025"}' in text
    assert 'feedmill_searches_bounded_total{bound="deadline"}' in text
    assert "feedmill_documents 7.0" in text
    assert 'feedmill_role_restarts_total{role="gate"} 1.0' in text
    assert "feedmill_marks_index" not in text
