"""A new protocol is a format, an entry of the registry and a route: shown with JSON lines, from the feed port to a search."""

import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from feedmill.bootstrap.context import AppContext, open_context
from feedmill.bootstrap.feeds import build_feeder
from feedmill.bootstrap.index import build_extracting, build_indexing
from feedmill.bootstrap.intake import build_intake
from feedmill.bootstrap.search import build_search_services
from feedmill.core.documents.submission import read_submission
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.feeds.app import gate_app
from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.http.feeds.pushing import PushEndpoint, PushRules
from feedmill.http.feeds.trust import PUSH
from feedmill.model.access import ANONYMOUS
from feedmill.model.change import Change, Content, Delete, InvalidRecord, PutDocument, SourcePosition
from feedmill.model.document import Attributes
from feedmill.model.feed import Feed, FeedHeader, FeedState, FeedType, LogEntry, LogLevel
from feedmill.model.search import SearchRequest
from feedmill.ports.feedformats import FormatOptions, RegisteredFormat
from feedmill.services.feeds.feeder import FeederLane
from feedmill.services.feeds.reading import detect_format
from feedmill.settings import Settings
from feedmill.wire.registry import FORMATS
from feedmill.wire.upload.reader import FEED_FORM
from tests.asgi import Answer, ask_app
from tests.migratedstore import prepare_migrated

# --- what a protocol adds -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: bytes


@dataclass(slots=True)
class LinesParser:
    """Yields the lines of a feed; an empty line is no record."""

    skip: int
    items: int = 0
    header: FeedHeader = field(default_factory=FeedHeader)
    remarks: list[LogEntry] = field(default_factory=list)
    _rest: bytes = b""

    @property
    def records(self) -> int:
        return self.items

    def feed(self, data: bytes) -> list[Line]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        return self._take(whole)

    def close(self) -> list[Line]:
        return self._take([self._rest])

    def discard(self) -> None:
        self._rest = b""

    def _take(self, lines: list[bytes]) -> list[Line]:
        first, self.items = self.items + 1, self.items + len([line for line in lines if line.strip()])
        numbered = enumerate((line for line in lines if line.strip()), first)
        return [Line(number, line) for number, line in numbered if number > self.skip]


@dataclass(frozen=True, slots=True)
class JsonLines:
    options: FormatOptions

    def parse(self, skip: int) -> LinesParser:
        return LinesParser(skip)

    def convert(self, item: Line) -> Change:
        place = SourcePosition(record=item.number, line=item.number)
        try:
            said: dict[str, Any] = json.loads(item.text)
        except ValueError:
            return self.reject(item, "the line is no JSON")
        if said.get("delete"):
            return Delete(place=place, url=said["url"])
        data = said["text"].encode()
        return PutDocument(
            place=place,
            url=said["url"],
            attributes=Attributes(mimetype="text/plain"),
            content=Content(stream=io.BytesIO(data), size_bytes=len(data)),
            whole=self.options.feedtype is FeedType.FULL,
        )

    def reject(self, item: Line, reason: str) -> InvalidRecord:
        return InvalidRecord(place=SourcePosition(record=item.number, line=item.number), url=None, reason=reason)

    def make_repairer(self) -> None:
        return None


JSON_LINES = RegisteredFormat[Change](open=JsonLines, recognizes=lambda head: head.startswith(b"#lines"))
RULES = PushRules(form=FEED_FORM, format="notes", read=lambda values, _has_data: read_submission(values))

# --- the server with that protocol ----------------------------------------------------------------------------------------------

WITH_JSON_LINES = replace(FORMATS, documents={**FORMATS.documents, "notes": JSON_LINES})


@pytest.fixture
def context(tmp_path: Path) -> Iterator[AppContext]:
    prepare_migrated(tmp_path)
    with open_context(tmp_path, Settings()) as opened:
        yield opened


def push(context: AppContext, lines: list[str], *, path: str = "/jsonlines", feedtype: str = "full") -> Answer:
    intake = build_intake(context)
    with ThreadPoolExecutor(1) as workers:
        endpoint = PushEndpoint(config=GateConfig, intake=intake, workers=workers, count_feed=lambda *_: None, rules=RULES)
        routes = [DeclaredRoute("/jsonlines", endpoint, methods=["POST"], requires=PUSH)]
        app = gate_app(config=GateConfig, intake=intake, dtd="", count_feed=lambda *_: None, find_problems=list, routes=routes)
        fields = {"datasource": "notes", "feedtype": feedtype, "data": "\n".join(lines)}
        body = "".join(f'--xx\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
        headers = {"content-type": "multipart/form-data; boundary=xx"}
        return ask_app(app, "POST", path, body=f"{body}--xx--\r\n".encode(), headers=headers)


def work(context: AppContext, formats: Any = WITH_JSON_LINES) -> Feed:
    """Applies and indexes all that waits, and returns the newest feed."""
    feeder = build_feeder(context, FeederLane(owner="feeder"), formats)
    with closing(build_extracting(context)) as extracting, closing(build_indexing(context)) as indexing:
        while True:
            any_work = [feeder.turn(), extracting.turn(), indexing.turn()]
            with context.store.reading() as unit:
                feed = unit.feeds.reader.list_newest(None, 1)[0]
            if feed.state.is_final and feed.searchable_at is not None:
                return feed
            if not any(any_work):
                context.notifier.wait(0.02)


def find(context: AppContext, query: str) -> list[str]:
    return [result.url for result in build_search_services(context).searcher.search(SearchRequest(query=query), ANONYMOUS).results]


def line(name: str, text: str) -> str:
    return json.dumps({"url": f"http://docs.test/{name}", "text": text})


def test_new_protocol_goes_from_the_feed_port_to_a_search(context: AppContext) -> None:
    assert push(context, [line("a", "red apples"), "not json", line("b", "green pears")]).text == "Success"

    feed = work(context)

    assert (feed.format, feed.state) == ("notes", FeedState.COMPLETED_WITH_ERRORS)
    assert (feed.records, feed.included, feed.errors) == (3, 2, 1)
    with context.store.reading() as unit:
        assert unit.feeds.log.list_log(feed.id, 10) == [LogEntry(level=LogLevel.ERROR, reason="the line is no JSON", record=2, line=2)]
    assert find(context, "apples") == ["http://docs.test/a"]


def test_full_feed_of_a_new_protocol_replaces_what_its_source_had(context: AppContext) -> None:
    push(context, [line("a", "red apples"), line("b", "green pears")])
    work(context)
    push(context, [line("b", "yellow pears")])

    assert work(context).state is FeedState.COMPLETED
    assert (find(context, "apples"), find(context, "yellow")) == ([], ["http://docs.test/b"])


def test_feed_of_an_unknown_format_fails_with_the_reason(context: AppContext) -> None:
    push(context, [line("a", "red apples")])

    feed = work(context, FORMATS)

    assert feed.state is FeedState.FAILED_IN_ERROR
    with context.store.reading() as unit:
        assert [entry.reason for entry in unit.feeds.log.list_log(feed.id, 10)] == ["the server does not know the feed format 'notes'"]


def test_appliance_paths_name_their_formats(context: AppContext) -> None:
    push(context, ["<gsafeed><group/></gsafeed>"], path="/xmlfeed")

    assert work(context).format == "gsafeed"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<gsafeed>", "gsafeed"),
        (b"<?xml version='1.0'?><xmlgroups>", "gsagroups"),
        (b"#lines", "notes"),
        (b' [{"url": ""}]', "jsonarray"),
        (b'\xef\xbb\xbf{"url": ""}', "jsonlines"),
        (b"neither", "gsafeed"),
        (b"", "gsafeed"),
    ],
)
def test_format_is_recognized_by_the_first_bytes(head: bytes, name: str) -> None:
    assert detect_format(WITH_JSON_LINES, head) == name
