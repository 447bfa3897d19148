"""The Python client against a whole server, as the tutorial has it."""

import ast
import asyncio
import inspect
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType
from typing import get_args

import pytest

import feedmill_client
from feedmill.runtime.admintoken import read_token
from feedmill_client import (
    AclEntry,
    AclPush,
    Administration,
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
    PrincipalPush,
    SeedlistReader,
)
from feedmill_client.feeds import FeedType
from feedmill_client.replies import parse_xml
from tests.appliance import Appliance, running
from tests.crawlsite import CrawlSite, html, serving
from tests.docexamples import CLIENT, DocExample, list_examples, list_modules_without
from tests.waiting import wait_until

HOST = "http://python-client.example.com"
SETTINGS = """
[crawl]
allow_private = ["127.0.0.1/"]
[[dataload.profiles]]
name = "shop"
allowed = ["127.0.0.0/8"]
fields = [{name = "Price", type = "number"}]
[[sources]]
name = "staff"
kind = "database"
dsn = "sqlite:///staff.db"
crawl_query = "SELECT id, body FROM articles"
keys = ["id"]
"""


@pytest.fixture
def client(server: Appliance) -> Client:
    return Client(search=f"http://127.0.0.1:{server.search_port}", feeds=f"http://127.0.0.1:{server.gate}")


def test_client_feeds_waits_and_finds(client: Client) -> None:
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


def test_client_deletes_and_lists(client: Client) -> None:
    with FeedBuilder() as feed:
        feed.add(f"{HOST}/gone", "pyclientgone")
        feed.add_acl(f"{HOST}/folder/", [AclEntry(name="ann")], inheritance_type="parent-overrides")
        client.wait(client.push(feed, datasource="python_deletes"))
    with FeedBuilder() as feed:
        feed.delete(f"{HOST}/gone")
        client.wait(client.push(feed, datasource="python_deletes"))
    assert client.search("pyclientgone").total == 0
    assert len(client.list_receipts("python_deletes")) == 2
    assert "python_deletes" in [source.name for source in client.list_datasources()]
    client.delete_datasource("python_deletes")


def test_client_pushes_documents_as_json(client: Client) -> None:
    acl = AclPush(principals=[PrincipalPush(scope="user", access="permit", name="ann")])
    documents: list[DocumentPush | Mapping[str, object]] = [
        DocumentPush(url=f"{HOST}/json/1", content="pyjsonword", title="A title", metadata={"team": ["Käse", "Öl"]}),
        {"url": f"{HOST}/json/2", "content": "pyjsonword", "colour": "red"},
        DocumentPush(url=f"{HOST}/json/3", content="pyjsonword", acl=acl),
    ]
    receipt = client.wait(client.push_documents(iter(documents), datasource="python_json").id)
    assert (receipt.state, receipt.included, [line.record for line in receipt.log]) == ("completed with errors", 2, [2])
    assert [(result.url, result.title) for result in client.iter_results("pyjsonword")] == [(f"{HOST}/json/1", "A title")]
    client.wait(client.put_document(f"{HOST}/json/2", DocumentPush(content="pyjsonword"), datasource="python_json").id)
    client.wait(client.delete_document(f"{HOST}/json/1", datasource="python_json").id)
    assert [result.url for result in client.iter_results("pyjsonword")] == [f"{HOST}/json/2"]
    with pytest.raises(BadRequest, match="feedtype"):
        client.push_documents([], datasource="python_json", feedtype="sideways")


def test_client_pushes_groups(client: Client) -> None:
    with GroupsBuilder() as groups:
        groups.add("python staff", [AclEntry(name="ann"), AclEntry(name="python bosses", scope="group")])
        receipt = client.wait(client.push_groups(groups, groupsource="python_groups"))
    assert (receipt.groups, receipt.state, receipt.records) == (True, "completed", 1)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """Returns a server with a pull source, a profile and a crawler."""
    folder = tmp_path_factory.mktemp("doors")
    with closing(sqlite3.connect(folder / "staff.db")) as connection, connection:
        connection.execute("CREATE TABLE articles (id INTEGER, body TEXT)")
        connection.execute("INSERT INTO articles VALUES (1, 'rowword'), (2, 'rowword')")
    with running(folder / "data", SETTINGS) as made:
        yield made


@pytest.fixture
def administration(doors: Appliance) -> Administration:
    return Administration(f"http://127.0.0.1:{doors.admin}", token=read_token(doors.data))


def test_client_loads_items_and_says_what_became_of_each(doors: Appliance) -> None:
    client = Client(search=f"http://127.0.0.1:{doors.search_port}", feeds=f"http://127.0.0.1:{doors.gate}")
    with DataloadBuilder() as items:
        items.insert(f"{HOST}/a&b", "loadword <&> 1", elements={"Title": "One & only", "Keywords": "k"}, fields={"Price": "9.50"})
        items.insert(f"{HOST}/c", "loadword with a tone \x07", fields={"Price": "dear"})
        items.insert(f"{HOST}/raw", raw_data=b"<title>Raw</title><p>loadword</p>", elements={"Category": "none"})
        items.update(f"{HOST}/unknown", "x")
        items.delete(f"{HOST}/unknown")
        items.delete_matching(f"{HOST}/c*")
        items.refresh()
        replies = client.load(items, profile="shop")
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
    assert sorted(result.url for result in client.iter_results("loadword")) == [f"{HOST}/a&b", f"{HOST}/raw"]
    document = client.inspect_document(f"{HOST}/a&b")
    assert (document.title, document.metadata["Price"], document.metadata["keywords"]) == ("One & only", ["9.50"], ["k"])
    with DataloadBuilder() as items:
        items.refresh()
        with pytest.raises(BadRequest, match="No Profile"):
            client.load(items, profile="none")
        with pytest.raises(BadRequest, match="no name of an element"):
            items.insert(f"{HOST}/x", elements={"a b": ""})


def request_often(administration: Administration) -> None:
    for _ in range(1_000):
        administration.request_run("staff")


def test_client_runs_pull_sources(administration: Administration) -> None:
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
    with pytest.raises(Denied):
        Administration(administration._core.address.shown, token="wrong").list_sources()


def test_client_asks_the_crawler_and_why(doors: Appliance, administration: Administration) -> None:
    client = Client(search=f"http://127.0.0.1:{doors.search_port}", feeds=f"http://127.0.0.1:{doors.gate}")
    with serving(CrawlSite()) as site:
        site.pages["/page"] = html("crawlword")
        url = site.url("/page")
        with FeedBuilder() as feed:
            feed.add(url)
            client.wait(client.push(feed, datasource="web"), searchable=False)
        wait_until(lambda: client.search("crawlword").total == 1, "the page")
        assert administration.get_crawl().groups["crawled"] == 1
        assert [entry.url for entry in administration.list_crawl_queue(group="crawled")] == [url]
        assert administration.recrawl(url) == 1
        with pytest.raises(NotFound, match=r"knows no URL that 'http://none\.test/' matches"):
            administration.recrawl("http://none.test/")
        wait_until(lambda: len(administration.get_crawl_entry(url).history) == 2, "the second fetch")
        administration.pause_crawl()
        assert administration.get_crawl().paused
        administration.resume_crawl()
        wait_until(lambda: administration.why(url, query="crawlword").searchable, "the fetched version")
        assert administration.why(url).crawl is not None
        missing = administration.why(f"{HOST}/never")
        assert (missing.searchable, bool(missing.causes)) == (False, True)


def test_client_reads_seedlists(doors: Appliance) -> None:
    client = Client(search=f"http://127.0.0.1:{doors.search_port}", feeds=f"http://127.0.0.1:{doors.gate}")
    with FeedBuilder("full") as feed:
        for number in range(5):
            feed.add(f"{HOST}/seed/{number}", f"<title>Seed {number}</title>", acl=[AclEntry(name="ann")] if number == 1 else None)
        client.wait(client.push(feed, datasource="seeds"))
    url = f"http://127.0.0.1:{doors.search_port}/seedlist/myserver?SeedlistId=seeds&Range=2"
    reader = SeedlistReader(url, token=read_token(doors.data))
    items = list(reader.iter_items())
    assert [item.url for item in items] == [f"{HOST}/seed/{number}" for number in range(5)]
    assert (items[0].title, reader.timestamp != "") == ("Seed 0", True)
    assert ["ann" in "".join(item.tokens or ()) or bool(item.tokens) for item in items] == [False, True, False, False, False]
    with FeedBuilder() as feed:
        feed.delete(f"{HOST}/seed/3")
        client.wait(client.push(feed, datasource="seeds"))
    later = list(SeedlistReader(url, token=read_token(doors.data), since=reader.timestamp).iter_items())
    assert [item.is_deletion for item in later if item.id == items[3].id] == [True]
    with pytest.raises(Denied):
        list(SeedlistReader(url).iter_items())
    with pytest.raises(BadRequest, match=r"no seedlist|no XML"):
        list(SeedlistReader(f"http://127.0.0.1:{doors.search_port}/search?q=x&output=xml").iter_items())


def test_replies_that_are_none_are_refused() -> None:
    for body in (b"", b"<a", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'):
        with pytest.raises(BadRequest):
            parse_xml(body)


def test_client_errors_are_distinguished(client: Client, tmp_path: Path) -> None:
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
    with pytest.raises(Busy):
        Client(search="http://127.0.0.1:9").search("a")
    assert get_args(FeedType) == ("full", "incremental", "metadata-and-url")


def test_client_what_http_cannot_carry_is_refused_or_replaced(client: Client, server: Appliance) -> None:
    with pytest.raises(BadRequest, match="cannot be sent"):
        Client(search=f"http://127.0.0.1:{server.search_port}", token="a\r\nb").search("x")
    assert client.search("\ud800 pyclientnothing").total == 0


def test_every_module_of_the_client_has_an_example() -> None:
    assert list_modules_without(CLIENT) == set()


@pytest.mark.parametrize("example", list_examples(CLIENT), ids=lambda example: example.module)
def test_example_of_the_client_runs(example: DocExample, server: Appliance, client: Client) -> None:
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
