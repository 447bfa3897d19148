"""The form for pushing a feed, in a browser: with scripts it shows the receipt until searches find the feed."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.appliance import Appliance
from tests.browsers import DESKTOP, launched, needs_chromium, new_page
from tests.builders.feedxml import make_feed, make_record

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


def test_pushed_feed_shows_its_receipt_until_it_is_searchable(browser: Browser, server: Appliance) -> None:
    page = new_page(browser, server, DESKTOP)
    page.goto(f"http://127.0.0.1:{server.gate}/push")
    page.get_by_label("Data source").fill("pushedbyhand")
    feed = make_feed(make_record("http://byhand.example.com/1", "byhandword"), make_record("", "nowhere"))
    page.get_by_label("or as text").fill(feed.decode())
    page.get_by_role("button", name="Push").click()
    receipt = page.get_by_role("status")
    expect(receipt).to_contain_text("state: completed with errors")
    expect(receipt).to_contain_text("included: 1")
    expect(receipt).to_contain_text("error: line ")
    expect(receipt).not_to_contain_text("searchable_at: …")
    assert server.urls("byhandword") == ["http://byhand.example.com/1"]
    assert Axe().run(page).response["violations"] == []
    page.context.close()


def test_refused_push_shows_why(browser: Browser, server: Appliance) -> None:
    page = new_page(browser, server, DESKTOP)
    page.goto(f"http://127.0.0.1:{server.gate}/push")
    page.evaluate("document.querySelector('#datasource').removeAttribute('pattern')")
    page.get_by_label("Data source").fill("9 lives")
    page.get_by_label("or as text").fill("<gsafeed/>")
    page.get_by_role("button", name="Push").click()
    expect(page.get_by_role("status")).to_contain_text("which is no source's name")
    page.context.close()


def test_page_leads_to_its_manual(browser: Browser, server: Appliance) -> None:
    page = new_page(browser, server, DESKTOP)
    page.goto(f"http://127.0.0.1:{server.gate}/push")
    page.get_by_role("link", name="Feed port").click()
    page.wait_for_url(f"http://127.0.0.1:{server.search_port}/manual/reference/feed-port.html")
    assert page.get_by_role("heading", level=1).inner_text() == "Feed port"
    page.context.close()
