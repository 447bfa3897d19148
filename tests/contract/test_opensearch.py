"""The description by which browsers offer the server as a search engine."""

from pathlib import Path

from lxml import etree

from feedmill.http.search.app import search_app
from tests.asgi import ask_app
from tests.contract.searchharness import ask, open_harness

NAMES = {"o": "http://a9.com/-/spec/opensearch/1.1/"}


def test_description_leads_to_the_address_of_the_request(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services())
    answer = ask_app(app, "GET", "/opensearch.xml", host="search.example.com:8080", port=8080)
    assert answer.headers["content-type"] == "application/opensearchdescription+xml"
    tree = etree.fromstring(answer.body)
    assert tree.findtext("o:ShortName", namespaces=NAMES) == "Feedmill"
    templates = {url.get("type"): url.get("template") for url in tree.iterfind("o:Url", NAMES)}
    assert templates == {
        "text/html": "http://search.example.com:8080/?q={searchTerms}&start={startIndex?}",
        "application/atom+xml": "http://search.example.com:8080/search"
        "?q={searchTerms}&start={startIndex?}&num={count?}&match=auto&output=atom",
        "application/x-suggestions+json": "http://search.example.com:8080/suggest?q={searchTerms}",
        "application/opensearchdescription+xml": "http://search.example.com:8080/opensearch.xml",
    }
    # a browser leaves out what it does not know, and sends an empty start
    assert ask(app, "/", "q=leek&start=").status == 200
    assert '<link rel="search" type="application/opensearchdescription+xml"' in ask(app, "/").text
    harness.store.close()
