"""The answers of a whole server are those that its OpenAPI documents describe, with no member that they do not name."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.resource import ADMIN_PORT, FEED_PORT, SEARCH_PORT
from feedmill.runtime.admintoken import read_token
from tests import programs, staffsource
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record
from tests.jsonschemas import find_differences
from tests.waiting import wait_until

URL = "http://documented.example.com/{}"
NAMES = {SEARCH_PORT: "search", FEED_PORT: "feed", ADMIN_PORT: "admin"}
SETTINGS = """
[crawl]
allow_private = ["127.0.0.1/"]
[[collections]]
name = "press"
include = ["documented.example.com/"]
[[frontends]]
name = "press"
keymatches = [{type = "keyword", term = "word", url = "http://promo.example.com/", title = "Promo"}]
related = [{term = "word", query = "other words"}]
"""
GIVEN = {
    "q": "word",
    "facet": "kind",
    "getfields": "*",
    "client": "press",
    "url": URL.format(1),
    "user": "ann",
    "query": "word",
    "since": (datetime.now(UTC) - timedelta(days=1)).date().isoformat(),
    "finding": "public",
    "section": "collections",
    "feed_id": "1",
    "id": "1",
}
CRAWLED = "http://127.0.0.1:9/crawled"
POLICY = {"pattern": "documented.example.com/policy/", "permit_users": ["ann"]}
PATHS = {
    "/api/v1/settings/policy_acls/{name}": {"name": "plans"},
    "/api/v1/sources/{name}/runs": {"name": "staff"},
    "/api/v1/settings/{section}/{name}": {"name": "press"},
    "/api/v1/crawl/entry": {"url": CRAWLED},
}


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    folder = tmp_path_factory.mktemp("documented")
    staffsource.make_database(folder, ["rowword"])
    with running(folder / "data", SETTINGS + staffsource.SETTINGS) as appliance:
        fill(appliance, folder)
        yield appliance


def fill(appliance: Appliance, folder: Path) -> None:
    """Makes some of everything that an answer may list."""
    pages = [make_record(URL.format(number), f"<p>word {number}</p>", [("kind", "page")]) for number in range(3)]
    appliance.feed(make_feed(*pages, make_record(URL.format("secret"), "word", acl=make_acl_element("ann")), make_record("nothing", "x")))
    appliance.feed(make_feed(make_record(CRAWLED)), "web", "metadata-and-url")
    assert programs.run("sources", "run", "staff", "--data", appliance.data, "--config", appliance.config).returncode == 0
    for words in (("users", "add", "ann", "--password-stdin"), ("tokens", "add", "pushing", "--scope", "push")):
        assert programs.run(*words, "--data", appliance.data, given="a good password\n").returncode == 0
    head = {"Authorization": f"Bearer {read_token(appliance.data)}"}
    place = "/api/v1/settings/policy_acls/plans"
    assert appliance.request("PUT", appliance.admin, place, json.dumps(POLICY).encode(), head)[0] == 201
    wait_until(lambda: appliance.search("word")["total"] == 3, "the documents")


def list_reads() -> list[Any]:
    found = []
    for port, name in NAMES.items():
        for path, methods in build_openapi(port)["paths"].items():
            content = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
            if "application/json" in content:
                found.append(pytest.param(port, path, methods["get"], id=f"{name} {path}"))
    return found


@pytest.mark.parametrize(("port", "path", "operation"), list_reads())
def test_answer_is_what_the_document_says(appliance: Appliance, port: str, path: str, operation: Mapping[str, Any]) -> None:
    number = {SEARCH_PORT: appliance.search_port, FEED_PORT: appliance.gate, ADMIN_PORT: appliance.admin}[port]
    given, pairs = GIVEN | PATHS.get(path, {}), []
    for parameter in operation["parameters"]:
        name = parameter["name"]
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", given[name])
        elif name in given and (parameter["required"] or name in ("q", "facet", "getfields", "client")):
            pairs.append(f"{name}={given[name]}")
    headers = {"Authorization": f"Bearer {read_token(appliance.data)}"} if port == ADMIN_PORT else {}
    status, _, body = appliance.request("GET", number, f"{path}?{'&'.join(pairs)}", headers=headers)
    answer = json.loads(body)
    responses, schemas = operation["responses"], build_openapi(port)["components"]["schemas"]
    content = responses.get(str(status), responses["default"])["content"]
    assert status == 200, answer
    assert answer, "there is nothing to compare"
    assert list(find_differences(answer, content["application/json"]["schema"], schemas)) == []
