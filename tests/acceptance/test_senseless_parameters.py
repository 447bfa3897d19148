"""Every parameter of every JSON resource with senseless values: none fails the server, and what means nothing is refused by its name."""

import http.client
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.resource import ADMIN_PORT, FEED_PORT, SEARCH_PORT
from feedmill.runtime.admintoken import read_token
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

URL = "http://senseless.example.com/1"
VALUES = {
    "huge": "x" * 20_000,
    "many digits": "9" * 5_000,
    "beyond the store": "9" * 19,
    "negative": "-1",
    "no number": "NaN",
    "exponent": "1e3",
    "unknown": "nosuch",
    "control": "%00%01%0A",
    "half a character": "%ED%A0%80",
    "open": "((",
    "signs": "%22%27%3C%26%E2%80%AE",
    "encoded twice": "%2500",
}
NAMES = {SEARCH_PORT: "search", FEED_PORT: "feed", ADMIN_PORT: "admin"}
LARGE_TEXTS = "q as_q as_epq as_oq as_eq as_sitesearch sitesearch as_filetype as_lq facet"
NAME_LISTS = "dnavs getfields lr partialfields requiredfields site"
TAKEN = {
    "search": f"{LARGE_TEXTS} {NAME_LISTS}",
    "suggest": "q site",
    "listFeeds": "datasource",
    "pushDocuments": "datasource",
    "putDocument": "datasource",
    "deleteDocument": "datasource",
    "showPolicies": "url",
    "listCrawlQueue": "prefix after",
    "removeCrawled": "after",
    "recrawl": "after",
    "why": "url user namespace group query collection",
    "explainAccess": "url user namespace group",
    "listPrincipals": "url",
    "listAccessChanges": "user namespace group",
}
"""The parameters of operations for which some of the values have a sense: words to search for, names, parts of URLs."""

USUAL = {"url": quote(URL), "since": (datetime.now(UTC) - timedelta(days=1)).date().isoformat()}
BODIES = {"pushDocuments": b"[]", "changeUser": b'{"role": "viewer"}', "importPolicies": b'{"text": ""}'}


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("senseless") / "data") as appliance:
        appliance.feed(make_feed(make_record(URL, "<p>senseless words</p>")), "wiki")
        yield appliance


def list_operations() -> Iterator[Any]:
    for port, name in NAMES.items():
        for path, methods in build_openapi(port)["paths"].items():
            for method, operation in methods.items():
                if operation["parameters"]:
                    yield pytest.param(port, method.upper(), path, operation, id=f"{name} {operation['operationId']}")


def make_address(path: str, operation: Mapping[str, Any], name: str, value: str) -> str:
    """Makes the address of a request whose other required parameters have sense."""
    pairs = []
    for parameter in operation["parameters"]:
        schema, is_meant = parameter["schema"], parameter["name"] == name
        usual = schema.get("enum", [USUAL.get(parameter["name"], "wiki")])[0]
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", value if is_meant else usual)
        elif is_meant or parameter["required"]:
            pairs.append(f"{parameter['name']}={value if is_meant else usual}")
    return f"{path}?{'&'.join(pairs)}"


@pytest.mark.parametrize(("port", "method", "path", "operation"), list(list_operations()))
def test_senseless_value_is_refused_by_name_or_means_something(
    appliance: Appliance, port: str, method: str, path: str, operation: Mapping[str, Any]
) -> None:
    number = {SEARCH_PORT: appliance.search_port, FEED_PORT: appliance.gate, ADMIN_PORT: appliance.admin}[port]
    headers = {"Authorization": f"Bearer {read_token(appliance.data)}"} if port == ADMIN_PORT else {}
    connection = http.client.HTTPConnection("127.0.0.1", number, timeout=60)
    sent = BODIES.get(operation["operationId"], b"{}") if method != "GET" else None
    taken, failed, unnamed = set(), {}, {}
    for parameter in operation["parameters"]:
        name, kind, values = parameter["name"], parameter["in"], dict(VALUES)
        if "enum" in parameter["schema"]:
            del values["signs"]
        for label, value in values.items():
            connection.request(method, make_address(path, operation, name, value), sent, headers)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status >= 500:
                failed[name, label] = body
            elif answer.status < 300 and kind == "query":
                taken.add(name)
            elif answer.status == 400 and kind == "query" and name not in json.loads(body)["detail"]:
                unnamed[name, label] = json.loads(body)["detail"]
    connection.close()
    assert failed == {}
    assert unnamed == {}
    assert taken <= set(TAKEN.get(operation["operationId"], "").split())
