"""The Python client against a whole server, as the tutorial has it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from feedmill.client import (
    AclEntry,
    AclPush,
    BadRequest,
    Busy,
    Client,
    DocumentPush,
    FeedBuilder,
    GroupsBuilder,
    NotFound,
    PrincipalPush,
)
from feedmill.client.feeds import FeedType
from feedmill.client.transport import Transport
from tests.appliance import Appliance
from tests.docexamples import DocExample, list_examples, list_modules_without

HOST = "http://python-client.example.com"


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
        feed.add(f"{HOST}/3", "pyclientword with a bell \x07 in it", mimetype="text/plain")
        feed.add(f"{HOST}/secret", "pyclientword hidden", acl=[AclEntry(name="ann"), AclEntry(name="staff", scope="group", access="deny")])
        receipt = client.wait(client.push(feed, datasource="python_client"))
    assert (receipt.state, receipt.records, receipt.errors, receipt.log) == ("completed", 4, 0, [])
    answer = client.search("pyclientword", facets=["team"], getfields=["team", "a.b"])
    assert sorted(result.url for result in answer.results) == [f"{HOST}/1", f"{HOST}/2", f"{HOST}/3"]
    first = next(result for result in answer.results if result.url == f"{HOST}/1")
    assert (first.title, first.metadata, first.date) == ("One & only", {"team": ["Käse", "Öl"]}, changed)
    assert [(value.value, value.count) for value in answer.facets[0].values] == [("Käse", 1), ("Öl", 1)]
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
    assert list_modules_without("client") == set()


@pytest.mark.parametrize("example", list_examples("client"), ids=lambda example: example.module)
def test_example_of_the_client_runs(example: DocExample, server: Appliance, client: Client) -> None:
    with FeedBuilder() as feed:
        feed_id = client.push(feed, datasource="python_examples")
    classes = {
        each.__name__: each for each in (AclEntry, AclPush, Client, DocumentPush, FeedBuilder, GroupsBuilder, PrincipalPush, Transport)
    }
    # The examples name the default ports; the server of this test has others.
    code = example.code.replace(":8080", f":{server.search_port}").replace(":19900", f":{server.gate}")
    exec(compile(code, example.module, "exec"), {"client": client, "feed_id": feed_id, **classes})
