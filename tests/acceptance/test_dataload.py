"""A Thunderstone client in front of a server as a process: push, search as two users, update, delete, search again."""

from collections.abc import Iterator
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from tests.acceptance.promises import put
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element

SETTINGS = """
[signin.proxy]
trusted = ["127.0.0.0/8"]
[[dataload.profiles]]
name = "default"
allowed = ["127.0.0.0/8"]
categories = ["Press"]
fields = [{name = "Price", type = "number"}]
"""
SITE = "http://www.example.com"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("dataload") / "data", SETTINGS) as appliance:
        yield appliance


def load(server: Appliance, *items: str) -> list[str]:
    """Pushes items, and returns the status of each."""
    data = f"<ThunderstoneReplication>{''.join(f'<Item>{item}</Item>' for item in (*items, '<Type>UI</Type>'))}</ThunderstoneReplication>"
    form = urlencode({"profile": "default", "data": data}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = server.request("POST", server.gate, "/texis/dowalk/recvdata.xml", form, headers)
    assert status == 200, body
    return [result.findtext("Status") or "" for result in ET.fromstring(body).findall("ItemResult")][:-1]


def find(server: Appliance, query: str, user: str) -> list[str]:
    parameters = urlencode({"pr": "default", "query": query, "dropXSL": "1", "rpp": "10", "order": "Price"})
    headers = {"X-Forwarded-User": user}
    status, _, body = server.request("GET", server.search_port, f"/texis/search/main.xml?{parameters}", None, headers)
    assert status == 200, body
    return [(result.findtext("Url") or "").rpartition("/")[2] for result in ET.fromstring(body).findall("Result")]


def insert(name: str, inside: str) -> str:
    return f"<Type>I</Type><Url>{SITE}/{name}</Url>{inside}"


def test_client_loads_updates_and_deletes_what_two_users_find(server: Appliance) -> None:
    for name, user in (("a", "ann"), ("b", "bob")):
        put(server, f"acls-{name}", make_acl_element(user, url=f"{SITE}/{name}"))

    items = [insert(name, f"<Body>lamps of every kind</Body><u:Price>{price}</u:Price>") for name, price in (("a", 9), ("b", 10), ("c", 1))]
    assert load(server, *items) == ["OK"] * 3
    assert (find(server, "lamps", "ann"), find(server, "lamps", "bob")) == (["c", "a"], ["c", "b"])

    assert load(server, f"<Type>U</Type><Url>{SITE}/a</Url><Title>Chandeliers</Title>") == ["OK"]
    assert (find(server, "chandeliers", "ann"), find(server, "chandeliers", "bob")) == (["a"], [])

    assert load(server, f"<Type>D</Type><Url>{SITE}/c</Url>", f"<Type>DP</Type><Url>{SITE}/b*</Url>") == ["OK", "OK"]
    assert (find(server, "lamps", "ann"), find(server, "lamps", "bob")) == (["a"], [])
