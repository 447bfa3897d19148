"""The Python client against a whole server, as the tutorial has it."""

import ast
import asyncio
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType
from typing import Any, get_args

import pytest

import feedmill_client
from feedmill.runtime.admintoken import read_token
from feedmill_client import (
    AclEntry,
    AclPush,
    BadRequest,
    Busy,
    Client,
    Conflict,
    DataloadBuilder,
    Denied,
    DocumentPush,
    FeedBuilder,
    GroupsBuilder,
    NotFound,
    Port,
    PrincipalPush,
    Progress,
    SeedlistReader,
)
from feedmill_client.feeds import FeedType
from feedmill_client.replies import parse_xml
from tests import staffsource
from tests.appliance import Appliance, running
from tests.crawlsite import CrawlSite, html, serving
from tests.docexamples import CLIENT, DocExample, list_examples, list_modules_without
from tests.eitherclient import Either
from tests.waiting import wait_until

HOST = "http://python-client.example.com"
SETTINGS = """
[crawl]
allow_private = ["127.0.0.1/"]
[[dataload.profiles]]
name = "shop"
allowed = ["127.0.0.0/8"]
fields = [{name = "Price", type = "number"}]
"""


@pytest.fixture(scope="module", params=["blocking", "asyncio"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def open_client(kind: str, server: Appliance) -> Either:
    return Either(kind, "Client", search=f"http://127.0.0.1:{server.search_port}", feeds=f"http://127.0.0.1:{server.gate}")


@pytest.fixture
def client(kind: str, server: Appliance) -> Iterator[Either]:
    with open_client(kind, server) as made:
        yield made


def test_client_feeds_waits_and_finds(client: Either) -> None:
    changed = datetime(2026, 3, 1, 12, tzinfo=UTC)
    with FeedBuilder("full") as feed:
        feed.add(
            f"{HOST}/1",
            "<title>One & only</title>pyclientword & <b>more</b>",
            metadata={"team": ["Käse", "Öl"], "kind": "a"},
            last_modified=changed,
        )
        feed.add(
            f"{HOST}/2",
            "pyclientword und Käse".encode("latin-1"),
            mimetype="text/plain",
            display_url=f"{HOST}/shown",
            pagerank=90,
            lock=True,
        )
        feed.add(f"{HOST}/3", "pyclientword with a tone \x07 in it", mimetype="text/plain")
        feed.add(f"{HOST}/secret", "pyclientword hidden", acl=[AclEntry(name="ann"), AclEntry(name="staff", scope="group", access="deny")])
        receipt = client.wait(client.push(feed, datasource="python_client"))
    assert (receipt.state, receipt.records, receipt.errors, receipt.log) == ("completed", 4, 0, [])
    answer = client.search("pyclientword", facets=["team"], getfields=["team", "a.b"])
    assert sorted(result.url for result in answer.results) == [f"{HOST}/1", f"{HOST}/2", f"{HOST}/3"]
    first = next(result for result in answer.results if result.url == f"{HOST}/1")
    assert (first.title, first.metadata, first.date) == ("One & only", {"team": ["Käse", "Öl"]}, changed)
    assert [(value.value, value.count) for value in answer.facets[0].values] == [("Käse", 1), ("Öl", 1)]
    assert [result.url for result in client.search("pyclientword", select=["team:öl", "@source:python_client"]).results] == [f"{HOST}/1"]
    assert sorted(result.url for result in client.iter_results("pyclientword")) == [f"{HOST}/1", f"{HOST}/2", f"{HOST}/3"]
    assert client.suggest("one onl") == []
    assert client.suggest("onl") == ["only"]
    assert client.get_document(f"{HOST}/2").display_url == f"{HOST}/shown"
    document = client.inspect_document(f"{HOST}/secret")
    assert document.acl is not None
    assert [(one.name, one.scope, one.access) for one in document.acl.principals] == [("ann", "user", "permit"), ("staff", "group", "deny")]
    with pytest.raises(NotFound):
        client.get_document(f"{HOST}/secret")


def test_client_deletes_and_lists(kind: str, client: Either) -> None:
    name = f"python_deletes_{kind}"
    with FeedBuilder() as feed:
        feed.add(f"{HOST}/gone", "pyclientgone")
        feed.add_acl(f"{HOST}/folder/", [AclEntry(name="ann")], inheritance_type="parent-overrides")
        client.wait(client.push(feed, datasource=name))
    with FeedBuilder() as feed:
        feed.delete(f"{HOST}/gone")
        client.wait(client.push(feed, datasource=name))
    assert client.search("pyclientgone").total == 0
    assert len(client.list_receipts(name)) == 2
    assert name in [source.name for source in client.list_datasources()]
    client.delete_datasource(name)


def test_client_pushes_documents_as_json(kind: str, client: Either) -> None:
    home, word = f"{HOST}/json/{kind}", f"pyjsonword{kind}"
    acl = AclPush(principals=[PrincipalPush(scope="user", access="permit", name="ann")])
    modified = datetime(2024, 5, 31, 12, 30, tzinfo=UTC)
    documents: list[DocumentPush | Mapping[str, object]] = [
        DocumentPush(url=f"{home}/1", content=word, title="A title", last_modified=modified, metadata={"team": ["Käse", "Öl"]}),
        {"url": f"{home}/2", "content": word, "colour": "red"},
        DocumentPush(url=f"{home}/3", content=word, acl=acl),
    ]
    receipt = client.wait(client.push_documents(iter(documents), datasource="python_json").id)
    assert (receipt.state, receipt.included, [line.record for line in receipt.log]) == ("completed with errors", 2, [2])
    assert [(result.url, result.title, result.date) for result in client.iter_results(word)] == [(f"{home}/1", "A title", modified)]
    client.wait(client.put_document(f"{home}/2", DocumentPush(content=word), datasource="python_json").id)
    client.wait(client.delete_document(f"{home}/1", datasource="python_json").id)
    assert [result.url for result in client.iter_results(word)] == [f"{home}/2"]
    with pytest.raises(BadRequest, match="feedtype"):
        client.push_documents([], datasource="python_json", feedtype="sideways")


def test_client_retrieves_passages(client: Either) -> None:
    client.wait(client.push_documents([{"url": f"{HOST}/passage", "content": "Pypassage words."}], datasource="python_passages").id)
    (passage,) = client.retrieve("pypassage", num=3).passages
    assert (passage.url, passage.text) == (f"{HOST}/passage", "Pypassage words.")


def test_client_reads_feeds_back_and_sends_them_again(kind: str, client: Either, tmp_path: Path) -> None:
    name, states, sent = f"python_resent_{kind}", list[str](), list[Progress]()
    with FeedBuilder() as feed:
        feed.add(f"{HOST}/resent/{kind}", "pyresentword")
        feed_id = client.push(feed, datasource=name, on_progress=sent.append)
        pushed = feed.finish().read_bytes()
    client.wait(feed_id, on_progress=lambda receipt: states.append(receipt.state))
    assert (states[-1], sent[-1].sent_bytes, sent[-1].total_bytes) == ("completed", len(pushed), len(pushed))
    with (tmp_path / "feed.xml").open("wb") as file:
        client.download_feed(feed_id, file)
    assert (tmp_path / "feed.xml").read_bytes() == pushed
    with (tmp_path / "none.xml").open("wb") as file, pytest.raises(NotFound):
        client.download_feed("999999999", file)
    again = client.wait(client.resend_feed(feed_id).id)
    assert [receipt.id for receipt in client.iter_receipts(name)] == [again.id, feed_id]
    wait_until(lambda: client.count_backlog() == 0, "the feeds of other tests")
    client.delete_datasource(name, destroy=True)
    assert name not in [source.name for source in client.list_datasources()]


def test_client_pushes_groups(client: Either) -> None:
    with GroupsBuilder() as groups:
        groups.add("python staff", [AclEntry(name="ann"), AclEntry(name="python bosses", scope="group")])
        receipt = client.wait(client.push_groups(groups, groupsource="python_groups"))
    assert (receipt.groups, receipt.state, receipt.records) == (True, "completed", 1)


@pytest.fixture(scope="module")
def doors(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """Returns a server with a pull source, a profile and a crawler, for the tests of one kind of client."""
    folder = tmp_path_factory.mktemp(f"doors-{kind}")
    staffsource.make_database(folder, ["rowword", "rowword"])
    with running(folder / "data", SETTINGS + staffsource.SETTINGS) as made:
        yield made


@pytest.fixture
def administration(kind: str, doors: Appliance) -> Iterator[Either]:
    with Either(kind, "Administration", f"http://127.0.0.1:{doors.admin}", token=read_token(doors.data)) as made:
        yield made


@pytest.fixture
def feeder(kind: str, doors: Appliance) -> Iterator[Either]:
    with open_client(kind, doors) as made:
        yield made


def test_client_loads_items_and_says_what_became_of_each(feeder: Either) -> None:
    with DataloadBuilder() as items:
        items.insert(f"{HOST}/a&b", "loadword <&> 1", elements={"Title": "One & only", "Keywords": "k"}, fields={"Price": "9.50"})
        items.insert(f"{HOST}/c", "loadword with a tone \x07", fields={"Price": "dear"})
        items.insert(f"{HOST}/raw", raw_data=b"<title>Raw</title><p>loadword</p>", elements={"Category": "none"})
        items.update(f"{HOST}/unknown", "x")
        items.delete(f"{HOST}/unknown")
        items.delete_matching(f"{HOST}/c*")
        items.refresh()
        replies = feeder.load(items, profile="shop")
    assert [(reply.type, reply.is_done) for reply in replies] == [
        ("I", True),
        ("I", True),
        ("I", True),
        ("U", False),
        ("D", True),
        ("DP", True),
        ("UI", True),
    ]
    assert "Price" in replies[1].info
    assert replies[5].deleted == 1
    assert sorted(result.url for result in feeder.iter_results("loadword")) == [f"{HOST}/a&b", f"{HOST}/raw"]
    document = feeder.inspect_document(f"{HOST}/a&b")
    assert (document.title, document.metadata["Price"], document.metadata["keywords"]) == ("One & only", ["9.50"], ["k"])
    with DataloadBuilder() as items:
        items.refresh()
        with pytest.raises(BadRequest, match="No Profile"):
            feeder.load(items, profile="none")
        with pytest.raises(BadRequest, match="no name of an element"):
            items.insert(f"{HOST}/x", elements={"a b": ""})


def request_often(administration: Either) -> None:
    for _ in range(1_000):
        administration.request_run("staff")


def test_client_runs_pull_sources(kind: str, administration: Either) -> None:
    tried = administration.wait_for_run(administration.request_run("staff", dry_run=True).id)
    done = administration.wait_for_run(administration.request_run("staff", full=True).id)
    assert (tried.dry_run, tried.added, done.state, done.added, done.errors) == (True, 2, "completed", 2, 0)
    administration.pause_source("staff")
    (source,) = administration.list_sources()
    assert (source.name, source.kind, source.paused, source.last_run) == ("staff", "database", True, done)
    administration.resume_source("staff")
    assert [run.id for run in administration.list_runs("staff")] == [done.id, tried.id]
    with pytest.raises(NotFound):
        administration.request_run("none")
    with pytest.raises(Conflict):
        request_often(administration)
    with Either(kind, "Administration", administration._core.address.shown, token="wrong") as other, pytest.raises(Denied):
        other.list_sources()


def list_unread(read: Any, answer: Any) -> list[str]:
    """Returns the members of an answer that its type does not have."""
    if isinstance(read, list):
        return [name for one, raw in zip(read, answer, strict=True) for name in list_unread(one, raw)]
    if not is_dataclass(read):
        return []
    known = [each.name for each in fields(read)]
    inner = [f"{name}.{found}" for name in known if name in answer for found in list_unread(getattr(read, name), answer[name])]
    return [name for name in answer if name not in known] + inner


def test_client_asks_the_crawler_and_why(doors: Appliance, feeder: Either, administration: Either) -> None:
    with serving(CrawlSite()) as site:
        site.pages["/page"] = html("crawlword")
        url = site.url("/page")
        with FeedBuilder() as feed:
            feed.add(url)
            feeder.wait(feeder.push(feed, datasource="web"), searchable=False)
        wait_until(lambda: feeder.search("crawlword").total == 1, "the page")
        assert administration.get_crawl().groups["crawled"] == 1
        assert [entry.url for entry in administration.list_crawl_queue(group="crawled")] == [url]
        assert [entry.url for entry in administration.iter_crawl_queue()] == [url]
        assert administration.recrawl(url) == 1
        with pytest.raises(NotFound, match=r"knows no URL that 'http://none\.test/' matches"):
            administration.recrawl("http://none.test/")
        wait_until(lambda: len(administration.get_crawl_entry(url).history) == 2, "the second fetch")
        administration.pause_crawl()
        assert administration.get_crawl().paused
        administration.resume_crawl()
        wait_until(lambda: administration.why(url, query="crawlword").searchable, "the fetched version")
        found = administration.why(url, user="ann", query="crawlword")
        assert found.crawl is not None
        assert (found.query.matches, found.query.rank, found.access.public, found.access.decision) == (True, 1, True, "INDETERMINATE")
        with Port(f"http://127.0.0.1:{doors.admin}", token=read_token(doors.data)) as port:
            read = {
                "/api/v1/crawl": administration.get_crawl(),
                f"/api/v1/crawl/entry?url={url}": administration.get_crawl_entry(url),
                f"/api/v1/why?url={url}&user=ann&query=crawlword": found,
            }
            assert [name for path, answer in read.items() for name in list_unread(answer, port.get_json(path))] == []
        missing = administration.why(f"{HOST}/never")
        assert (missing.searchable, bool(missing.causes)) == (False, True)


def test_client_reads_seedlists(kind: str, doors: Appliance, feeder: Either) -> None:
    with FeedBuilder("full") as feed:
        for number in range(5):
            feed.add(f"{HOST}/seed/{number}", f"<title>Seed {number}</title>", acl=[AclEntry(name="ann")] if number == 1 else None)
        feeder.wait(feeder.push(feed, datasource="seeds"))
    url = f"http://127.0.0.1:{doors.search_port}/seedlist/myserver?SeedlistId=seeds&Range=2"
    with Either(kind, "SeedlistReader", url, token=read_token(doors.data)) as reader:
        items, timestamp = reader.iter_items(), reader.timestamp
    assert [item.url for item in items] == [f"{HOST}/seed/{number}" for number in range(5)]
    assert (items[0].title, timestamp != "") == ("Seed 0", True)
    assert ["ann" in "".join(item.tokens or ()) or bool(item.tokens) for item in items] == [False, True, False, False, False]
    with FeedBuilder() as feed:
        feed.delete(f"{HOST}/seed/3")
        feeder.wait(feeder.push(feed, datasource="seeds"))
    with Either(kind, "SeedlistReader", url, token=read_token(doors.data), since=timestamp) as reader:
        later = reader.iter_items()
    assert [item.is_deletion for item in later if item.id == items[3].id] == [True]
    with Either(kind, "SeedlistReader", url) as reader, pytest.raises(Denied):
        reader.iter_items()
    with pytest.raises(BadRequest, match=r"no seedlist|no XML"):
        list(SeedlistReader(f"http://127.0.0.1:{doors.search_port}/search?q=x&output=xml").iter_items())


def test_replies_that_are_none_are_refused() -> None:
    for body in (b"", b"<a", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'):
        with pytest.raises(BadRequest):
            parse_xml(body)


def test_client_errors_are_distinguished(kind: str, client: Either, tmp_path: Path) -> None:
    with FeedBuilder() as feed:
        feed.add(f"{HOST}/x", "x")
        client.push(feed, datasource="python_errors")
        with pytest.raises(BadRequest, match="pushed already"):
            feed.add(f"{HOST}/y", "y")
        with pytest.raises(BadRequest, match="datasource"):
            client.push(feed, datasource="no name")
    with pytest.raises(BadRequest, match="was closed"):
        client.push(feed, datasource="python_errors")
    with pytest.raises(BadRequest, match="was closed"):
        feed.add(f"{HOST}/z", "z")
    with pytest.raises(NotFound):
        client.get_receipt("999999999")
    with pytest.raises(BadRequest, match="cursor="):
        list(client.iter_results("a", cursor="senseless"))
    with Either(kind, "Client", search="http://127.0.0.1:9") as other, pytest.raises(Busy):
        other.search("a")
    assert get_args(FeedType) == ("full", "incremental", "metadata-and-url")


def test_client_at_the_wrong_port_learns_the_right_one(kind: str, server: Appliance) -> None:
    gate, search = (f"http://127.0.0.1:{port}" for port in (server.gate, server.search_port))
    with Either(kind, "Client", search=gate, feeds=search) as crossed:
        with pytest.raises(NotFound, match="GET /api/v1/search is answered by the search port, which is 8080 by default"):
            crossed.search("x")
        with pytest.raises(NotFound, match="is answered by the feed port, which is 19900 by default"):
            crossed.get_receipt("7")


def test_client_what_http_cannot_carry_is_refused_or_replaced(kind: str, client: Either, server: Appliance) -> None:
    url = f"http://127.0.0.1:{server.search_port}"
    with Either(kind, "Client", search=url, token="a\r\nb") as other, pytest.raises(BadRequest, match="cannot be sent"):
        other.search("x")
    assert client.search("\ud800 pyclientnothing").total == 0


def test_every_module_of_the_client_has_an_example() -> None:
    assert list_modules_without(CLIENT) == set()


@pytest.mark.parametrize("example", list_examples(CLIENT), ids=lambda example: example.module)
def test_example_of_the_client_runs(example: DocExample, server: Appliance) -> None:
    client = Client(search=f"http://127.0.0.1:{server.search_port}", feeds=f"http://127.0.0.1:{server.gate}")
    with FeedBuilder() as feed:
        feed_id = client.push(feed, datasource="python_examples")
    exported = {name: getattr(feedmill_client, name) for name in feedmill_client.__all__}
    # The examples name the default ports; the server of this test has others.
    code = example.code.replace(":8080", f":{server.search_port}").replace(":19900", f":{server.gate}")
    code = code.replace(":8000", f":{server.admin}")
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    names = {"client": client, "feed_id": feed_id, "token": read_token(server.data), **exported}
    awaited = FunctionType(compile(code, example.module, "exec", flags=flags), names)()
    if inspect.iscoroutine(awaited):
        asyncio.run(awaited)
