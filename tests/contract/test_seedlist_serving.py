"""Seedlists that the search port serves: read back by our own reader, page by page, with what changed and who may see it."""

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.types import ASGIApp

from feedmill.core.urls.networks import Networks
from feedmill.http.common.proxyheaders import ProxyTrust
from feedmill.http.search import seedlists
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.seedlists import write_timestamp
from feedmill.model.access import Acl
from feedmill.model.audit import AuditKind
from feedmill.model.change import PutDocument
from feedmill.model.document import Attachment, Attributes, Document, DocumentState
from feedmill.model.pulling import RunMode
from feedmill.ports import DeletedItem, ListedItem, PullPage
from feedmill.services.pulling.seedlists import FetchedBody, SeedlistAddress, SeedlistSource
from feedmill.wire.seedlist.parse import iter_entries, scan_page
from feedmill.wire.seedlist.schema import SeedlistEntry, SeedlistPage
from tests.asgi import Answer, ask_app
from tests.builders.access import deny, permit
from tests.builders.documents import save
from tests.builders.feeds import add_feed
from tests.contract.searchharness import NOW, SearchHarness, ask, open_harness
from tests.contract.signinharness import ADMIN_TOKEN, open_signin_harness
from tests.fakes import ManualClock

ADMINISTRATOR = {"authorization": f"Bearer {ADMIN_TOKEN}"}
HOST = "http://search.example.com"
LIST = f"{HOST}/seedlist/myserver"


class World:
    """A search port whose clock stands shortly after the documents were changed."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(NOW + timedelta(minutes=1))
        harness = open_signin_harness(folder, clock=self.clock)
        self.harness: SearchHarness = harness.search
        self.app: ASGIApp = search_app(
            self.harness.services(),
            SearchSite(
                signin=harness.site, clock=self.clock, seedlist_key=b"k" * 32, history=timedelta(days=7), auditing=harness.signing.auditing
            ),
        )
        self.auditing = harness.signing.auditing

    def get(self, url: str, **headers: str) -> Answer:
        parts = urlsplit(url)
        return ask_app(self.app, "GET", parts.path, query=parts.query, headers=headers or ADMINISTRATOR)

    def fetch(self, url: str, headers: Mapping[str, str], max_bytes: int, seconds: float) -> FetchedBody:
        del headers, max_bytes, seconds
        found = self.get(url)
        return FetchedBody(url=url, status=found.status, media_type=found.headers["content-type"].partition(";")[0], body=found.body)

    def crawl(self, url: str = LIST, *, since: str = "") -> list[PullPage]:
        """Crawls the list with our own reader."""
        source = SeedlistSource("con", SeedlistAddress(url=url), self.fetch, max_content_bytes=1_000_000)
        return list(source.iter_pages(RunMode.INCREMENTAL if since else RunMode.FULL, since=since, checkpoint=""))

    def page(self, url: str = LIST) -> tuple[SeedlistPage, list[SeedlistEntry]]:
        found = self.get(url)
        assert found.status == 200, found.text
        page = scan_page([found.body], url)
        entries = [entry for entry in iter_entries([found.body], url, page) if isinstance(entry, SeedlistEntry)]
        assert len(entries) == page.entries
        return page, entries

    def add(self, *documents: Document, acls: Mapping[str, Acl] | None = None) -> list[int]:
        return self.harness.add(documents, into_index=False, acls=acls)

    def make(self, url: str, body: str = "words", **given: object) -> Document:
        """Makes a document whose content can be read."""
        ref = self.harness.blobs.put(io.BytesIO(body.encode()), len(body.encode()))
        return replace(self.harness.make(url, body, **given), content=ref, content_bytes=len(body))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def ids_of(pages: list[PullPage]) -> list[str]:
    """Returns the numbers at the ends of the URLs of what was listed."""
    return [item.url.rpartition("2F")[2] for page in pages for item in page.items if isinstance(item, ListedItem)]


def test_documents_are_read_back_by_our_own_reader(world: World) -> None:
    attributes = Attributes(
        mimetype="text/plain", unsearchable=("secretly",), undisplayed=("internal",), display_url="https://show.example.com/1"
    )
    metadata = (("Topic", "a <b> & c"), ("Topic", "d"), ("secretly", "x"), ("internal", "y"))
    world.add(world.make("http://a.example.com/1", "wörter", title="A & B", attributes=attributes, metadata=metadata))
    (page,) = world.crawl()
    (item,) = page.items
    assert isinstance(item, ListedItem)
    change = item.load()
    assert isinstance(change, PutDocument)
    assert change.url == "seedlist://search.example.com/con/http%3A%2F%2Fa.example.com%2F1"
    assert change.content is not None
    assert change.content.stream.read().decode() == "wörter"
    assert change.attributes.title == "A & B"
    assert change.attributes.display_url == "https://show.example.com/1"
    assert change.attributes.unsearchable == ("secretly",)
    assert change.attributes.undisplayed == ("internal",)
    assert change.metadata is not None
    assert [pair for pair in change.metadata if pair[0] == "Topic"] == [("Topic", "a <b> & c"), ("Topic", "d")]
    assert ("location_taxonomy", "hr") in change.metadata
    assert change.acl is not None
    assert change.acl.element is None


@pytest.mark.parametrize("following", [lambda page: page.next_url, lambda page: re.sub("&State=[^&]*", "", page.next_url)])
def test_pages_follow_by_state_and_by_start_alone(world: World, following: Callable[[SeedlistPage], str]) -> None:
    world.add(*(world.make(f"http://a.example.com/{number}") for number in range(5)))
    seen, url, timestamps = [], f"{LIST}?Range=2", []
    while url:
        page, entries = world.page(url)
        seen.append([entry.id[-1] for entry in entries])
        timestamps.append(page.timestamp)
        url = following(page)
    assert seen == [["0", "1"], ["2", "3"], ["4"]]
    assert timestamps == ["", "", write_timestamp(world.clock() - timedelta(minutes=5))]


def test_page_ends_before_crawlers_refuse_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seedlists, "PAGE_BYTES", 3_000)
    world.add(*(world.make(f"http://a.example.com/{number}", metadata=(("m", "x" * 1_500),)) for number in range(3)))
    assert [len(page.items) for page in world.crawl()] == [1, 1, 1]


def test_later_crawl_has_what_changed_and_what_was_deleted(world: World) -> None:
    old = NOW - timedelta(days=1)
    for number in range(3):
        world.add(replace(world.make(f"http://a.example.com/{number}"), updated_at=old))
    timestamp = world.crawl()[-1].since
    assert world.crawl(since=timestamp)[-1].items == ()
    with world.harness.store.reading() as unit:
        known = unit.documents.reader.find_many([f"http://a.example.com/{number}" for number in range(3)])
    first, second = known["http://a.example.com/0"], known["http://a.example.com/1"]
    save(world.harness.store, replace(first, state=DocumentState.GONE, updated_at=NOW), replace(second, updated_at=NOW))
    (page,) = world.crawl(since=timestamp)
    assert [item.url.rpartition("2F")[2] for item in page.items if isinstance(item, DeletedItem)] == ["0"]
    assert ids_of([page]) == ["1"]
    assert ids_of(world.crawl()) == ["1", "2"]


def test_later_crawl_goes_through_the_store_in_bounded_steps(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.services.documentlisting.PASSED_AT_ONCE", 2)
    monkeypatch.setattr(seedlists, "POSITIONS_AT_ONCE", 2)
    for number in range(9):
        world.add(replace(world.make(f"http://a.example.com/{number}"), updated_at=NOW - timedelta(days=number != 8)))
    pages = world.crawl(since=write_timestamp(NOW - timedelta(hours=1)))
    assert ids_of(pages) == ["8"]
    assert len(pages) > 1
    page, _ = world.page(f"{LIST}?Timestamp={write_timestamp(NOW - timedelta(hours=1))}&Start=1")
    assert page.entries == 0


def test_timestamp_from_before_the_history_is_refused(world: World) -> None:
    found = world.get(f"{LIST}?Timestamp={write_timestamp(NOW - timedelta(days=8)).replace('+', '%2B')}")
    assert found.status == 400
    assert "crawl without Timestamp" in found.text


def test_date_lists_what_changed_since(world: World) -> None:
    world.add(world.make("http://a.example.com/0"))
    assert world.page(f"{LIST}?Date=2026-03-01T00:00:00%2B0000")[0].entries == 1
    assert world.page(f"{LIST}?Date=2026-03-01T14:00:00%2B0100")[0].entries == 0


def test_sources_are_containers(world: World) -> None:
    world.add(world.make("http://a.example.com/0"))
    add_feed(world.harness.store, "hr")
    assert world.get(f"{LIST}?SeedlistId=none").status == 404
    page, entries = world.page(f"{LIST}?Action=GetChildren")
    assert [(entry.id, entry.is_container, entry.acls) for entry in entries] == [("hr", True, ())]
    assert page.timestamp
    assert world.get(f"{LIST}?Action=GetNumberOfDocuments").text == "1\n"
    assert world.get(f"{LIST}?Action=GetNumberOfDocuments&Date=2026-03-02T00:00:00Z").text == "0\n"
    assert ids_of(world.crawl(f"{LIST}?Action=GetChildren")) == ["0"]
    assert world.page(f"{LIST}?SeedlistId=hr")[0].entries == 1


@pytest.mark.parametrize(
    "query",
    [
        *("Nothing=1", "Start=x", "Start=-1", "Range=%00", "Action=Delete", "Format=HTML", "Date=yesterday"),
        *("State=x", "State=fA==", "State=OTk5OTk5OTk5OTk5OTk5OTk5OTl8MQ==", "Timestamp=%F0", "Timestamp=////////////"),
    ],
)
def test_wrong_parameters_are_named(world: World, query: str) -> None:
    found = world.get(f"{LIST}?{query}")
    assert found.status == 400
    assert query.partition("=")[0] in found.text


def test_audit_log_says_who_read_what(world: World) -> None:
    (number,) = world.add(world.make("http://x/secret", "words"))
    world.page(f"{LIST}?Action=GetDocuments")
    world.page(f"{LIST}?Action=GetChildren")
    world.get(f"{HOST}/seedlist/content?id={number}")
    world.get(f"{HOST}/seedlist/content?id=99")
    world.get(LIST, authorization="Bearer wrong")
    events = [entry.event for entry in world.auditing.iter_entries(kind="seedlist.")]
    assert {(event.actor, event.kind) for event in events} == {("admin.token", AuditKind.SEEDLIST_READ)}
    assert [dict(event.details) for event in events] == [
        {"action": "GetDocuments", "seedlist": "", "start": 0, "entries": 1, "ids": ["http://x/secret"]},
        {"action": "GetChildren", "seedlist": "", "start": 0, "entries": 0, "ids": []},
        {"url": "http://x/secret"},
    ]


def test_content_is_that_without_attachments(world: World) -> None:
    document = world.make("http://x/a", "wordsfile")
    attributes = replace(document.attributes, attachments=(Attachment(start=5, size_bytes=4, name="b"),))
    (number,) = world.add(replace(document, attributes=attributes))
    assert world.get(f"{HOST}/seedlist/content?id={number}").body == b"words"


def test_attachments_are_related_files_that_our_own_reader_fetches(world: World) -> None:
    files = (Attachment(start=5, size_bytes=4, mimetype="text/plain", name="b & c.txt"), Attachment(start=9, size_bytes=3, name="d"))
    document = world.make("http://a.example.com/1", "wordsfileend", attributes=Attributes(mimetype="text/html", attachments=files))
    (number,) = world.add(document)
    _, (entry,) = world.page()
    assert entry.content is not None
    assert entry.content.url == f"{HOST}/seedlist/content?id={number}"
    assert [(link.url, link.media_type, link.title) for link in entry.related] == [
        (f"{HOST}/seedlist/content?id={number}&attachment=1", "text/plain", "b & c.txt"),
        (f"{HOST}/seedlist/content?id={number}&attachment=2", "", "d"),
    ]
    (page,) = world.crawl()
    (item,) = page.items
    assert isinstance(item, ListedItem)
    change = item.load()
    assert isinstance(change, PutDocument)
    assert change.content is not None
    assert change.content.stream.read() == b"wordsfileend"
    assert [(each.start, each.size_bytes, each.name) for each in change.attributes.attachments] == [(5, 4, "b & c.txt"), (9, 3, "d")]
    assert world.get(f"{HOST}/seedlist/content?id={number}&attachment=3").status == 404


def test_document_with_attachments_alone_has_no_content(world: World) -> None:
    files = (Attachment(start=0, size_bytes=4, mimetype="text/plain", name="b"),)
    world.add(world.make("http://a.example.com/1", "file", attributes=Attributes(attachments=files)))
    _, (entry,) = world.page()
    assert (entry.content, len(entry.related)) == (None, 1)


def test_row_without_content_leads_to_its_page(world: World) -> None:
    world.add(replace(world.make("googledb://db/staff/a%2Fb"), content=None, content_bytes=0))
    _, (entry,) = world.page()
    assert entry.content is None
    assert [link.url for link in entry.via] == ["http://search.example.com/db/staff/a%2Fb"]


@pytest.mark.parametrize("query", ["", "id=", "id=x", "id=99", "id=99999999999999999999999"])
def test_content_that_is_not_there_is_not_found(world: World, query: str) -> None:
    assert world.get(f"{HOST}/seedlist/content?{query}").status in (400, 404)


def test_documents_are_for_administrators_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    ids = world.add(world.make("http://a.example.com/0"))
    for path in (LIST, f"{HOST}/seedlist/content?id={ids[0]}", f"{HOST}/seedlist/authverify/getACLTokens"):
        found = world.get(path, accept="*/*")
        assert found.status == 401
        assert "Basic" in found.headers["www-authenticate"]
        assert world.get(path).status == 200
    for path in (LIST, f"{HOST}/seedlist/content?id={ids[0]}"):
        parts = urlsplit(path)
        found = ask_app(world.app, "GET", parts.path, query=parts.query, headers={"x-forwarded-user": "ann"}, peer="10.0.0.1")
        assert found.status == 403


def test_tokens_of_a_user_are_those_of_what_the_user_may_see(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    acls = {
        "http://a.example.com/1": Acl(entries=(permit("ann"),)),
        "http://a.example.com/2": Acl(entries=(permit("ann"), permit("bob"))),
        "http://a.example.com/3": Acl(entries=(permit("ann"), deny("bob"))),
    }
    documents = [harness.make(f"http://a.example.com/{number}") for number in range(5)]
    documents[4] = replace(documents[4], secure=True)
    harness.add(documents, into_index=False, acls=acls)
    trust = ProxyTrust(trusted=Networks.parse(["10.0.0.1"]))
    app = search_app(harness.services(), SearchSite(proxy=trust, seedlist_key=b"k"))

    def ask_as(path: str, user: str = "") -> Answer:
        return ask_app(app, "GET", path, headers={"x-forwarded-user": user} if user else {}, peer="10.0.0.1")

    # without sign-in no user has a role, so the page is built by a port with the same key
    (tmp_path / "signin").mkdir()
    signin = open_signin_harness(tmp_path / "signin")
    listed = ask(search_app(harness.services(), SearchSite(signin=signin.site, seedlist_key=b"k")), "/seedlist/myserver", **ADMINISTRATOR)
    page = scan_page([listed.body], LIST)
    entries = [entry for entry in iter_entries([listed.body], LIST, page) if isinstance(entry, SeedlistEntry)]
    tokens = {entry.id[-1]: entry.acls for entry in entries}
    assert tokens["0"] is None
    assert tokens["4"] == ()

    def seen_by(user: str) -> list[str]:
        own = set(re.findall("<token>(.*?)</token>", ask_as("/seedlist/authverify/getACLTokens", user).text))
        return [number for number, acl in tokens.items() if acl is None or set(acl) & own]

    assert seen_by("ann") == ["0", "1", "2", "3"]
    assert seen_by("bob") == ["0", "2"]
    assert ask_as("/seedlist/authverify/getACLTokens").status == 401
    assert ask_as("/seedlist/myserver", "ann").status == 403
    assert "<userid>bob" in ask_as("/seedlist/authverify/validateUser", "bob").text
