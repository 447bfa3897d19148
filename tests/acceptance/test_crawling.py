"""A running server crawls a site and an adaptor, and says what happened to each URL."""

import json
import os
import signal
import ssl
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from feedmill.runtime.admintoken import read_token
from tests.appliance import Appliance, running
from tests.browsers import needs_chromium
from tests.builders.feedxml import make_feed, make_record
from tests.crawlsite import CrawlSite, Reply, html, serving
from tests.sandboxparts import needs_namespaces
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import wait_for, wait_until

SETTINGS = """
[urls]
follow = ["127.0.0.1/", "localhost/", "file://files/", "smb://files/"]
do_not_follow = ["/refused"]
start = ["{start}", "file://files/docs/"]
[crawl]
host_load = 0.0
allow_private = ["127.0.0.1/", "localhost/"]
mail = "admin@example.com"
render = {patterns = ["contains:/app/"]}
ca_file = "{certificate}"
access = [{pattern = "contains:/trusted/", method = "certificate", certificate = "{certificate}", key = "{key}"}]
shares = [{prefix = "file://files/docs/", folder = "{folder}", make_public = true}]
[signin.proxy]
trusted = ["127.0.0.0/8"]
"""
LATE_ACL = '<acl url="{url}" inheritance-type="child-overrides"><principal scope="user" access="permit">ann</principal></acl>'


@pytest.fixture(scope="module")
def site() -> Iterator[CrawlSite]:
    with serving(CrawlSite()) as made:
        made.pages |= {
            "/robots.txt": Reply(200, b"User-agent: gsa-crawler\nDisallow: /closed\n", (("Content-Type", "text/plain"),)),
            "/start": html("startword <a href='/linked'>linkedanchor</a> <a href='/closed/a'>x</a> <a href='/no_crawl/a'>y</a>"),
            "/linked": html("linkedword <a href='deep?PHPSESSID=12'>deep</a> <a rel='nofollow' href='/unfollowed'>z</a>"),
            "/deep": html("deepword"),
        }
        yield made


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Returns the files of a certificate for ``localhost``, by which the crawler and the adaptor trust each other, and of its key."""
    folder = tmp_path_factory.mktemp("certificate")
    (folder / "cert.pem").write_text(CERTIFICATE)
    (folder / "key.pem").write_text(KEY)
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="module")
def secure_adaptor(certificate: tuple[Path, Path]) -> Iterator[CrawlSite]:
    """An adaptor in secure mode: it trusts callers by the common name of their certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.load_verify_locations(certificate[0])
    with serving(CrawlSite(), context) as made:
        yield made


@pytest.fixture(scope="module")
def settings(site: CrawlSite, certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("share")
    (folder / "deep").mkdir()
    (folder / "deep" / "ü file.txt").write_text("shareword")
    values = {"start": site.url("/start"), "folder": folder, "certificate": certificate[0], "key": certificate[1]}
    return reduce(lambda text, name: text.replace(f"{{{name}}}", str(values[name])), values, SETTINGS)


@pytest.fixture(scope="module")
def server(settings: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("crawl") / "data", settings) as made:
        yield made


def admin(server: Appliance, method: str, path: str, **query: str) -> tuple[int, object]:
    headers = {"Authorization": f"Bearer {read_token(server.data)}"}
    status, _, body = server.request(method, server.admin, f"/api/v1/crawl{path}?{urlencode(query)}", None, headers)
    return status, json.loads(body) if body else None


def entry(server: Appliance, url: str) -> dict[str, object]:
    status, shown = admin(server, "GET", "/entry", url=url)
    return dict(shown) if status == 200 and isinstance(shown, dict) else {}


def name_urls(server: Appliance, *urls: str) -> None:
    assert server.feed(make_feed(*(make_record(url) for url in urls)), "web")["state"] == "completed"


def urls_for(server: Appliance, user: str, query: str) -> list[str]:
    """Returns the URLs that a signed-in user finds."""
    path = f"/api/v1/search?{urlencode({'q': query})}"
    status, _, body = server.request("GET", server.search_port, path, None, {"X-Forwarded-User": user})
    assert status == 200
    return [result["url"] for result in json.loads(body)["results"]]


def wait_for_state(server: Appliance, url: str, code: int) -> None:
    wait_for(code, lambda: entry(server, url).get("code"))


def test_links_of_a_start_url_are_crawled_and_found(server: Appliance, site: CrawlSite) -> None:
    wait_for([site.url("/deep")], lambda: server.urls("deepword"))
    assert server.urls("linkedword") == [site.url("/linked")]
    assert entry(server, site.url("/deep"))["referrers"] == [site.url("/linked")]
    wait_for_state(server, site.url("/closed/a"), 24)
    assert not {"/closed/a", "/no_crawl/a", "/unfollowed", "/deep?PHPSESSID=12"} & set(site.paths())
    assert all(headers["user-agent"] == "gsa-crawler (Enterprise; Feedmill; admin@example.com)" for _, headers in site.requests)


@needs_chromium
@needs_namespaces
def test_page_made_by_a_script_is_rendered_and_found(server: Appliance, site: CrawlSite) -> None:
    url = site.url("/app/")
    site.pages["/app/"] = html(
        "<title>t</title><script>fetch('/text.json').then(r => r.text()).then(t => { document.body.append(t) })</script>"
    )
    site.pages["/text.json"] = Reply(200, b'"renderedword"', (("Content-Type", "application/json"),))
    name_urls(server, url)
    wait_for([url], lambda: server.urls("renderedword"))
    history = entry(server, url)["history"]
    assert isinstance(history, list)
    assert history[-1]["reason"] == "rendered with 1 files"


def test_files_of_a_share_are_found_through_their_folders_which_are_not(server: Appliance) -> None:
    url = "file://files/docs/deep/%C3%BC%20file.txt"
    wait_for([url], lambda: server.urls("shareword"))
    assert entry(server, "file://files/docs/deep/")["code"] == 13
    assert server.urls("inurl:files/docs") == [url]


def test_unknown_scheme_is_an_id_whose_state_says_so(server: Appliance) -> None:
    urls = ["smb://files/docs/a.txt", "file://files/other/a.txt"]
    name_urls(server, *urls)
    for url in urls:
        wait_for_state(server, url, 9)
        assert (server.document(url) or {})["state"] == "known, not crawled"


def test_failure_names_the_status_and_a_404_deletes(server: Appliance, site: CrawlSite) -> None:
    broken, gone = site.url("/broken"), site.url("/gone")
    site.pages |= {"/broken": Reply(503), "/gone": html("goneword")}
    name_urls(server, broken, gone)
    wait_for_state(server, broken, 32)
    reason = (server.document(broken) or {})["reason"]
    assert "HTTP status 503" in reason or "503" in reason
    wait_for([gone], lambda: server.urls("goneword"))

    del site.pages["/gone"]
    assert admin(server, "POST", "/recrawl", url=gone) == (202, {"requested": 1})
    wait_for_state(server, gone, 11)
    wait_for([], lambda: server.urls("goneword"))
    assert server.document(gone) is None

    site.pages["/broken"] = html("mendedword")
    assert admin(server, "POST", "/recrawl", url=broken)[0] == 202
    wait_for([broken], lambda: server.urls("mendedword"))


def test_recrawl_is_conditional_and_a_failure_keeps_the_copy(server: Appliance, site: CrawlSite) -> None:
    url = site.url("/dated")

    def dated(headers: Mapping[str, str]) -> Reply:
        if headers.get("if-modified-since"):
            return Reply(304)
        return html("datedword", ("Last-Modified", "Tue, 06 Nov 2007 12:45:26 GMT"))

    site.pages["/dated"] = dated
    name_urls(server, url)
    wait_for([url], lambda: server.urls("datedword"))
    name_urls(server, url)
    wait_for_state(server, url, 2)
    assert site.requests[-1][1]["if-modified-since"] == "Tue, 06 Nov 2007 12:45:26 GMT"

    site.pages["/dated"] = Reply(500)
    name_urls(server, url)
    wait_for_state(server, url, 32)
    assert server.urls("datedword") == [url]


def test_content_feed_takes_a_url_over_and_the_crawler_leaves_it(server: Appliance, site: CrawlSite) -> None:
    url = site.url("/taken")
    site.pages["/taken"] = html("crawledword")
    name_urls(server, url)
    wait_for([url], lambda: server.urls("crawledword"))
    fetched = site.count("/taken")

    server.feed(make_feed(make_record(url, "fedword")), "owner")
    assert entry(server, url) == {}
    name_urls(server, url)
    assert server.urls("fedword") == [url]
    assert (server.urls("crawledword"), entry(server, url), site.count("/taken")) == ([], {}, fetched)


def test_adaptor_is_crawled_and_its_acls_hold(server: Appliance, site: CrawlSite) -> None:
    """The headers as Google's library sends them: names in odd case, several lines, everything percent-encoded."""
    url, parent, anchor = site.url("/doc/ümlaut"), site.url("/doc/folder?fragment"), site.url("/doc/anchor")
    acl = json.dumps({"inherit_from": parent, "inheritance_type": "PARENT_OVERRIDES"}).replace("/", "\\/")
    controls = [("X-gsa-doc-controls", f"acl={quote(acl, safe='')}"), ("X-gsa-doc-controls", "scoring=content")]
    metadata = ("X-gsa-external-metadata", "author=Jane%20Doe,google%3Atopic=a%2Cb,kind=x,kind=y")
    first = html(
        "adaptorword",
        metadata,
        *controls,
        ("X-gsa-doc-controls", f"display_url={quote('http://shown.example.com/a', safe='')}"),
        ("X-gsa-serve-security", "secure"),
        ("X-gsa-external-anchor", f"{quote('a text')}={quote(anchor, safe='')}"),
        ("Last-Modified", "Tue, 06 Nov 2007 12:45:26 GMT"),
    )
    path = "/doc/%C3%BCmlaut"
    site.pages |= {path: first, "/doc/anchor": html("anchorword")}
    name_urls(server, url)
    wait_for_state(server, url, 1)
    wait_for(True, lambda: (server.document(url) or {}).get("searchable"))
    shown = server.document(url)
    assert shown is not None
    assert shown["metadata"] == {"author": ["Jane Doe"], "google:topic": ["a,b"], "kind": ["x", "y"]}
    assert (shown["display_url"], shown["acl"]["inherit_from"]) == ("http://shown.example.com/a", parent)
    assert server.urls("adaptorword") == []
    wait_for([anchor], lambda: server.urls("anchorword"))

    assert urls_for(server, "ann", "adaptorword") == []
    server.feed(make_feed(LATE_ACL.replace("{url}", parent)), "adaptor", "incremental")
    wait_for([url], lambda: urls_for(server, "ann", "adaptorword"))
    assert server.urls("adaptorword") + urls_for(server, "bob", "adaptorword") == []

    unchanged = (("X-Gsa-Skip-Updating-Content", "true"), ("X-Gsa-External-Metadata", "author=Ann"), ("X-Gsa-Doc-Controls", "acl="))
    site.pages[path] = Reply(204, b"", (*unchanged, ("X-Gsa-Serve-Security", "public")))
    name_urls(server, url)
    wait_for([url], lambda: server.urls("adaptorword"))
    shown = server.document(url)
    assert shown is not None
    assert (shown["metadata"], shown["acl"]) == ({"author": ["Ann"]}, None)


def test_killed_crawler_fetches_what_is_left(server: Appliance, site: CrawlSite) -> None:
    urls = [site.url(f"/many/{number}") for number in range(150)]
    site.pages |= {f"/many/{number}": html(f"manyword number{number}") for number in range(150)}
    server.push(make_feed(*(make_record(url) for url in urls)), "web")
    wait_until(lambda: site.count("/many/0") or any("/many/" in path for path in site.paths()), "the first page")
    for pid in server.role_pids().get("crawler", []):
        os.kill(pid, signal.SIGKILL)
    wait_for(150, lambda: server.search("manyword")["total"])


def test_paused_crawler_fetches_nothing_until_it_is_resumed(server: Appliance, site: CrawlSite) -> None:
    url = site.url("/later")
    site.pages["/later"] = html("laterword")
    assert admin(server, "POST", "/pause") == (204, None)
    name_urls(server, url)
    assert site.count("/later") == 0
    assert admin(server, "POST", "/resume") == (204, None)
    wait_for([url], lambda: server.urls("laterword"))


def test_redirect_noindex_and_patterns_are_obeyed(server: Appliance, site: CrawlSite) -> None:
    site.pages |= {
        "/moved": Reply(301, b"", (("Location", "/landing"),)),
        "/landing": html("landingword"),
        "/loop": Reply(302, b"", (("Location", "/loop"),)),
        "/hidden": html("hiddenword <meta name='robots' content='noindex'>"),
        "/tagged": html("taggedword <a href='/tagged/in'>i</a>", ("X-Robots-Tag", "noindex")),
        "/tagged/in": html("insideword"),
        "/away": Reply(302, b"", (("Location", "http://other.example.com/"),)),
        "/linking": html("linkingword <a href='/moved'>m</a> <a href='/refused/a'>r</a> <a href='/tagged'>t</a> <a href='/endless'>e</a>"),
        "/endless": Reply(200, b"x" * 50, (("Content-Type", "text/html"),), cut=True),
    }
    name_urls(server, *(site.url(f"/{name}") for name in ("linking", "loop", "hidden", "away")))
    wait_for([site.url("/landing")], lambda: server.urls("landingword"))
    for name, code in {"tagged": 13, "loop": 6, "away": 5, "endless": 38}.items():
        wait_for_state(server, site.url(f"/{name}"), code)
    wait_for("not indexed", lambda: (server.document(site.url("/hidden")) or {}).get("state"))
    wait_for([site.url("/tagged/in")], lambda: server.urls("insideword"))
    assert entry(server, site.url("/refused/a")) == {}
    assert server.urls("taggedword") + server.urls("hiddenword") == []


def test_pattern_that_is_taken_back_brings_its_urls_back(server: Appliance, site: CrawlSite, settings: str) -> None:
    url = site.url("/pattern")
    site.pages["/pattern"] = html("patternword")
    name_urls(server, url)
    wait_for([url], lambda: server.urls("patternword"))

    server.reload(settings.replace('"/refused"', '"/refused", "/pattern"'))
    wait_for_state(server, url, 4)
    wait_for([], lambda: server.urls("patternword"))
    server.reload(settings)
    wait_for([url], lambda: server.urls("patternword"))


def test_adaptor_in_secure_mode_trusts_the_crawlers_certificate(server: Appliance, secure_adaptor: CrawlSite) -> None:
    acl = json.dumps({"entries": [{"scope": "user", "access": "permit", "name": "ann"}]})
    page = html("securedword", ("X-Gsa-Doc-Controls", f"acl={quote(acl, safe='')}"), ("X-Gsa-External-Metadata", "kind=x"))

    def answer(headers: Mapping[str, str]) -> Reply:
        return page if headers.get(":client", "").lower() == "localhost" else Reply(403)

    secure_adaptor.pages |= {"/trusted/a": answer, "/other/a": answer}
    trusted, other = secure_adaptor.url("/trusted/a"), secure_adaptor.url("/other/a")
    name_urls(server, trusted, other)
    wait_for_state(server, trusted, 1)
    wait_for([trusted], lambda: urls_for(server, "ann", "securedword"))
    assert server.urls("securedword") + urls_for(server, "bob", "securedword") == []
    assert (server.document(trusted) or {})["metadata"] == {"kind": ["x"]}
    wait_for_state(server, other, 12)
