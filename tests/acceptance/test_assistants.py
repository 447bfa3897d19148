"""A running server, tried with the SDK's own client of the Model Context Protocol: as two users, signed out, and with a wrong token."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests import programs
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record
from tests.builders.requests import PASSWORD, make_basic

FILLER = "Other words that say nothing about it. " * 30
TEXTS = {
    "open": f"<title>Open plan</title><nav>Home Contact</nav><p>{FILLER}</p><p>😀 The merger of 𐀀 and שלום is 公開 for everybody.</p>",
    "ann": f"<title>Plan of Ann</title><p>{FILLER}</p><p>The merger is known to her, and costs ten.</p>",
    "bob": f"<title>Plan of Bob</title><p>{FILLER}</p><p>The merger is known to him, and costs twelve.</p>",
}
URLS = {name: f"http://plans.example/{name}" for name in TEXTS}


@dataclass(slots=True)
class Served:
    """The server, and the headers of each user's assistant."""

    appliance: Appliance
    headers: dict[str, dict[str, str]]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.appliance.search_port}/mcp"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running(tmp_path_factory.mktemp("assistants") / "data", "[search]\nprocesses = 2\n") as appliance:
        acls = {"ann": make_acl_element("ann"), "bob": make_acl_element("bob")}
        records = [make_record(URLS[name], text, (("kind", "plan"),), acl=acls.get(name, "")) for name, text in TEXTS.items()]
        more = [make_record(f"http://more.example/{number}", f"<p>numerous {number}</p>") for number in range(12)]
        receipt = appliance.feed(make_feed(*records, *more), "plans", "full")
        assert receipt["state"] == "completed", receipt
        headers: dict[str, dict[str, str]] = {"nobody": {}, "wrong": {"Authorization": "Bearer fm_wrong"}}
        for name in ("ann", "bob"):
            made = programs.run("users", "add", name, "--password-stdin", "--data", appliance.data, given=PASSWORD + "\n")
            assert made.returncode == 0, made.stderr
            token = programs.run("tokens", "add", f"{name}-chat", "--scope", "search", "--user", name, "--json", "--data", appliance.data)
            headers[name] = {"Authorization": f"Bearer {json.loads(token.stdout)['token']}"}
        headers["ann by password"] = {"Authorization": make_basic("ann", PASSWORD)}
        yield Served(appliance, headers)


async def call(served: Served, who: str, mode: str, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Calls tools in one connection of the SDK's client, and returns their results."""
    async with (
        httpx2.AsyncClient(headers=served.headers[who], timeout=60) as http,
        Client(streamable_http_client(served.address, http_client=http), mode=mode) as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]
        return [await client.call_tool(tool, arguments) for tool, arguments in calls]


def find_ids(served: Served, who: str, query: str, mode: str = "auto") -> set[str]:
    [result] = asyncio.run(call(served, who, mode, ("search", {"query": query})))
    assert result.structured_content == json.loads(result.content[0].text)
    return {found["id"] for found in result.structured_content["results"]}


def fetch(served: Served, who: str, *ids: str) -> list[Any]:
    return asyncio.run(call(served, who, "auto", *(("fetch", {"id": each}) for each in ids)))


@pytest.mark.parametrize(
    ("who", "names", "mode"),
    [
        ("ann", {"open", "ann"}, "auto"),
        ("ann", {"open", "ann"}, "legacy"),
        ("ann by password", {"open", "ann"}, "auto"),
        pytest.param("ann by password", {"open", "ann"}, "legacy", marks=pytest.mark.thorough),
        ("bob", {"open", "bob"}, "auto"),
        pytest.param("bob", {"open", "bob"}, "legacy", marks=pytest.mark.thorough),
        ("nobody", {"open"}, "auto"),
        pytest.param("nobody", {"open"}, "legacy", marks=pytest.mark.thorough),
    ],
)
def test_assistant_finds_what_its_user_may_see(served: Served, who: str, names: set[str], mode: str) -> None:
    assert find_ids(served, who, "merger plan", mode) == {URLS[name] for name in names}
    allowed = fetch(served, who, *(URLS[name] for name in names))
    assert all(not result.is_error and "merger" in result.structured_content["text"] for result in allowed)
    for hidden, unknown in zip(
        fetch(served, who, *(URLS[name] for name in TEXTS.keys() - names)),
        fetch(served, who, *(f"http://plans.example/x{name[1:]}" for name in TEXTS.keys() - names)),
        strict=True,
    ):
        assert hidden.is_error
        assert hidden.content[0].text.rpartition("/")[0] == unknown.content[0].text.rpartition("/")[0]


def test_assistant_gets_ten_documents_and_more(served: Served) -> None:
    assert len(find_ids(served, "nobody", "numerous")) == 12


def test_document_is_whole_with_its_metadata(served: Served) -> None:
    [result] = fetch(served, "nobody", URLS["open"])
    document = result.structured_content
    assert (document["id"], document["url"], document["title"]) == (URLS["open"], URLS["open"], "Open plan")
    assert document["metadata"]["kind"] == ["plan"]
    assert all(part in document["text"] for part in ("Other words", "公開 for everybody", "Contact"))


def test_wrong_token_is_refused(served: Served) -> None:
    for method in ("POST", "GET", "DELETE"):
        status, headers, _ = served.appliance.request(method, served.appliance.search_port, "/mcp", b"{}", served.headers["wrong"])
        assert status == 401
        assert headers["www-authenticate"].startswith("Bearer")
    with pytest.raises(BaseExceptionGroup) as raised:
        asyncio.run(call(served, "wrong", "auto"))
    assert raised.value.exceptions


def test_other_sites_and_other_names_are_refused(served: Served) -> None:
    port = served.appliance.search_port
    for method in ("POST", "GET", "DELETE"):
        assert served.appliance.request(method, port, "/mcp", b"{}", {"Origin": "https://evil.example.org"})[0] == 403
        assert served.appliance.request(method, port, "/mcp", b"{}", {"Host": "evil.example.org"})[0] == 421


@pytest.mark.parametrize(("who", "names"), [("ann", {"open", "ann"}), ("bob", {"open", "bob"}), ("nobody", {"open"})])
def test_passages_are_parts_of_the_texts_that_fetch_returns(served: Served, who: str, names: set[str]) -> None:
    body = json.dumps({"query": "who knows of the merger", "num": 20}).encode()
    status, _, raw = served.appliance.request("POST", served.appliance.search_port, "/api/v1/retrieve", body, served.headers[who])
    assert status == 200
    passages = json.loads(raw)["passages"]
    assert {passage["url"] for passage in passages} == {URLS[name] for name in names}
    urls = [passage["url"] for passage in passages]
    for passage, result in zip(passages, fetch(served, who, *urls), strict=True):
        assert result.structured_content["text"][passage["start"] : passage["end"]] == passage["text"]
    assert any("😀 The merger of 𐀀" in passage["text"] for passage in passages)


def test_audit_log_names_who_read_what_and_no_query(served: Served) -> None:
    find_ids(served, "ann", "merger unlikelyword")
    fetch(served, "ann", URLS["ann"])
    done = programs.run("audit", "export", "--data", served.appliance.data)
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    requests = [entry["details"].pop("request_id", "") for entry in entries if entry["kind"].startswith("assistant.")]
    assert "" not in requests
    assert len(set(requests)) == len(requests)
    acts = [(entry["kind"], entry["actor"], entry["details"]) for entry in entries]
    assert ("assistant.search", "ann", {"results": 2}) in acts
    assert ("assistant.fetch", "ann", {"url": URLS["ann"], "found": True}) in acts
    assert "unlikelyword" not in done.stdout
