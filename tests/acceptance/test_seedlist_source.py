"""A seedlist at a whole server: its entries are searched by users with their tokens, and follow its changes."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.promises import post_fields, run_command
from tests.appliance import Appliance, running
from tests.waiting import wait_until

AUTHORIZATION = "Basic Y3Jhd2xlcjpzZWNyZXQ="
FIELDS = (
    '<category scheme="com.ibm.wplc.taxonomy://location_taxonomy" term="id7" label="Reports"/>'
    '<field id="address"><field id="city">Perth</field><field id="street">Main</field></field>'
)
TOKENS_PATH = "/seedlist/authverify/getACLTokens"


class SeedlistServer(ThreadingHTTPServer):
    """Serves ``pages`` by their path and query to the user ``crawler``, and ``tokens`` to users by their cookie."""

    daemon_threads = True
    pages: dict[str, bytes]
    tokens: dict[str, str]


class _Handler(BaseHTTPRequestHandler):
    server: SeedlistServer

    def do_GET(self) -> None:
        body = self.server.pages.get(self.path)
        status = 401 if self.headers["Authorization"] != AUTHORIZATION else 404 if body is None else 200
        if self.path == TOKENS_PATH:
            token = self.server.tokens.get(self.headers["Cookie"] or "")
            status, body = (200, f"<groupsforuser><token>{token}</token></groupsforuser>".encode()) if token else (401, b"")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body or b"") if status == 200 else 0))
        self.end_headers()
        if status == 200:
            self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:
        del format, args


def entry_of(identifier: str, inside: str) -> str:
    return (
        f'<entry><id>{identifier}</id><link rel="via" href="/show?id={identifier}&x=1" type="text/html"/><title>T</title>{inside}</entry>'
    )


def page_of(*inside: str) -> bytes:
    return f"<atom:feed>{''.join(inside)}</atom:feed>".encode()


@pytest.fixture
def seedlist() -> Iterator[SeedlistServer]:
    with SeedlistServer(("127.0.0.1", 0), _Handler) as server:
        server.pages = {
            "/list": page_of(
                '<link rel="next" href="/list?Start=2&State=x"/>',
                entry_of("1", '<content src="/load" type="text/plain"/><acls><acl>team</acl></acls>'),
                entry_of("2", f'<summary>wombat</summary><link rel="related" href="/more" title="pouch.txt"/>{FIELDS}'),
            ),
            "/list?Start=2&State=x": page_of("<timestamp>t/1=</timestamp>", entry_of("3", "<summary>wombat</summary><acls/>")),
            "/list?Timestamp=t%2F1%3D": page_of("<timestamp>t2</timestamp>", entry_of("2", '<action do="delete"/>')),
            "/load": b"wombat in a file",
            "/more": b"a second file says marsupial",
        }
        server.tokens = {"LtpaToken2=carl-proof==": "team"}
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def server(tmp_path: Path, seedlist: SeedlistServer) -> Iterator[Appliance]:
    settings = f"""
[[sources]]
name = "connections"
kind = "seedlist"
url = "http://127.0.0.1:{seedlist.server_port}/list"
user = "crawler"
password = "secret"
guard = 1.0
[sources.user_tokens]
url = "http://127.0.0.1:{seedlist.server_port}{TOKENS_PATH}"
cookies = ["LtpaToken2"]
cache_seconds = 0
timeout_seconds = 60
[signin.proxy]
trusted = ["127.0.0.1"]
"""
    with running(tmp_path / "data", settings) as appliance:
        yield appliance


def run(server: Appliance, *options: str) -> tuple[int, dict[str, Any]]:
    code, output, _ = run_command("sources", "run", "connections", *options, "--data", server.data, "--config", server.config, "--json")
    return code, json.loads(output)


def counts(**given: int) -> dict[str, int]:
    return {"added": 0, "changed": 0, "deleted": 0, "unchanged": 0, "errors": 0, **given}


def seen_by(server: Appliance, user: str, cookie: str = "", word: str = "wombat") -> list[str]:
    headers = ({"X-Forwarded-User": user} if user else {}) | ({"Cookie": cookie} if cookie else {})
    status, _, body = server.request("GET", server.search_port, f"/api/v1/search?q={word}&num=100", headers=headers)
    assert status == 200, body
    return sorted(result["url"].rpartition("/")[2] for result in json.loads(body)["results"])


def check_facets(server: Appliance) -> None:
    path = "/api/v1/search?q=wombat&facet=location_taxonomy&facet=address.city&dnavs=inmeta:location_taxonomy%3DReports"
    status, _, body = server.request("GET", server.search_port, path)
    assert status == 200, body
    answer = json.loads(body)
    assert [result["url"].rpartition("/")[2] for result in answer["results"]] == ["2"]
    counted = {facet["name"]: [(value["value"], value["count"]) for value in facet["values"]] for facet in answer["facets"]}
    assert counted == {"location_taxonomy": [("Reports", 1)], "address.city": [("Perth", 1)]}


def test_seedlist_is_searched_by_those_with_its_tokens_and_follows_its_changes(server: Appliance, seedlist: SeedlistServer) -> None:
    assert run(server) == (0, counts(added=3))
    groups = b"""<xmlgroups><membership><principal scope="GROUP" namespace="connections">team</principal>
    <members><principal scope="USER">ann</principal></members></membership></xmlgroups>"""
    status, _, body = post_fields(server, "/xmlgroups", [("groupsource", b"tokens"), ("feedtype", b"full"), ("data", groups)])
    assert (status, body) == (200, b"Success")
    wait_until(lambda: seen_by(server, "ann") == ["1", "2"], "the document of the team")
    assert seen_by(server, "bob") == ["2"]
    assert seen_by(server, "") == ["2"]
    proof = "theme=dark; LtpaToken2=carl-proof=="
    assert seen_by(server, "carl", proof) == ["1", "2"]
    assert seen_by(server, "", proof) == seen_by(server, "carl", "LtpaToken2=made-up") == seen_by(server, "carl") == ["2"]
    document = server.document("seedlist://127.0.0.1/connections/2")
    assert document is not None
    assert document["display_url"] == f"http://127.0.0.1:{seedlist.server_port}/show?id=2&x=1"
    check_facets(server)
    assert seen_by(server, "", word="marsupial") == seen_by(server, "", word="pouch") == ["2"]
    assert run(server, "--full") == (0, counts(unchanged=3))

    assert run(server) == (0, counts(deleted=1))
    wait_until(lambda: seen_by(server, "ann") == ["1"], "the deletion")
    assert seen_by(server, "carl", proof) == ["1"]
    seedlist.tokens.clear()
    assert seen_by(server, "carl", proof) == []

    seedlist.pages["/list?Start=2&State=x"] = b"<html>sign in</html>"
    code, failed = run(server, "--full")
    assert (code, failed["errors"], failed["deleted"]) == (1, 1, 0)
    seedlist.pages["/list?Start=2&State=x"] = page_of()
    assert run(server, "--full")[1]["deleted"] == 1
