"""The search page in a browser, at the widths of a desktop and of a phone, and without script."""

from collections.abc import Iterator
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from tests import library
from tests.appliance import Appliance, running
from tests.browsers import DESKTOP, PHONE, follow, launched, needs_chromium, new_page
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_until

pytestmark = needs_chromium

NARROW = {"width": 900, "height": 700}
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr", "ru", "ar", "he", "ja", "zh-Hans", "zh-Hant", "ko")


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("page") / "data", library.SETTINGS) as started:
        library.fill(started)
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


def open_page(browser: Browser, appliance: Appliance, size: dict[str, int], *, script: bool = True, scheme: str = "light") -> Page:
    """Opens the search page; what the page logs as an error, or loads from elsewhere, fails the test that closes it."""
    page = new_page(browser, appliance, size, script=script, dark=scheme == "dark")
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda sent: troubles.append(sent.url) if urlsplit(sent.url).hostname != "127.0.0.1" else None)
    page.troubles = troubles  # type: ignore[attr-defined]
    page.goto("/")
    return page


def close(page: Page) -> None:
    troubles = page.troubles  # type: ignore[attr-defined]
    page.context.close()
    assert troubles == []


def ask(page: Page, query: str) -> None:
    page.get_by_role("searchbox").or_(page.get_by_role("combobox")).fill(query)
    follow(page, page.get_by_role("button", name="Search"))


def fits(page: Page) -> bool:
    """Whether the page is no wider than its window."""
    wide: bool = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    return wide


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page_walk_from_query_to_cached_copy(browser: Browser, appliance: Appliance, size: dict[str, int]) -> None:
    page = open_page(browser, appliance, size)
    ask(page, "travel")
    expect(page.locator(".count")).to_contain_text("of 52 results")
    expect(page.get_by_role("link", name="Book a trip")).to_be_visible()
    assert fits(page)
    if size is PHONE:
        page.get_by_role("button", name="Filters").click()
    page.get_by_label("Legal Affairs").check()
    if size is PHONE:
        page.get_by_role("button", name="Show 7 results").click()
    expect(page.locator(".count")).to_contain_text("7 results")
    expect(page.locator(".chosen")).to_contain_text("Department: Legal Affairs")
    follow(page, page.get_by_role("link", name="Without Department: Legal Affairs"))
    follow(page, page.get_by_role("link", name="Next"))
    expect(page.locator(".count")).to_contain_text("11–20 of 52 results")
    assert parse_qs(urlsplit(page.url).query)["start"] == ["10"]
    follow(page, page.get_by_role("link", name="Cached copy of").first)
    expect(page.locator("mark").first).to_have_text("travel", ignore_case=True)
    page.go_back()
    if size is PHONE:
        page.get_by_role("button", name="Order of the results").click()
    follow(page, page.get_by_role("link", name="Newest"))
    dates = [time.get_attribute("datetime") or "" for time in page.locator(".results time").all()]
    assert dates == sorted(dates, reverse=True)
    ask(page, "travle")
    expect(page.locator(".meant")).to_contain_text("Showing results for travel")
    expect(page.get_by_role("combobox")).to_have_value("travel")
    follow(page, page.get_by_role("link", name="travle", exact=True))
    expect(page.locator(".nothing")).to_contain_text("Nothing was found for")
    follow(page, page.get_by_role("link", name="travel", exact=True))
    expect(page.get_by_role("combobox")).to_have_value("travel")
    follow(page, page.get_by_role("link", name="Similar to").first)
    expect(page.locator(".results > li").first).to_be_visible()
    expect(page.get_by_role("combobox")).to_have_value("")
    assert fits(page)
    close(page)


def test_page_suggestions_by_keyboard(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, DESKTOP)
    box = page.get_by_role("combobox")
    box.press_sequentially("trav", delay=20)
    options = page.get_by_role("option")
    expect(options.first).to_have_text("travel")
    expect(box).to_have_attribute("aria-expanded", "true")
    box.fill("travels fast")
    box.press("Escape")
    expect(box).to_have_value("travels fast")
    box.fill("trav")
    expect(options.first).to_have_text("travel")
    box.press("ArrowDown")
    box.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    chosen = options.nth(1).text_content() or ""
    expect(box).to_have_value(chosen)
    box.press("Escape")
    expect(box).to_have_value("trav")
    expect(options.first).to_be_hidden()
    box.press("Escape")
    expect(box).to_have_value("trav")
    box.press("ArrowDown")
    follow(page, options.filter(has_text="travel policy").first)
    expect(page.locator(".results > li").first).to_be_visible()
    page.keyboard.press("Escape")
    page.locator(".count").click()
    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.locator(".results h2 a").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".results h2 a").nth(1)).to_be_focused()
    close(page)


def test_page_without_script_does_all_but_suggest(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, PHONE, script=False)
    ask(page, "travel")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Finance").check()
    page.get_by_label("100 – 500").check()
    follow(page, page.get_by_role("button", name="Show results"))
    expect(page.get_by_role("link", name="Without Department: Finance")).to_be_visible()
    assert fits(page)
    follow(page, page.get_by_role("link", name="Clear all").last)
    expect(page.locator(".count")).to_contain_text("of 52 results")
    close(page)


def test_page_filters_apply_at_once_and_keep_the_focus(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, DESKTOP)
    ask(page, "travel")
    box = page.get_by_label("Human Resources")
    box.focus()
    page.keyboard.press("Space")
    expect(page.locator(".count")).to_contain_text("7 results")
    expect(box).to_be_focused()
    expect(box).to_be_checked()
    assert parse_qs(urlsplit(page.url).query)["select"] == ["department:Human Resources"]
    # what no longer narrows stays with its counts, so that nothing moves under the pointer
    cheap = page.get_by_label("at most 100")
    place = cheap.bounding_box()
    cheap.check()
    expect(page.locator(".count")).to_contain_text("1 result")
    kind = page.locator("fieldset").filter(has_text="Kind of document")
    expect(kind).to_contain_text("(1)")
    expect(kind).to_be_enabled()
    assert cheap.bounding_box() == place
    cheap.uncheck()
    page.get_by_label("Finance").check()
    expect(page.locator(".count")).to_contain_text("of 14 results")
    page.locator("summary").filter(has_text="3 more of Department").press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#filters .rest input:focus")).to_have_count(1)
    page.get_by_label("Works Council").check()
    expect(page.get_by_role("status").filter(has_text="of 20 results")).to_be_attached()
    expect(page.get_by_label("Procurement")).to_be_visible()
    page.go_back()
    expect(page.locator(".count")).to_contain_text("of 14 results")
    page.get_by_role("link", name="Without Department: Finance").click()
    expect(page.locator(".count")).to_contain_text("7 results")
    ask(page, "remote")
    expect(page.get_by_label("Human Resources")).to_be_checked()
    page.locator(".results h2 a").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".results h2 a").nth(1)).to_be_focused()
    close(page)


def test_page_filters_of_a_phone_are_a_sheet(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, PHONE)
    ask(page, "travel")
    first = page.locator(".results > li").first
    place = first.bounding_box()
    button = page.get_by_role("button", name="Filters")
    button.press("Enter")
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    assert first.bounding_box() == place
    assert fits(page)
    page.keyboard.press("Escape")
    expect(page.get_by_label("Finance")).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    expect(page.get_by_role("button", name="Show 52 results")).to_be_visible()
    page.get_by_label("Finance").check()
    expect(page.get_by_role("button", name="Show 7 results")).to_be_visible()
    page.get_by_label("Research").check()
    page.get_by_role("button", name="Show 14 results").click()
    expect(page.get_by_label("Finance")).to_be_hidden()
    expect(page.locator(".count")).to_contain_text("of 14 results")
    expect(page.get_by_role("button", name="Filters (2)")).to_be_focused()
    close(page)


def test_sheet_of_filters_holds_the_keyboard_and_gives_it_back_to_its_button(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, PHONE)
    page.goto("/?q=travel")
    page.get_by_role("button", name="Filters").press("Enter")
    sheet = page.get_by_role("dialog", name="Filters")
    expect(sheet).to_have_attribute("aria-modal", "true")
    close_button = sheet.get_by_role("button", name="Close")
    expect(close_button).to_be_focused()
    walked = []
    for key in ("Tab", "Shift+Tab"):
        for _ in range(sheet.locator("input, button, summary").count() + 5):
            page.keyboard.press(key)
            walked.append(page.evaluate("document.activeElement === document.body || Boolean(document.activeElement.closest('#filters'))"))
    assert all(walked)
    assert list_held(page) == [True, True]
    sheet.get_by_label("Finance").check()
    expect(sheet.get_by_role("button", name="Show 7 results")).to_be_visible()
    assert list_held(page) == [True, True]
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Filters (1)")).to_be_focused()
    assert list_held(page) == [False, False]
    expect(page.get_by_role("dialog")).to_have_count(0)
    close(page)


def test_sheet_of_filters_lets_go_when_it_is_closed_in_any_way(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, PHONE)
    page.goto("/?q=travel")
    button = page.get_by_role("button", name="Filters")
    button.click()
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.mouse.click(200, 60)
    expect(page.get_by_label("Finance")).to_be_hidden()
    expect(button).to_be_focused()
    assert list_held(page) == [False, False]
    button.click()
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.set_viewport_size({"width": DESKTOP["width"], "height": DESKTOP["height"]})
    expect(page.get_by_role("complementary", name="Filters")).to_be_visible()
    wait_until(lambda: list_held(page) == [False, False])
    close(page)


def list_held(page: Page) -> list[bool]:
    """Returns whether the header and the results are out of reach."""
    held: list[bool] = page.evaluate("['header', 'main'].map(name => document.querySelector(name).inert)")
    return held


def test_filters_that_are_taken_away_pass_the_focus_on(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, DESKTOP)
    page.goto("/?q=travel&select=department:Finance&select=department:Research")
    page.get_by_role("link", name="Without Department: Finance").press("Enter")
    expect(page.get_by_role("link", name="Without Department: Research")).to_be_focused()
    expect(page.get_by_label("Finance")).not_to_be_checked()
    page.get_by_label("Finance").check()
    expect(page.locator(".chosen a")).to_have_count(3)
    page.locator(".chosen").get_by_role("link", name="Clear all").press("Enter")
    expect(page.locator(".count")).to_contain_text("of 52 results")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("Boolean(document.activeElement.closest('main'))")
    page.go_back()
    expect(page.locator(".chosen a")).to_have_count(3)
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    page.get_by_role("button", name="Filters (2)").press("Enter")
    page.locator("#filters").get_by_role("link", name="Clear all").press("Enter")
    expect(page.get_by_role("button", name="Show 52 results")).to_be_visible()
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    close(page)


def test_page_filters_of_a_narrow_window_stand_beside_the_results(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, NARROW)
    page.goto("/?q=travel")
    page.get_by_role("button", name="Filters").click()
    box = page.locator("#filters").bounding_box()
    assert box is not None
    assert (box["x"], box["y"], box["height"]) == (0, 0, NARROW["height"])
    assert box["width"] < NARROW["width"] / 2
    close(page)


def test_page_orders_are_a_menu_where_there_is_no_room(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, PHONE)
    page.goto("/?q=travel")
    button = page.get_by_role("button", name="Order of the results: Relevance")
    button.press("Enter")
    menu = page.get_by_role("navigation", name="Order of the results")
    expect(menu.get_by_text("Relevance")).to_have_attribute("aria-current", "true")
    page.keyboard.press("Tab")
    expect(menu.get_by_role("link", name="Newest")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    follow(page, menu.get_by_role("link", name="Oldest"))
    expect(page.get_by_role("button", name="Order of the results: Oldest")).to_be_visible()
    page.set_viewport_size({"width": DESKTOP["width"], "height": DESKTOP["height"]})
    expect(page.get_by_role("navigation", name="Order of the results").get_by_role("link", name="Newest")).to_be_visible()
    expect(page.get_by_role("button", name="Order of the results")).to_be_hidden()
    close(page)


def test_page_of_the_narrowest_phone_has_its_buttons_in_one_row_in_every_language(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, {"width": 320, "height": 640})
    page.goto("/?q=travel&select=@filetype:html")
    for lang in LANGUAGES:
        for order in ("", "&sort=date:D:R:d1", "&sort=date:A:R:d1"):
            show(page, f"/?q=travel&select=@filetype:html{order}&lang={lang}")
            first, second = page.locator(".bar button").evaluate_all("found => found.map(one => one.getBoundingClientRect().toJSON())")
            assert (first["y"], first["height"]) == (second["y"], second["height"]) == (first["y"], FINGERTIP), lang
            assert fits(page)
    close(page)


def show(page: Page, path: str) -> None:
    """Shows another page of the same kind, for a third of what it costs to open it: its styles and scripts stay loaded."""
    page.evaluate(SHOW, path)


SHOW = """
async (path) => {
  const other = new DOMParser().parseFromString(await (await fetch(path)).text(), "text/html");
  for (const name of ["lang", "dir"]) document.documentElement.setAttribute(name, other.documentElement.getAttribute(name) ?? "");
  document.body.replaceWith(other.body);
}
"""


def test_buttons_have_borders_where_a_browser_forces_its_colours(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, DESKTOP)
    page.emulate_media(forced_colors="active")
    page.goto("/?q=travel")
    borders = page.locator("button").evaluate_all("found => found.map(one => getComputedStyle(one).borderTopWidth)")
    assert borders
    assert set(borders) == {"1px"}
    close(page)


FINGERTIP = 44
"""Units: CSS pixels. Source: WCAG 2.2, 2.5.5. Links within a text are as high as its lines."""


def test_page_of_a_phone_has_targets_as_large_as_a_fingertip_within_its_margins(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, PHONE)
    page.goto("/?q=travel&select=department:Finance&select=department:Research")
    targets = page.locator(".bar button, .chosen a, .also a, .pages a, search button")
    expect(targets.nth(10)).to_be_visible()
    boxes = list_boxes(targets)
    assert [box for box in boxes if box["height"] < FINGERTIP] == []
    assert [box for box in boxes if box["x"] < 16 or box["x"] + box["width"] > PHONE["width"] - 16] == []
    page.get_by_role("button", name="Filters (2)").click()
    page.get_by_text("Other days of Date").click()
    sheet = page.locator("#filters :is(label:has(input), button, .top a, summary, input[type=date]):visible")
    expect(sheet.nth(10)).to_be_visible()
    assert [box for box in list_boxes(sheet) if 0 < box["height"] < FINGERTIP - 1] == []
    close(page)


def list_boxes(targets: Locator) -> list[FloatRect]:
    return [box for one in targets.all() if (box := one.bounding_box()) is not None]


def test_page_long_facet_is_searched(browser: Browser, appliance: Appliance) -> None:
    records = [make_record(f"http://host{number}.example.org/", f"<p>manyhosts {number}</p>") for number in range(12)]
    appliance.feed(make_feed(*records), "hosts")
    page = open_page(browser, appliance, DESKTOP)
    ask(page, "manyhosts")
    field = page.get_by_role("searchbox", name="Search in Site")
    field.fill("HOST11")
    expect(page.get_by_label("host11.example.org")).to_be_visible()
    expect(page.get_by_label("host2.example.org")).to_be_hidden()
    field.press("Enter")
    field.fill("nowhere")
    expect(page.get_by_text("No value has this text")).to_be_visible()
    field.fill("11")
    page.get_by_label("host11.example.org").check()
    expect(page.locator(".count")).to_contain_text("1 result")
    expect(field).to_have_value("11")
    close(page)


def test_page_clicks_are_reported(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, DESKTOP)
    ask(page, "remote work")
    page.evaluate("document.addEventListener('click', event => event.preventDefault())")
    with page.expect_request("**/click?*") as sent:
        page.locator(".results h2 a").first.click()
    fields = parse_qs(urlsplit(sent.value.url).query)
    assert (fields["ct"], fields["q"], fields["r"]) == (["c"], ["remote work"], ["1"])
    # the browser sends it in the background, and drops it with the page
    wait_until(lambda: '"query":"remote work"' in read_clicks(appliance), partial(read_clicks, appliance))
    close(page)


def test_page_reports_clicks_for_the_query_whose_results_it_shows(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, DESKTOP)
    page.goto("/?q=remtoe+work&num=3")
    expect(page.locator(".meant")).to_contain_text("Showing results for remote work")
    page.evaluate("document.addEventListener('click', event => event.preventDefault())")
    with page.expect_request("**/click?*") as sent:
        page.locator(".results h2 a").nth(2).click()
    fields = parse_qs(urlsplit(sent.value.url).query)
    assert (fields["q"], fields["r"]) == (["remote work"], ["3"])
    close(page)


def test_page_takes_any_range_of_days(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, DESKTOP)
    ask(page, "travel")
    days = page.locator("fieldset").filter(has_text="Date").first
    days.get_by_text("Other days").press("Enter")
    page.keyboard.press("Tab")
    expect(days.get_by_label("From")).to_be_focused()
    days.get_by_label("From").fill("2024-02-01")
    days.get_by_label("To").fill("2024-06-30")
    apply = days.get_by_role("button", name="Apply")
    apply.press("Enter")
    chosen = page.locator(".chosen")
    expect(chosen).to_contain_text("Date: 1 Feb 2024 – 30 Jun 2024")
    expect(apply).to_be_focused()
    expect(days.get_by_label("From")).to_have_value("2024-02-01")
    page.locator("#filters input[type=checkbox]").first.check()
    expect(chosen.get_by_role("link")).to_have_count(3)
    expect(days.get_by_label("To")).to_have_value("2024-06-30")
    follow(page, page.get_by_role("link", name="Without Date"))
    expect(days.get_by_label("From")).to_have_value("")
    close(page)


def test_page_folds_again_what_it_unfolded(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, DESKTOP)
    ask(page, "travel")
    days = page.locator("fieldset").filter(has_text="Date").first
    for _ in range(2):
        days.get_by_text("Other days").click()
        expect(days.get_by_label("From")).to_be_visible()
        days.get_by_text("Other days").click()
        expect(days.get_by_label("From")).to_be_hidden()
    page.get_by_text("3 more of Department").click()
    expect(page.get_by_label("Works Council")).to_be_visible()
    last, fold = page.get_by_label("Works Council").bounding_box(), page.get_by_text("Fewer of Department").bounding_box()
    assert last is not None
    assert fold is not None
    assert fold["y"] > last["y"]
    page.get_by_text("Fewer of Department").click()
    expect(page.get_by_label("Works Council")).to_be_hidden()
    close(page)


def test_page_leads_back_from_similar_documents(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, PHONE)
    page.goto("/?q=travel&select=department:Finance&sort=date:D:R:d1")
    shown = page.locator(".results h2").all_text_contents()
    follow(page, page.get_by_role("link", name="Similar to").first)
    first = page.locator("h1").text_content() or ""
    follow(page, page.get_by_role("link", name="Similar to").first)
    assert page.locator("h1").text_content() != first
    follow(page, page.get_by_role("link", name="Cached copy of").first)
    follow(page, page.get_by_role("link", name="Back to the results"))
    follow(page, page.get_by_role("link", name="Back to the results"))
    expect(page.locator("h1")).to_have_text(first)
    follow(page, page.get_by_role("link", name="Back to the results"))
    assert page.locator(".results h2").all_text_contents() == shown
    expect(page.locator(".chosen")).to_contain_text("Department: Finance")
    close(page)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("name", ["Cached copy of", "Similar to"])
def test_way_back_leads_to_the_same_place_of_the_list(browser: Browser, appliance: Appliance, name: str, *, script: bool) -> None:
    page = open_page(browser, appliance, PHONE, script=script)
    page.goto("/?q=travel&start=10")
    link = page.locator(".results > li").nth(6).get_by_role("link", name=name)
    link.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 60)")
    before = link.bounding_box()
    follow(page, link)
    follow(page, page.get_by_role("link", name="Back to the results"))
    expect(page.locator(".count")).to_contain_text("11–20 of 52 results")
    item = page.locator(".results > li").nth(6)
    expect(item.locator("a:focus")).to_have_count(1)
    expect(item).to_be_in_viewport()
    if script:
        expect(item.get_by_role("link", name=name)).to_be_focused()
        wait_until(lambda: is_near(item.get_by_role("link", name=name).bounding_box(), before))
        assert "#" not in page.url
    close(page)


def is_near(box: FloatRect | None, other: FloatRect | None) -> bool:
    return box is not None and other is not None and abs(box["y"] - other["y"]) < 2


def test_page_takes_a_range_of_days_without_script(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, PHONE, script=False)
    ask(page, "travel")
    page.get_by_role("button", name="Filters").click()
    days = page.locator("fieldset").filter(has_text="Date").first
    days.get_by_text("Other days").click()
    days.get_by_label("From").fill("2025-01-09")
    follow(page, page.get_by_role("button", name="Show results"))
    expect(page.locator(".chosen")).to_contain_text("Date: from 9 Jan 2025")
    close(page)


def read_clicks(appliance: Appliance) -> str:
    return "".join(path.read_text() for path in (appliance.data / "clicks").glob("*.jsonl"))


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "query",
    [
        "",
        "travel",
        pytest.param("travel qqq", marks=pytest.mark.thorough),
        pytest.param("travel expences", marks=pytest.mark.thorough),
        pytest.param('foo:x "travel', marks=pytest.mark.thorough),
        pytest.param("related:http://nowhere/", marks=pytest.mark.thorough),
    ],
    ids=["blank", "found", "loosened", "corrected", "warned", "nothing"],
)
def test_page_is_clean_for_axe(browser: Browser, appliance: Appliance, query: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(browser, appliance, DESKTOP, scheme=scheme)
    if query:
        ask(page, query)
    found = Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()
    close(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_with_open_filters_is_clean_for_axe(browser: Browser, appliance: Appliance, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(browser, appliance, PHONE, scheme=scheme)
    page.goto("/?q=travel&select=department:Finance&select=@filetype:html")
    page.get_by_role("button", name="Filters (2)").click()
    expect(page.get_by_label("Finance")).to_be_visible()
    page.get_by_text("Other days of Date").click()
    found = Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()
    close(page)
