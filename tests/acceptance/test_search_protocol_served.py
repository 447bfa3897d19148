"""The search protocol as old front ends meet it: over HTTP, from a server that was fed."""

from collections.abc import Iterator
from typing import Any

import pytest
from lxml import etree

from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

STYLESHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="html"/>
<xsl:template match="GSP"><html><body><h1><xsl:value-of select="Q"/></h1><xsl:for-each select="RES/R">
<a href="{U}"><xsl:value-of select="T" disable-output-escaping="yes"/></a></xsl:for-each></body></html></xsl:template></xsl:stylesheet>"""


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    folder = tmp_path_factory.mktemp("protocol")
    (folder / "old.xsl").write_text(STYLESHEET)
    pages = [
        make_record(
            f"http://a.example.com/{number}/x", f"<html><title>Käse {number}</title>needle number{number}</html>", [("kind", "page")]
        )
        for number in range(12)
    ]
    shut = make_record("http://a.example.com/shut/x", "<html><title>Shut</title>needle</html>", authmethod="httpbasic")
    evil = make_record(
        "http://a.example.com/evil/x", "<html><title>&lt;script&gt;alert(1)&lt;/script&gt;</title>evil<script>alert(2)</script></html>"
    )
    with running(folder / "data", '[[frontends]]\nname = "old"\nstylesheet = "old.xsl"\n') as made:
        made.feed(make_feed(*pages, shut, evil))
        yield made


def get(appliance: Appliance, path: str) -> tuple[int, dict[str, str], bytes]:
    return appliance.request("GET", appliance.search_port, path)


def gsp(appliance: Appliance, query: str) -> Any:
    status, _, body = get(appliance, "/search?" + query)
    assert status == 200
    return etree.fromstring(body)


def test_search_protocol_pages_to_the_end(appliance: Appliance) -> None:
    page = gsp(appliance, "q=needle&output=xml_no_dtd&client=default_frontend&site=default_collection&getfields=kind")
    assert (page.findtext("RES/M"), page.find("RES").get("EN"), page.find("RES/R/MT").get("V")) == ("12", "10", "page")
    status, _, body = get(appliance, page.findtext("RES/NB/NU"))
    last: Any = etree.fromstring(body).find("RES")
    assert (status, last.get("SN"), last.get("EN"), last.find("NB/NU")) == (200, "11", "12", None)
    assert gsp(appliance, "q=needle&start=500").find("RES").get("EN") == "12"


def test_search_protocol_posted_form_is_read_and_bounded(appliance: Appliance) -> None:
    head = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = appliance.request("POST", appliance.search_port, "/search", b"q=needle+number3&output=xml_no_dtd", head)
    assert (status, etree.fromstring(body).findtext("RES/R/U")) == (200, "http://a.example.com/3/x")
    assert appliance.request("POST", appliance.search_port, "/search", b"q=" + b"a" * 11_000, head)[0] == 413


def test_search_protocol_secure_documents_are_hidden_from_users_signed_out(appliance: Appliance) -> None:
    assert gsp(appliance, "q=needle&access=s").find("RES") is None
    seen = [one.text for one in gsp(appliance, "q=needle&access=a&num=50").findall("RES/R/U")]
    assert len(seen) == 12
    assert "http://a.example.com/shut/x" not in seen
    assert get(appliance, "/cache?url=http://a.example.com/shut/x")[0] == 404


def test_search_protocol_stylesheet_renders_and_runs_nothing(appliance: Appliance) -> None:
    status, headers, body = get(appliance, "/search?q=evil&output=xml_no_dtd&proxystylesheet=old")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert b"<h1>evil</h1>" in body
    assert b"<script" not in body
    assert get(appliance, "/search?q=evil&proxystylesheet=")[0] == 400


def test_search_protocol_cached_copy_runs_nothing(appliance: Appliance) -> None:
    found = gsp(appliance, "q=evil").find("RES/R")
    path = f"/search?q=cache:{found.find('HAS/C').get('CID')}:{found.findtext('UE')}+evil&proxystylesheet=default_frontend"
    status, headers, body = get(appliance, path)
    assert status == 200
    assert b"<mark>evil</mark>" in body
    assert b"<script" not in body
    assert headers["content-security-policy"].startswith("sandbox")
