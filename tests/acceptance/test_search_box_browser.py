"""The search box in pages of another site, in a browser: two ports are two origins."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests import library
from tests.appliance import Appliance, running
from tests.browsers import DESKTOP, PATIENCE_MS, PHONE, launched, needs_chromium

pytestmark = needs_chromium


@dataclass(slots=True)
class Site:
    """Another site, whose policy permits it nothing but the search port."""

    port: int = 0
    search: str = ""
    pages: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def write(self, name: str, box: str, *, lang: str = "en", style: str = "", src: str = "") -> str:
        """Makes a page with a box, and returns its path."""
        script = src or f'<script src="{self.search}/search-box.js" defer></script>'
        direction = "rtl" if lang == "ar" else "ltr"
        self.pages[f"/{name}"] = (
            f'<!doctype html><html lang="{lang}" dir="{direction}"><head><meta charset="utf-8"><title>Another site</title>'
            '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
            f'<link rel="icon" href="data:,"><link rel="stylesheet" href="/{name}.css">{script if not src else ""}</head>'
            f"<body><main><h1>Another site</h1>{box}{src}</main></body></html>"
        )
        self.pages[f"/{name}.css"] = "html { background: Canvas; font-family: sans-serif } " + style
        return f"/{name}"


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = site.pages.get(self.path, "").encode()
            self.send_response(200)
            self.send_header("content-type", "text/css" if self.path.endswith(".css") else "text/html; charset=utf-8")
            policy = f"default-src 'none'; script-src {site.search}; connect-src {site.search}; style-src 'self'; img-src data:"
            self.send_header("content-security-policy", policy)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving(Site()) as started:
        yield started


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Appliance]:
    settings = f'[search]\nallow_origins = ["{site.origin}"]\n{library.SETTINGS}'
    with running(tmp_path_factory.mktemp("box") / "data", settings) as started:
        site.search = f"http://127.0.0.1:{started.search_port}"
        library.fill(started)
        yield started


@pytest.fixture(scope="module")
def browser(appliance: Appliance) -> Iterator[Browser]:
    assert appliance
    with launched() as started:
        yield started


@contextmanager
def opened(
    browser: Browser,
    site: Site,
    path: str,
    *,
    size: dict[str, int] = DESKTOP,
    dark: bool = False,
    host: str = "127.0.0.1",
    troubles: tuple[str, ...] = (),
) -> Iterator[Page]:
    """Opens a page of the other site. What it logs as an error fails the test, except what contains one of ``troubles``."""
    viewport: Any = size
    context = browser.new_context(viewport=viewport, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    logged: list[str] = []
    page.on("console", lambda message: logged.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.goto(f"http://{host}:{site.port}{path}")
    yield page
    context.close()
    assert [each for each in logged if not any(trouble in each for trouble in troubles)] == []


def test_box_is_used_by_keys_alone(browser: Browser, site: Site) -> None:
    path = site.write("keys", "<feedmill-search></feedmill-search>")
    with opened(browser, site, path) as page:
        page.keyboard.press("Tab")
        box = page.get_by_role("combobox", name="Search")
        expect(box).to_be_focused()
        page.keyboard.type("trav")
        options = page.get_by_role("option")
        expect(options.first).to_be_visible()
        expect(box).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("ArrowDown")
        first = options.first.inner_text()
        expect(options.first).to_have_attribute("aria-selected", "true")
        expect(box).to_have_value(first)
        expect(box).to_have_attribute("aria-activedescendant", options.first.get_attribute("id") or "")
        page.keyboard.press("Escape")
        expect(box).to_have_value("trav")
        expect(box).to_have_attribute("aria-expanded", "false")
        page.keyboard.press("ArrowDown")
        expect(options.first).to_be_visible()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status").filter(has_text="results")).to_be_visible()
        expect(box).to_have_value(first)
        expect(box).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Search")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("region", name="Search results").get_by_role("link").first).to_be_focused()


def test_box_shows_results_with_marks_and_more_of_them(browser: Browser, site: Site) -> None:
    path = site.write("results", '<feedmill-search num="20" label="Find"></feedmill-search>')
    with opened(browser, site, path) as page:
        page.get_by_role("combobox", name="Find").fill("travel")
        page.get_by_role("button", name="Search").click()
        items = page.get_by_role("region", name="Search results").get_by_role("listitem")
        expect(items).to_have_count(20)
        expect(page.get_by_role("status").filter(has_text="52 results")).to_be_visible()
        expect(items.first.locator("mark").first).to_have_text("travel", ignore_case=True)
        page.get_by_role("button", name="More results").click()
        expect(items).to_have_count(40)
        expect(items.nth(20).get_by_role("link")).to_be_focused()
        page.get_by_role("button", name="More results").click()
        expect(items).to_have_count(52)
        expect(page.get_by_role("button", name="More results")).to_be_hidden()
        assert page.get_by_role("link", name="All results").get_attribute("href") == f"{site.search}/?q=travel"
        page.get_by_role("combobox").press("Escape")
        expect(items).to_have_count(0)


def test_box_finds_nothing_and_says_so(browser: Browser, site: Site) -> None:
    with opened(browser, site, site.write("nothing", '<feedmill-search lang="de" q="qqqqq"></feedmill-search>')) as page:
        expect(page.get_by_role("status").filter(has_text="Keine Ergebnisse für qqqqq gefunden")).to_be_visible()
        expect(page.get_by_role("button", name="Suchen")).to_be_visible()


@pytest.mark.parametrize(
    ("lang", "button", "count", "more"),
    [
        ("ar", "بحث", "52 نتيجة", "المزيد من النتائج"),
        ("ja", "検索", "52 件の検索結果", "検索結果をさらに表示"),
        ("pl-PL", "Szukaj", "52 wyniki", "Więcej wyników"),
        ("zh-TW", "搜尋", "52 項結果", "更多結果"),
    ],
)
def test_box_speaks_the_language_of_its_page(browser: Browser, site: Site, lang: str, button: str, count: str, more: str) -> None:
    boxes = '<feedmill-search q="travel"></feedmill-search><feedmill-search lang="it"></feedmill-search>'
    path = site.write(f"lang-{lang}", boxes, lang=lang)
    with opened(browser, site, path) as page:
        box = page.locator("feedmill-search").first
        expect(box.get_by_role("status").filter(has_text=count)).to_be_visible()
        expect(box.get_by_role("combobox", name=button)).to_be_visible()
        expect(box.get_by_role("button", name=button, exact=True)).to_be_visible()
        expect(box.get_by_role("button", name=more)).to_be_visible()
        expect(page.get_by_role("button", name="Cerca")).to_be_visible()
        page.evaluate("document.querySelector('feedmill-search').lang = 'en'")
        expect(box.get_by_role("button", name="More results")).to_be_visible()


def test_box_stays_in_english_where_its_texts_cannot_be_read(browser: Browser, site: Site) -> None:
    with opened(browser, site, site.write("unread", "<feedmill-search></feedmill-search>", lang="ru"), troubles=("503",)) as page:
        page.route("**/search-box.json**", lambda route: route.fulfill(status=503, headers={"access-control-allow-origin": "*"}))
        page.reload()
        page.get_by_role("combobox", name="Search").fill("travel")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("status").filter(has_text="52 results")).to_be_visible()


@pytest.mark.parametrize("dark", [pytest.param(False, marks=pytest.mark.thorough), True], ids=["light", "dark"])
def test_box_is_clean_for_axe_and_fits_a_phone(browser: Browser, site: Site, dark: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for lang in ("en", "ar"):
        path = site.write(f"axe-{lang}", "<feedmill-search></feedmill-search>", lang=lang)
        with opened(browser, site, path, dark=dark, size=PHONE) as page:
            for shown in ("blank", "suggestions", "results"):
                if shown == "suggestions":
                    page.get_by_role("combobox").press_sequentially("trav")
                    expect(page.get_by_role("option").first).to_be_visible()
                    page.keyboard.press("ArrowDown")
                elif shown == "results":
                    page.keyboard.press("Enter")
                    expect(page.get_by_role("listitem").first).to_be_visible()
                found = Axe().run(page)
                assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found.response["violations"]] == [], shown
                assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), shown


def test_one_script_element_is_enough(browser: Browser, site: Site) -> None:
    src = f'<script src="{site.search}/search-box.js" data-box data-label="Everything" data-placeholder="Ask"></script>'
    with opened(browser, site, site.write("one", "", src=src)) as page:
        box = page.get_by_role("combobox", name="Everything")
        expect(box).to_have_attribute("placeholder", "Ask")
        box.fill("travel")
        box.press("Enter")
        expect(page.get_by_role("listitem").first).to_be_visible()


def test_credentials_are_sent_only_if_asked_for(browser: Browser, site: Site) -> None:
    for attribute, sends in (("", False), (' credentials="include"', True)):
        path = site.write("credentials", f"<feedmill-search{attribute}></feedmill-search>")
        with opened(browser, site, path, troubles=("401",)) as page:
            page.context.add_cookies([{"name": "GSA_SESSION_ID", "value": "a-session", "url": site.search}])
            with page.expect_request("**/api/v1/search**") as sent:
                page.get_by_role("combobox").fill("travel")
                page.get_by_role("combobox").press("Enter")
            assert ("cookie" in sent.value.all_headers()) is sends
            expect(page.get_by_role("listitem").first).to_be_visible()
            page.evaluate("document.querySelector('feedmill-search').token = 'wrong'")
            with page.expect_request("**/api/v1/search**") as sent:
                page.get_by_role("combobox").press("Enter")
            assert sent.value.all_headers()["authorization"] == "Bearer wrong"
            expect(page.get_by_role("alert")).to_contain_text("You may not search here")


def test_suggestions_of_one_user_are_not_shown_to_the_next(browser: Browser, site: Site) -> None:
    with opened(browser, site, site.write("users", "<feedmill-search></feedmill-search>"), troubles=("401",)) as page:
        box, options = page.get_by_role("combobox"), page.get_by_role("option")
        box.fill("trav")
        expect(options.first).to_be_visible()
        box.fill("")
        expect(options).to_have_count(0)
        page.evaluate("document.querySelector('feedmill-search').token = 'wrong'")
        with page.expect_response("**/api/v1/suggest**") as answered:
            box.fill("trav")
        assert answered.value.status == 401
        expect(options).to_have_count(0)


def test_box_on_a_site_that_the_settings_do_not_name_says_that_it_cannot_search(browser: Browser, site: Site) -> None:
    path = site.write("foreign", "<feedmill-search></feedmill-search>")
    # the same server under another name is another origin; the browser logs what it refuses
    with opened(browser, site, path, host="localhost", troubles=("blocked by CORS policy", "net::ERR_FAILED")) as page:
        page.get_by_role("combobox").fill("travel")
        page.get_by_role("combobox").press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("does not answer now")


HOSTILE = {
    "query": "x",
    "total": 2,
    "exact": True,
    "spelling": "<b>y</b>",
    "warnings": ["<i>deadline</i>"],
    "results": [
        {
            "url": "javascript:alert(1)",
            "title": "<img src=x onerror=alert(1)>",
            "snippet": "😀 <b>a</b> word",
            "snippet_marks": [[11, 15]],
            "date": "no date",
            "language": "de",
            "missing": ["<s>z</s>", "zebra"],
        },
        {"url": "http://a.com/", "display_url": " javascript:alert(1)", "title": None, "snippet": "", "snippet_marks": []},
    ],
}


def test_nothing_of_a_document_becomes_markup_or_a_script(browser: Browser, site: Site) -> None:
    def answer(route: Route) -> None:
        headers = {"access-control-allow-origin": "*"}
        route.fulfill(status=200, headers=headers, content_type="application/json", body=json.dumps(HOSTILE))

    with opened(browser, site, site.write("hostile", "<feedmill-search></feedmill-search>")) as page:
        page.route("**/api/v1/search**", answer)
        page.get_by_role("combobox").fill("x")
        page.get_by_role("combobox").press("Enter")
        items = page.locator("ol").get_by_role("listitem")
        expect(items).to_have_count(2)
        expect(items.first).to_contain_text("<img src=x onerror=alert(1)>")
        expect(items.first.locator("mark")).to_have_text("word")
        assert items.get_by_role("link").count() == 0
        expect(page.get_by_text("<i>deadline</i>")).to_be_visible()
        expect(items.first.locator("bdi[lang=de]").first).to_be_visible()
        expect(items.get_by_text("Without: <s>z</s> zebra")).to_be_visible()
        expect(items.first.locator("s")).to_have_text(["<s>z</s>", "zebra"])
        expect(page.get_by_role("button", name="Did you mean <b>y</b>?")).to_be_visible()


def test_site_changes_how_the_box_looks(browser: Browser, site: Site) -> None:
    style = (
        "feedmill-search { --feedmill-accent: rgb(120, 0, 0); --feedmill-radius: 0; }"
        " feedmill-search::part(button) { text-transform: uppercase; }"
    )
    with opened(browser, site, site.write("style", "<feedmill-search></feedmill-search>", style=style)) as page:
        button = page.get_by_role("button", name="Search")
        expect(button).to_have_css("background-color", "rgb(120, 0, 0)")
        expect(button).to_have_css("border-radius", "0px")
        expect(button).to_have_css("text-transform", "uppercase")


def test_page_hears_of_searches(browser: Browser, site: Site) -> None:
    with opened(browser, site, site.write("events", "<feedmill-search></feedmill-search>")) as page:
        page.evaluate("document.addEventListener('feedmill-results', (event) => { window.heard = event.detail; })")
        page.evaluate("document.querySelector('feedmill-search').search('travel')")
        expect(page.get_by_role("listitem").first).to_be_visible()
        assert page.evaluate("window.heard") == {"query": "travel", "start": 0, "total": 52}
