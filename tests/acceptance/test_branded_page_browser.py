"""The pages with their owner's name, in a browser: what it shows, in which language, and that nothing comes from elsewhere."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.appliance import Appliance, running
from tests.browsers import DESKTOP, PHONE, launched, needs_chromium, new_page
from tests.builders.feedxml import make_feed, make_record

pytestmark = needs_chromium

# too bright for texts on white paper
SETTINGS = """
[[frontends]]
name = "default_frontend"
title = "Example Search"
logo = "logo.svg"
accent = "#ffe000"
help_url = "https://example.com/help"
footer = "[Imprint](https://example.com/imprint)"
css = "own.css"

[[frontends]]
name = "wide"
title = "Library of Example"
logo = "wide.svg"

[[frontends]]
name = "words"
title = "Example Search"
"""
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>document.title = "changed"</script><rect width="9"/></svg>'
WIDE = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="60"><rect width="300" height="60"/></svg>'
CSS = "@import url(https://example.com/other.css); .brand { letter-spacing: 3px; background: url(https://example.com/x.png); }"


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    folder = tmp_path_factory.mktemp("branded")
    (folder / "logo.svg").write_text(LOGO)
    (folder / "wide.svg").write_text(WIDE)
    (folder / "own.css").write_text(CSS)
    with running(folder / "data", SETTINGS) as started:
        started.feed(make_feed(make_record("http://example.com/1", "<title>Harvest</title><p>needle</p>")), "one")
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["light", "dark"])
def test_branded_pages_are_clean_for_axe_in_every_direction(browser: Browser, appliance: Appliance, dark: bool) -> None:
    page = new_page(browser, appliance, PHONE, dark=dark)
    branded = ("/", "/?q=needle", "/?q=needle&lang=ar", "/?q=nothing&lang=ja", "/signin?lang=he", "/nothing-here")
    for path in (*branded, "/?client=wide", "/signin?client=wide"):
        page.goto(path)
        found = Axe().run(page)
        assert found.response["violations"] == [], (path, found.generate_report())
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
    page.context.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_title_of_two_words_stands_in_one_line_beside_the_icon(browser: Browser, appliance: Appliance, size: dict[str, int]) -> None:
    page = new_page(browser, appliance, size)
    for path in ("/?client=words", "/signin?client=words", "/signout?client=words"):
        page.goto(path)
        icon, title = page.locator(".brand img").bounding_box(), page.locator(".brand span").bounding_box()
        assert icon is not None
        assert title is not None
        assert title["y"] < icon["y"] + icon["height"], path
        assert title["height"] < 2 * icon["height"], path
    page.context.close()


def test_branded_page_loads_its_own_files_alone(browser: Browser, appliance: Appliance) -> None:
    page = new_page(browser, appliance, DESKTOP)
    hosts: list[str | None] = []
    page.on("response", lambda answer: hosts.append(urlsplit(answer.url).hostname))
    page.goto("/?q=needle", wait_until="networkidle")
    assert set(hosts) == {"127.0.0.1"}
    logo = page.locator(".brand img")
    assert logo.evaluate("image => image.complete && image.naturalWidth > 0")
    assert page.locator(".brand").evaluate("brand => getComputedStyle(brand).letterSpacing") == "3px"
    expect(page.get_by_role("contentinfo").get_by_role("link")).to_have_text(["Help", "Imprint"])
    page.goto(str(logo.get_attribute("src")))
    assert page.title() != "changed"
    page.context.close()


def test_browser_chooses_the_language_and_a_parameter_overrides_it(browser: Browser, appliance: Appliance) -> None:
    context = browser.new_context(base_url=f"http://127.0.0.1:{appliance.search_port}", locale="he-IL")
    page = context.new_page()
    page.goto("/?q=needle")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.get_by_role("button", name="חיפוש")).to_be_visible()
    page.goto("/?q=needle&lang=pl")
    page.locator(".brand").click()
    expect(page.locator("html")).to_have_attribute("lang", "pl")
    page.get_by_role("combobox").fill("needle")
    page.get_by_role("button", name="Szukaj").click()
    expect(page.locator(".count")).to_contain_text("1 wynik")
    context.close()
