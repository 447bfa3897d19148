"""Serving features of a running server: set by its file, over its ports alone."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from lxml import etree
from tests.appliance import Appliance, feed_of, record, running

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
    pages = [record(f"http://{url}", f"<html><title>Page {place}</title>needle {place}</html>") for place, url in enumerate(urls)]
    with running(tmp_path_factory.mktemp("serving") / "data", SETTINGS) as made:
        made.feed(feed_of(*pages))
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
    config = appliance.data.parent / f"{appliance.data.name}.toml"
    assert appliance.process is not None
    config.write_text(SETTINGS.replace('"press.example.com/"]', '"a.example.com/"]').replace("/en/secret", "/de/"))
    os.kill(appliance.process.pid, signal.SIGHUP)
    wait_until(lambda: urls(gsp(appliance, "site=press")) == ["a.example.com/en/3"])
    wait_until(lambda: appliance.search("needle", client="intranet")["total"] == 4)
    config.write_text(SETTINGS)
    os.kill(appliance.process.pid, signal.SIGHUP)
    wait_until(lambda: appliance.search("needle", site="press", client="intranet")["total"] == 2)


def test_bias_of_a_front_end_orders_its_results(appliance: Appliance) -> None:
    head = {"Authorization": "Bearer " + (appliance.data / "admin.token").read_text().strip()}

    def put(place: str, body: bytes) -> int:
        return appliance.request("PUT", appliance.admin, f"/api/v1/settings/{place}", body, head)[0]

    assert put("biases/last", b'{"sources": [{"pattern": "a.example.com/", "weight": 10}]}') == 201
    assert put("frontends/biased", b'{"bias": "last"}') == 201
    wait_until(lambda: appliance.urls("needle", client="biased")[0] == "http://a.example.com/en/3")
    assert put("biases/last", b'{"sources": [{"pattern": "a.example.com/", "weight": -10}]}') == 200
    wait_until(lambda: appliance.urls("needle", client="biased")[-1] == "http://a.example.com/en/3")


def test_settings_made_on_the_admin_port_are_obeyed_and_outlive_the_process(appliance: Appliance) -> None:
    head = {"Authorization": "Bearer " + (appliance.data / "admin.token").read_text().strip()}

    def send(method: str, place: str, body: bytes = b"") -> int:
        return appliance.request(method, appliance.admin, f"/api/v1/settings/{place}", body, head)[0]

    assert send("PUT", "collections/drafts", b'{"include": ["contains:draft"]}') == 201
    wait_until(lambda: urls(gsp(appliance, "site=drafts")) == ["press.example.com/en/draft"])
    match = b'{"keymatches": [{"term": "needle", "url": "http://promo.example.com/", "title": "Promo"}], "remove_urls": ["contains:/de/"]}'
    assert send("PUT", "frontends/intranet", match) == 200
    found = gsp(appliance, "site=press&client=intranet")
    assert found.findtext("GM/GL") == "http://promo.example.com/"
    assert urls(found) == ["press.example.com/en/1", "press.example.com/en/secret"]
    assert send("PUT", "synonyms/cars", b'{"two_way": [["pin", "needle"]]}') == 201
    assert appliance.search("pin")["total"] == 5
    os.kill(appliance.role_pids()["web"][0], signal.SIGKILL)
    wait_until(lambda: appliance.search("pin", site="drafts")["total"] == 1)
    for place in ("synonyms/cars", "frontends/intranet", "collections/drafts"):
        assert send("DELETE", place) == 204
    assert appliance.search("pin")["total"] == 0
    assert urls(gsp(appliance, "site=press&client=intranet")) == ["press.example.com/de/2", "press.example.com/en/1"]


def wait_until(holds: Any, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except OSError:
            # a role that is started anew does not answer for a moment
            pass
        assert time.monotonic() < deadline
        time.sleep(0.1)
