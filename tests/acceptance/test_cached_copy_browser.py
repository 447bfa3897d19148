"""The page of a cached copy in a browser: a hostile document runs and loads nothing, and people find the matches and the way back."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.appliance import Appliance, running
from tests.browsers import DESKTOP, PHONE, follow, launched, needs_chromium, new_page
from tests.builders.feedxml import make_feed, make_record

pytestmark = needs_chromium

URL = "http://127.0.0.1:9/hostile"
PAGE = (
    """<html><head><title>Costs of <i>travel</i></title><base href="http://127.0.0.1:9/base/">
<meta http-equiv="refresh" content="0;url=/x">
<script>window.ran = 1; fetch("http://127.0.0.1:9/fetched")</script>
<link rel="stylesheet" href="/s.css"><style>@import "/i.css";</style></head>
<body onload="window.ran = 2"><h1>Costs of travel</h1><p>A needle for the <b>journey</b>.</p><img src="/pixel" onerror="window.ran = 3">
<svg onload="window.ran = 4"><script>window.ran = 5</script></svg><math href="javascript:alert(1)">x</math><iframe src="/frame"></iframe>
<object data="/object"></object><form action="/stolen"><button>Send</button></form><p><a href="javascript:window.ran=6">Run me</a></p>
<p><a href="data:text/html,x">Data</a></p><h2>The end</h2>
<p>&lt;img src=/escaped onerror=alert(1)&gt; &lt;script&gt;window.ran = 7&lt;/script&gt;</p>
<p><a href="form.html" ping="/ping" onclick="window.ran = 8">The form</a></p>"""
    + """<table onclick="window.ran = 9" style="background: url(/table)"><tr><th background="/cell">Town<th>Costs of the whole journey
<tr><td>Bern, with <a href="/bern">a needle</a>
<td><b onmouseover="window.ran = 10">three hundred and twenty francs without any food</b><td>by train and on foot
through the valley</table>
<table><tr><th>Second<td>table</table>
<ul style="list-style-image: url(/bullet)"><li>one<li><a href="jav&#x09;ascript:window.ran=11">two</a></ul>
<ol><li>one</ol><pre>a
  b</pre><blockquote cite="/cite">quoted</blockquote><code><svg><script>window.ran = 12</script></svg></code>"""
    + "<p>More text.</p>" * 80
    + "<p>The last needle.</p></body></html>"
)


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("copy") / "data") as started:
        started.feed(make_feed(make_record(URL, PAGE)), "pages")
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


def open_copy(page: Page) -> list[str]:
    """Finds the document and opens its copy; returns the list of what the page requests from then on."""
    page.goto("/?q=needle&lang=en")
    follow(page, page.get_by_role("link", name="Cached copy of").first)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    return requests


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_hostile_document_runs_and_loads_nothing(browser: Browser, appliance: Appliance, size: dict[str, int]) -> None:
    page = new_page(browser, appliance, size)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    open_copy(page)
    page.reload()
    expect(page.locator("h1")).to_have_text("Costs of <i>travel</i>")
    assert {url.split("?")[0] for url in sent if "/cache" in url} == {f"http://127.0.0.1:{appliance.search_port}/cache"}
    assert [url for url in sent if "127.0.0.1:9/" in url and "/cache" not in url] == []
    assert page.locator("script, form, iframe, object, svg, math, img, base, link").count() == 0
    assert page.locator("[onclick], [onload], [onerror], [onmouseover], [style], [background], [cite]").count() == 0
    assert page.locator("main a:not(.jump)").evaluate_all("links => links.map(link => link.href)") == [
        "http://127.0.0.1:9/base/form.html",
        "http://127.0.0.1:9/bern",
    ]
    assert page.locator("main :is(table, ul, ol, pre, blockquote, strong)").count() == 8
    table = page.get_by_role("group", name="Table").first
    table.focus()
    expect(table).to_be_focused()
    assert page.evaluate("[window.ran, window.origin, document.documentElement.scrollWidth <= window.innerWidth]") == [None, "null", True]
    page.context.close()


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["light", "dark"])
def test_page_with_lists_and_tables_is_clean_for_axe(browser: Browser, appliance: Appliance, dark: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = new_page(browser, appliance, PHONE, dark=dark)
    open_copy(page)
    # axe waits forever in the sandbox of the copy
    content = page.content()
    page.goto("about:blank")
    page.set_content(content)
    violations = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations] == []
    page.context.close()


def test_reader_jumps_between_matches_and_goes_back(browser: Browser, appliance: Appliance) -> None:
    page = new_page(browser, appliance, DESKTOP, script=False)
    requests = open_copy(page)
    page.get_by_role("link", name="Next match").first.click()
    expect(page.locator("#match1")).to_be_in_viewport()
    page.locator("#match1").get_by_role("link", name="Next match").click()
    expect(page.locator("#match2")).to_be_in_viewport()
    expect(page.locator("#match1")).not_to_be_in_viewport()
    page.locator("#match2").get_by_role("link", name="Previous match").click()
    expect(page.locator("#match1")).to_be_in_viewport()
    assert requests == []
    expect(page.get_by_role("link", name="Open the document")).to_have_attribute("href", URL)
    follow(page, page.get_by_role("link", name="Back to the results"))
    expect(page.locator(".results > li")).to_have_count(1)
    expect(page.get_by_role("link", name="Cached copy of")).to_have_count(1)
    page.context.close()


def test_copy_is_printed_dark_on_white_by_a_browser_of_dark_colours(browser: Browser, appliance: Appliance) -> None:
    page = new_page(browser, appliance, DESKTOP, script=False, dark=True)
    open_copy(page)
    read = "name => getComputedStyle(document.body)[name]"
    on_screen, ground = page.evaluate(read, "color"), page.evaluate(read, "backgroundColor")
    page.emulate_media(media="print")
    assert (page.evaluate(read, "color"), page.evaluate(read, "backgroundColor")) == ("rgb(29, 37, 38)", "rgb(255, 255, 255)")
    assert (on_screen, ground) != ("rgb(29, 37, 38)", "rgb(255, 255, 255)")
    page.context.close()


def test_wide_table_shows_its_first_column_on_a_page_of_the_other_direction(browser: Browser, appliance: Appliance) -> None:
    page = new_page(browser, appliance, {"width": 240, "height": 700}, script=False)
    page.goto("/?q=needle&lang=he")
    follow(page, page.locator(".also a").first)
    assert page.locator(".table").first.evaluate("table => table.scrollWidth > table.clientWidth")
    assert page.locator(".table").first.evaluate("""table => {
        const [frame, cell] = [table, table.querySelector("th")].map(each => each.getBoundingClientRect());
        return Math.abs(cell.left - frame.left) < 2
    }""")
    page.context.close()


def test_way_back_keeps_filters_and_what_was_demanded(browser: Browser, appliance: Appliance) -> None:
    page = new_page(browser, appliance, DESKTOP, script=False)
    filtered = "select=%40filetype%3Ahtml&lang=en"
    for narrowed in (f"/?q=needle&{filtered}", f"/?q=&{filtered}", "/?q=needle&num=5&lang=en&correct=0"):
        page.goto(narrowed)
        filters = page.get_by_role("link", name="Without").all_inner_texts()
        follow(page, page.get_by_role("link", name="Cached copy of"))
        follow(page, page.get_by_role("link", name="Back to the results"))
        assert page.url.partition("#")[0].endswith(narrowed)
        assert page.get_by_role("link", name="Without").all_inner_texts() == filters
    page.context.close()
