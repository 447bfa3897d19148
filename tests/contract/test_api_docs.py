"""The page about the JSON resources of each port: all of them, and nothing from elsewhere."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.resource import ADMIN_PORT, FEED_PORT, SEARCH_PORT
from tests.asgi import ask_app
from tests.contract.allports import admin_port, feed_port, search_port

PORTS = {SEARCH_PORT: search_port, FEED_PORT: feed_port, ADMIN_PORT: admin_port}


@pytest.mark.parametrize("port", PORTS, ids=["search", "feed", "admin"])
def test_page_shows_every_resource_and_every_link_leads_somewhere(tmp_path: Path, port: str) -> None:
    app, document = PORTS[port](tmp_path), build_openapi(port)
    answer = ask_app(app, "GET", "/api/docs")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")
    tree: Any = html.fromstring(answer.text)
    ids = [element.get("id") for element in tree.iterfind(".//*[@id]")]
    assert len(ids) == len(set(ids))
    operations = {operation["operationId"]: operation for methods in document["paths"].values() for operation in methods.values()}
    assert set(operations) | set(document["components"]["schemas"]) <= set(ids)
    for name, operation in operations.items():
        [section] = tree.xpath("//section[@aria-labelledby=$name]", name=name)
        text = section.text_content()
        assert operation["summary"].replace("`", "") in text
        assert all(parameter["name"] in text and parameter["description"].replace("`", "") in text for parameter in operation["parameters"])
        assert "curl" in text
    links = [link.get("href") for link in tree.iterfind(".//a")]
    assert {link for link in links if not link.startswith("#")} == {"/api/docs/openapi.json", "/manual/"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert not re.search(r'(src|href)="(https?:)?//', answer.text)
    assert "<script" not in answer.text
    # a browser that may read the page may follow its link too
    assert ask_app(app, "GET", "/api/docs/openapi.json").json == document
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_policy_of_the_page_permits_its_own_style_alone(tmp_path: Path) -> None:
    answer = ask_app(search_port(tmp_path), "GET", "/api/docs")
    style = re.search(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in answer.headers["content-security-policy"]


def test_page_of_the_feed_port_is_for_trusted_addresses(tmp_path: Path) -> None:
    for path in ("/api/docs", "/api/docs/openapi.json"):
        assert ask_app(feed_port(tmp_path), "GET", path, peer="192.168.1.9").status == 403
        assert ask_app(admin_port(tmp_path), "GET", path, peer="192.168.1.9").status == 403
    assert ask_app(feed_port(tmp_path), "GET", "/api/docs", query="x=1").status == 400
