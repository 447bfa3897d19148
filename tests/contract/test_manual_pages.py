"""``/manual/``: every page of the manual, its links and its pictures, as the search port shows them."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from lxml import html

from feedmill.adapters.manual import PackagedManual
from feedmill.http.common.problems import Problem, describe_problem
from feedmill.http.search.app import SearchSite, search_app
from tests.asgi import Answer
from tests.contract.searchharness import SearchHarness, ask, open_harness

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md"))
BESIDE = ["project/README", "project/ARCHITECTURE", "project/CHANGELOG", "project/SECURITY"]


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path_factory.mktemp("manual"))
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def manual() -> PackagedManual:
    return PackagedManual()


def read(harness: SearchHarness, manual: PackagedManual, path: str) -> Answer:
    return ask(search_app(harness.services(), SearchSite(manual=manual)), path)


@pytest.mark.parametrize("name", [*PAGES, *BESIDE])
def test_every_page_is_shown_and_its_links_lead_to_pages_with_their_anchors(manual: PackagedManual, name: str) -> None:
    page = manual.find_page(name)
    assert page is not None
    assert page.title
    tree = html.fromstring(f"<div>{page.html}</div>")
    for link in tree.iterfind(".//a[@href]"):
        target = link.get("href") or ""
        if "://" in target or target.startswith("mailto:"):
            continue
        address, _, anchor = urljoin(f"/manual/{name}.html", target).partition("#")
        found = manual.find_page(address.removeprefix("/manual/").removesuffix(".html"))
        assert found is not None, target
        if anchor:
            assert re.search(rf'id="{re.escape(anchor)}"', found.html), target
    for picture in tree.iterfind(".//img"):
        assert manual.find_picture(urljoin(f"/manual/{name}.html", picture.get("src") or "").removeprefix("/manual/")), picture.get("src")


def test_examples_and_tables_take_the_focus_and_header_cells_have_a_text(manual: PackagedManual) -> None:
    for name in PAGES:
        page = manual.find_page(name)
        assert page is not None
        tree = html.fromstring(f"<div>{page.html}</div>")
        assert [node for node in tree.iter("pre", "table") if node.get("tabindex") != "0"] == []
        assert [node for node in tree.iter("th") if not str(node.xpath("string()")).strip()] == []


def test_first_page_and_a_page_are_html_with_the_frame_of_the_search_page(harness: SearchHarness, manual: PackagedManual) -> None:
    first = read(harness, manual, "/manual/")
    assert (first.status, first.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<h1" in first.text
    assert "script-src" not in first.headers["content-security-policy"]
    page = read(harness, manual, "/manual/howto/render-pages.html").text
    assert '<a href="/manual/">Manual</a>' in page
    assert 'id="' in page
    assert read(harness, manual, "/manual/diagrams/record.svg").headers["content-type"].startswith("image/svg+xml")


@pytest.mark.parametrize("path", ["/manual/", "/manual/howto/render-pages.html", "/manual/diagrams/record.svg"])
def test_copy_of_a_browser_is_not_sent_again(harness: SearchHarness, manual: PackagedManual, path: str) -> None:
    app = search_app(harness.services(), SearchSite(manual=manual))
    first = ask(app, path)
    tag = first.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        again = ask(app, path, if_none_match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == first.headers["cache-control"]
    assert ask(app, path, if_none_match='"other"').body == first.body


@pytest.mark.parametrize(
    "path",
    [
        "/manual/nothing.html",
        "/manual/../pyproject.toml",
        "/manual/..%2f..%2fpyproject.html",
        "/manual/%2fetc%2fpasswd.html",
        "/manual/conf.py",
        "/manual/diagrams/nothing.svg",
        "/manual/index",
    ],
)
def test_what_is_no_page_is_not_found(harness: SearchHarness, manual: PackagedManual, path: str) -> None:
    assert read(harness, manual, path).status == 404


def test_addresses_of_other_forms_lead_to_the_page(harness: SearchHarness, manual: PackagedManual) -> None:
    assert read(harness, manual, "/manual").headers["location"] == "/manual/"
    assert read(harness, manual, "/manual/howto/render-pages.md").headers["location"] == "/manual/howto/render-pages.html"


@pytest.mark.parametrize("problem", Problem, ids=lambda problem: problem.code)
def test_type_of_a_problem_opens(harness: SearchHarness, manual: PackagedManual, problem: Problem) -> None:
    address, _, anchor = str(describe_problem(problem, "")["type"]).partition("#")
    assert f'id="{anchor}"' in read(harness, manual, address).text
