"""One feed through the whole gate: bytes on the wire, file and row on the disk."""

from pathlib import Path

from feedmill.model.feed import FeedKind
from feedmill.model.topic import Topic
from tests.acceptance.gateserver import body_of, header, run_gate, status
from tests.builders.requests import make_multipart


def test_push_acknowledged_keeps_file_and_row(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        body = make_multipart(("datasource", b"hr"), ("feedtype", b"full"), ("data", b"<gsafeed/>"))
        answer = gate.post(body, "multipart/form-data; boundary=<<")
        [feed] = gate.feeds()
        assert status(answer) == 200
        assert body_of(answer) == b"Success"
        assert header(answer, "content-type") == "text/plain"
        assert header(answer, "content-length") == "7"
        assert header(answer, "server") == "feedergate_1.0"
        assert header(answer, "x-feedmill-feed") == str(feed.id)
        assert (feed.datasource, feed.kind, feed.size_bytes, feed.client) == ("hr", FeedKind.FULL, 10, "127.0.0.1")
        assert gate.content(feed) == b"<gsafeed/>"
        assert gate.files() == [feed.file]
        assert Topic.FEEDS in gate.notifier.notified
        assert gate.counted == [("full", 10)]
