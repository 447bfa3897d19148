"""Serving features of a running server: set by its file, over its ports alone."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from lxml import etree

from tests.acceptance.feedload import TROUBLE
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_for, wait_until

SETTINGS = """
[[collections]]
name = "press"
include = ["press.example.com/"]
exclude = ["contains:draft"]
[[collections]]
name = "english"
include = ["regexp:/en/"]
[[frontends]]
name = "intranet"
remove_urls = ["press.example.com/en/secret"]
"""


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    urls = (
        "press.example.com/en/1",
        "press.example.com/de/2",
        "press.example.com/en/draft",
        "press.example.com/en/secret",
        "a.example.com/en/3",
    )
    pages = [make_record(f"http://{url}", f"<html><title>Page {place}</title>needle {place}</html>") for place, url in enumerate(urls)]
    with running(tmp_path_factory.mktemp("serving") / "data", SETTINGS) as made:
        made.feed(make_feed(*pages))
        yield made


def gsp(appliance: Appliance, query: str) -> Any:
    status, _, body = appliance.request("GET", appliance.search_port, f"/search?output=xml_no_dtd&filter=0&num=100&q=needle&{query}")
    assert status == 200
    return etree.fromstring(body)


def urls(found: Any) -> list[str]:
    return sorted(one.text.removeprefix("http://") for one in found.findall("RES/R/U"))


def test_collections_and_removed_urls_of_the_file_are_obeyed(appliance: Appliance) -> None:
    assert urls(gsp(appliance, "site=press.english")) == ["press.example.com/en/1", "press.example.com/en/secret"]
    assert len(urls(gsp(appliance, "site=press|english"))) == 5
    found = gsp(appliance, "site=press&client=intranet")
    assert (urls(found), found.findtext("RES/M")) == (["press.example.com/de/2", "press.example.com/en/1"], "2")
    assert appliance.search("needle", site="press", client="intranet")["total"] == 2
    assert gsp(appliance, "site=nobody").find("RES") is None


def test_patterns_changed_in_the_file_are_obeyed_after_a_hangup(appliance: Appliance) -> None:
    appliance.reload(SETTINGS.replace('"press.example.com/"]', '"a.example.com/"]').replace("/en/secret", "/de/"))
    wait_for(["a.example.com/en/3"], lambda: urls(gsp(appliance, "site=press")))
    wait_for(4, lambda: appliance.search("needle", client="intranet")["total"])
    appliance.reload(SETTINGS)
    wait_for(["press.example.com/de/2", "press.example.com/en/1"], lambda: urls(gsp(appliance, "site=press&client=intranet")))
    wait_for(2, lambda: appliance.search("needle", site="press", client="intranet")["total"])


def test_bias_of_a_front_end_orders_its_results(appliance: Appliance) -> None:
    head = {"Authorization": "Bearer " + (appliance.data / "admin.token").read_text().strip()}

    def put(place: str, body: bytes) -> int:
        return appliance.request("PUT", appliance.admin, f"/api/v1/settings/{place}", body, head)[0]

    assert put("biases/last", b'{"sources": [{"pattern": "a.example.com/", "weight": 10}]}') == 201
    assert put("frontends/biased", b'{"bias": "last"}') == 201
    wait_for("http://a.example.com/en/3", lambda: appliance.urls("needle", client="biased")[0])
    assert put("biases/last", b'{"sources": [{"pattern": "a.example.com/", "weight": -10}]}') == 200
    wait_for("http://a.example.com/en/3", lambda: appliance.urls("needle", client="biased")[-1])


def test_settings_made_on_the_admin_port_are_obeyed_and_outlive_the_process(appliance: Appliance) -> None:
    head = {"Authorization": "Bearer " + (appliance.data / "admin.token").read_text().strip()}

    def send(method: str, place: str, body: bytes = b"") -> int:
        return appliance.request(method, appliance.admin, f"/api/v1/settings/{place}", body, head)[0]

    assert send("PUT", "collections/drafts", b'{"include": ["contains:draft"]}') == 201
    wait_for(["press.example.com/en/draft"], lambda: urls(gsp(appliance, "site=drafts")))
    match = b'{"keymatches": [{"term": "needle", "url": "http://promo.example.com/", "title": "Promo"}], "remove_urls": ["contains:/de/"]}'
    assert send("PUT", "frontends/intranet", match) == 200
    found = gsp(appliance, "site=press&client=intranet")
    assert found.findtext("GM/GL") == "http://promo.example.com/"
    assert urls(found) == ["press.example.com/en/1", "press.example.com/en/secret"]
    assert send("PUT", "synonyms/cars", b'{"two_way": [["pin", "needle"]]}') == 201
    assert appliance.search("pin")["total"] == 5
    before = appliance.role_pids()["web"]
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: appliance.role_pids().get("web", before) != before, "another web process")
    # the next process opens the port again; a connection that the killed one had is broken
    wait_for(1, lambda: appliance.search("pin", site="drafts")["total"], bearing=TROUBLE)
    for place in ("synonyms/cars", "frontends/intranet", "collections/drafts"):
        assert send("DELETE", place) == 204
    assert appliance.search("pin")["total"] == 0
    assert urls(gsp(appliance, "site=press&client=intranet")) == ["press.example.com/de/2", "press.example.com/en/1"]
