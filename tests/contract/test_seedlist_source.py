"""Seedlists as pull sources: pages, timestamps, containers, contents, and what a fault costs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from feedmill.model.change import PutDocument
from feedmill.model.document import Attachment
from feedmill.model.errors import BadFeed, BadRequest, FeedmillError, UpstreamFailure
from feedmill.model.pulling import RunMode
from feedmill.ports import DeletedItem, FailedItem, ListedItem, PullPage, SkippedItem
from feedmill.services.pulling.seedlists import FetchedBody, Oversized, SeedlistAddress, SeedlistSource

HOST = "https://list.example.com"
LIST = f"{HOST}/seedlist/myserver?Action=GetDocuments"


def entry_of(identifier: str, inside: str = "") -> str:
    return f"<entry><id>{identifier}</id>{inside}</entry>"


def page_of(*inside: str, following: str = "", timestamp: str = "") -> bytes:
    link = f'<link rel="next" href="{following}"/>' if following else ""
    return f"<feed>{link}<timestamp>{timestamp}</timestamp>{''.join(inside)}</feed>".encode()


@dataclass
class Server:
    """A server in memory. ``requested`` lists each URL with the value of its header Authorization."""

    pages: dict[str, bytes | int] = field(default_factory=dict)
    requested: list[tuple[str, str]] = field(default_factory=list)

    def fetch(self, url: str, headers: Mapping[str, str], max_bytes: int, seconds: float) -> FetchedBody:
        assert seconds > 0
        self.requested.append((url, headers.get("Authorization", "")))
        body = self.pages.get(url, 404)
        if isinstance(body, int):
            return FetchedBody(url=url, status=body, media_type="text/html", body=b"")
        if len(body) > max_bytes:
            raise Oversized(f"its answer has more than {max_bytes} bytes")
        return FetchedBody(url=url, status=200, media_type="text/plain", body=body)

    def open(self, url: str = LIST, user: str = "") -> SeedlistSource:
        return SeedlistSource("con", SeedlistAddress(url=url, user=user, password="secret"), self.fetch, max_content_bytes=1_000)

    def read(
        self, mode: RunMode = RunMode.FULL, *, since: str = "", checkpoint: str = "", url: str = LIST, user: str = ""
    ) -> list[PullPage]:
        return list(self.open(url, user).iter_pages(mode, since=since, checkpoint=checkpoint))

    @property
    def urls(self) -> list[str]:
        return [url for url, _ in self.requested]


def ids_of(pages: list[PullPage]) -> list[str]:
    """Returns the ids of what was listed."""
    return [item.url.rpartition("/")[2] for page in pages for item in page.items if isinstance(item, ListedItem)]


def load(page: PullPage) -> PutDocument:
    (item,) = page.items
    assert isinstance(item, ListedItem)
    change = item.load()
    assert isinstance(change, PutDocument)
    return change


def test_pages_are_read_to_the_last_one_and_its_timestamp_counts() -> None:
    second = f"{HOST}/seedlist/myserver?Start=1"
    server = Server({LIST: page_of(entry_of("1"), following="?Start=1", timestamp="one"), second: page_of(entry_of("2"))})
    pages = server.read()
    assert ids_of(pages) == ["1", "2"]
    assert [page.since for page in pages] == ["one", ""]
    server.pages[second] = page_of(timestamp="two")
    assert [page.since for page in server.read()] == ["one", "two"]


def test_later_run_sends_the_timestamp_as_it_was_received() -> None:
    url = f"{LIST}&Timestamp=a%2Bb%2F%3D"
    server = Server({url: page_of(entry_of("1", '<action do="delete"/>'), timestamp="next")})
    (page,) = server.read(RunMode.INCREMENTAL, since="a+b/=", url=f"{HOST}/seedlist/myserver?timestamp=old&Action=GetDocuments")
    assert page.items == (DeletedItem(url="seedlist://list.example.com/con/1"),)
    assert page.since == "next"
    assert server.urls == [url]


def test_404_means_no_change_only_for_a_timestamp() -> None:
    (page,) = Server().read(RunMode.INCREMENTAL, since="t")
    assert page.since == "t"
    assert isinstance(page.items[0], SkippedItem)
    with pytest.raises(UpstreamFailure, match="answers 404"):
        Server().read()


@pytest.mark.parametrize(
    ("body", "error"), [(b"<feed><entry>", BadFeed), (b"<html>sign in</html>", BadFeed), (500, UpstreamFailure), (401, UpstreamFailure)]
)
def test_run_goes_on_at_the_page_that_failed(body: bytes | int, error: type[FeedmillError]) -> None:
    second = f"{HOST}/seedlist/myserver?Start=1"
    server = Server({LIST: page_of(entry_of("1"), following="?Start=1", timestamp="t"), second: body})
    pages = server.open().iter_pages(RunMode.FULL, since="", checkpoint="")
    reached = next(pages)
    with pytest.raises(error):
        next(pages)
    server.pages[second] = page_of(entry_of("2"), timestamp="u")
    server.requested.clear()
    rest = server.read(checkpoint=reached.checkpoint)
    assert ids_of(rest) == ["2"]
    assert rest[-1].since == "u"
    assert server.urls == [second]
    assert [page.items for page in server.read(checkpoint=rest[-1].checkpoint)] == [()]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (500, "^https://list.example.com/seedlist/myserver.Start=1: the server answers 500$"),
        (b"<feed>\n<entry></b></feed>", "^https://list.example.com/seedlist/myserver.Start=1: .*, line 2, column "),
        (b"x" * 2_000, "^https://list.example.com/seedlist/myserver.Start=1: its answer has more than 1500 bytes$"),
    ],
)
def test_failure_names_its_page(body: bytes | int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.services.pulling.seedlists.MAX_PAGE_BYTES", 1_500)
    with pytest.raises(FeedmillError, match=reason):
        Server({LIST: page_of(following="?Start=1"), f"{HOST}/seedlist/myserver?Start=1": body}).read()


@pytest.mark.parametrize("status", [400, 404, 410])
def test_page_that_the_server_no_longer_knows_has_the_next_run_begin_again(status: int) -> None:
    second = f"{HOST}/seedlist/myserver?Start=1&State=old"
    server = Server({LIST: page_of(entry_of("1"), following="?Start=1&amp;State=old"), second: status})
    first = server.open().iter_pages(RunMode.FULL, since="", checkpoint="")
    reached = next(first)
    with pytest.raises(UpstreamFailure):
        next(first)
    assert reached.checkpoint
    again = server.open().iter_pages(RunMode.FULL, since="", checkpoint=reached.checkpoint)
    assert next(again) == PullPage()
    with pytest.raises(UpstreamFailure, match=f"answers {status}, so the next run begins with the first page"):
        next(again)


def test_pages_that_lead_back_are_refused() -> None:
    with pytest.raises(BadRequest, match="twice"):
        Server({LIST: page_of(following=LIST.replace("&", "&amp;"))}).read()


def test_long_page_is_applied_in_parts() -> None:
    pages = Server({LIST: page_of(*(entry_of(str(number)) for number in range(250)), timestamp="t")}).read()
    assert [len(page.items) for page in pages] == [100, 100, 50]
    assert [page.since for page in pages] == ["", "", "t"]


CONTAINER = entry_of("c", '<link rel="via" type="application/atom+xml" href="/sub"/>')


def test_containers_are_passed_over_in_a_list_of_all_documents() -> None:
    (page,) = Server({LIST: page_of(CONTAINER, entry_of("1"))}).read()
    assert page.items[0] == SkippedItem(reason="the container c")


def test_containers_are_read_in_a_list_of_children() -> None:
    children = f"{HOST}/seedlist/myserver?Action=GetChildren"
    server = Server({children: page_of(CONTAINER, entry_of("1"), timestamp="t"), f"{HOST}/sub": page_of(entry_of("2"), timestamp="later")})
    pages = server.read(url=children)
    assert ids_of(pages) == ["1", "2"]
    assert [page.since for page in pages] == ["t", ""]


def container_of(identifier: str, *, documents: str = "", children: str = "") -> str:
    links = {"via": documents, "alternate": children}
    inside = (f'<link rel="{rel}" type="application/atom+xml" href="{url}"/>' for rel, url in links.items() if url)
    return entry_of(identifier, "".join(inside))


def test_documents_list_of_a_container_has_the_documents_of_inner_containers() -> None:
    children = f"{HOST}/seedlist/myserver?Action=GetChildren"
    inner = container_of("inner", documents="/inner")
    server = Server(
        {
            children: page_of(container_of("outer", documents="/outer", children="/c")),
            f"{HOST}/outer": page_of(inner, entry_of("1"), following="/outer2"),
            f"{HOST}/outer2": page_of(inner, entry_of("2")),
        }
    )
    pages = server.read(url=children)
    assert ids_of(pages) == ["1", "2"]
    assert server.urls == [children, f"{HOST}/outer", f"{HOST}/outer2"]
    server.requested.clear()
    assert ids_of(server.read(url=children, checkpoint=pages[1].checkpoint)) == ["2"]
    assert server.urls == [f"{HOST}/outer2"]


def test_lists_of_containers_are_read_once() -> None:
    children = f"{HOST}/seedlist/myserver?Action=GetChildren"
    server = Server(
        {
            children: page_of(*(container_of(each, children=f"/{each}") for each in ("a", "b", "a"))),
            f"{HOST}/a": page_of(container_of("b", children="/b"), container_of("root", children="/seedlist/myserver?Action=GetChildren")),
            f"{HOST}/b": page_of(container_of("itself", children="/b"), entry_of("1")),
        }
    )
    assert ids_of(server.read(url=children)) == ["1"]
    assert server.urls == [children, f"{HOST}/a", f"{HOST}/b"]


def test_content_is_fetched_with_the_user_of_the_source() -> None:
    server = Server(
        {
            LIST: page_of(entry_of("1", '<content src="https://list.example.com:9443/load"/>')),
            "https://list.example.com:9443/load": b"words",
        }
    )
    change = load(server.read(user="ann")[0])
    assert change.content is not None
    assert change.content.stream.read() == b"words"
    assert change.attributes.mimetype == "text/plain"
    assert {proof for _, proof in server.requested} == {"Basic YW5uOnNlY3JldA=="}


@pytest.mark.parametrize("url", ["https://other.example.com/x", "http://list.example.com/x"])
def test_user_is_not_sent_elsewhere(url: str) -> None:
    server = Server({LIST: page_of(entry_of("1", f'<content src="{url}"/>')), url: b"words"})
    load(server.read(user="ann")[0])
    assert server.requested[-1] == (url, "")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('<content src="/gone"/>', "^https://list.example.com/gone: the server answers 404$"),
        ('<content src="/closed"/>', "^https://list.example.com/closed: the server answers 403; check user and password$"),
        ('<content type="image/png">?</content>', "not base64"),
    ],
)
def test_content_that_cannot_be_read_costs_its_document_only(content: str, reason: str) -> None:
    (page,) = Server({LIST: page_of(entry_of("1", content)), f"{HOST}/closed": 403}).read()
    with pytest.raises(BadRequest, match=reason):
        load(page)


def test_content_that_is_too_large_leaves_a_document_without_it() -> None:
    inside = '<title>Film</title><content type="video/mp4" src="/large"/><link rel="related" title="more.txt" href="/more"/>'
    server = Server({LIST: page_of(entry_of("1", inside)), f"{HOST}/large": b"x" * 1_001, f"{HOST}/more": b"words"})
    change = load(server.read()[0])
    assert (change.attributes.title, change.attributes.mimetype) == ("Film", "video/mp4")
    assert change.content is not None
    assert change.content.stream.read() == b"words"
    assert change.reports == (f"{HOST}/large was left out: with it the document has more than 1000 bytes",)
    assert [note.reason for note in change.notes] == list(change.reports)


RELATED = '<link rel="related" type="text/plain" title="more.txt" href="/more"/>'


def test_related_files_are_attachments_of_the_content() -> None:
    listed = '<content src="/load"/>' + RELATED + '<link rel="related" href="/second"/>' + RELATED
    server = Server({LIST: page_of(entry_of("1", listed)), f"{HOST}/load": b"own", f"{HOST}/more": b"first", f"{HOST}/second": b"last"})
    change = load(server.read(user="ann")[0])
    assert change.content is not None
    assert change.content.stream.read() == b"ownfirstlast"
    assert change.content.size_bytes == 12
    assert change.attributes.attachments == (
        Attachment(start=3, size_bytes=5, mimetype="text/plain", name="more.txt"),
        Attachment(start=8, size_bytes=4, mimetype="text/plain"),
    )
    assert {proof for _, proof in server.requested} == {"Basic YW5uOnNlY3JldA=="}


def test_related_file_of_an_entry_without_content_is_found() -> None:
    change = load(Server({LIST: page_of(entry_of("1", RELATED)), f"{HOST}/more": b"first"}).read()[0])
    assert change.content is not None
    assert (change.content.stream.read(), change.attributes.attachments[0].start) == (b"first", 0)


@pytest.mark.parametrize(
    "link",
    [
        '<link rel="related" href="https://other.example.com/x"/>',
        '<link rel="related" type="application/atom+xml" href="/list"/>',
        '<link rel="related" href="/load"/>',
    ],
)
def test_related_link_that_is_no_other_file_of_the_server_is_only_metadata(link: str) -> None:
    server = Server({LIST: page_of(entry_of("1", '<content src="/load"/>' + link)), f"{HOST}/load": b"own"})
    change = load(server.read()[0])
    assert change.attributes.attachments == ()
    assert [name for name, _ in change.metadata or ()] == ["related"]
    assert server.urls == [LIST, f"{HOST}/load"]


@pytest.mark.parametrize("more", [404, 410, 403, b"x" * 998])
def test_related_file_that_is_gone_or_too_large_is_left_out_with_a_warning(more: bytes | int) -> None:
    server = Server({LIST: page_of(entry_of("1", '<content src="/load"/>' + RELATED)), f"{HOST}/load": b"own", f"{HOST}/more": more})
    change = load(server.read()[0])
    assert change.content is not None
    assert change.content.stream.read() == b"own"
    assert change.attributes.attachments == ()
    assert f"{HOST}/more was left out" in change.notes[0].reason


def test_related_file_that_may_come_later_is_tried_again() -> None:
    server = Server({LIST: page_of(entry_of("1", RELATED)), f"{HOST}/more": 503})
    with pytest.raises(BadRequest, match="answers 503"):
        load(server.read()[0])


def test_wrong_entries_are_named_so_that_their_documents_stay() -> None:
    (page,) = Server({LIST: page_of(entry_of("1", '<action do="x"/>'), "<entry/>")}).read()
    assert [item.url for item in page.items if isinstance(item, FailedItem)] == ["seedlist://list.example.com/con/1", None]


def test_digest_is_that_of_the_entry_wherever_it_stands() -> None:
    def digest(*inside: str) -> bytes:
        (page,) = Server({LIST: page_of(*inside)}).read()
        item = page.items[-1]
        assert isinstance(item, ListedItem)
        return item.digest

    assert digest(entry_of("1")) == digest("\n\n", entry_of("0"), entry_of("1"))
    assert digest(entry_of("1")) != digest(entry_of("1", "<acl>t</acl>"))
    assert digest(entry_of("1")) != digest("<acl>t</acl>", entry_of("1"))
