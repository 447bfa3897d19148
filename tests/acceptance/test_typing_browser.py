"""Results that come while somebody types, in a browser whose clock the tests set."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests import library
from tests.appliance import Appliance, running
from tests.browsers import DESKTOP, follow, launched, needs_chromium, new_page
from tests.waiting import wait_until

pytestmark = needs_chromium

TYPED_MS, PAUSE_MS, SLOW_MS, PATIENCE_MS = 200, 1_100, 500, 1_600
SETTINGS = library.SETTINGS + '[[frontends]]\nname = "still"\nas_you_type = false\n'
SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map((one) => one.value)))
  .observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("typing") / "data", SETTINGS) as started:
        library.fill(started)
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


class Typing:
    """A page in which somebody types. Time stands still in it until a test lets it pass."""

    def __init__(self, browser: Browser, appliance: Appliance, path: str = "/", script: str = "") -> None:
        self.page = new_page(browser, appliance, DESKTOP)
        self.requests: list[Request] = []
        self.page.on("request", lambda sent: self.requests.append(sent) if sent.resource_type == "fetch" and is_search(sent.url) else None)
        if script:
            self.page.add_init_script(script)
        self.page.clock.install()
        self.page.goto(path)
        self.page.clock.pause_at(self.page.evaluate("Date.now()") + 1_000)
        self.box = self.page.get_by_role("combobox")
        self.box.press("End")
        self.ended = self.page.locator("search form:not([data-typing])")

    def type(self, text: str) -> None:
        self.box.press_sequentially(text)

    def wait(self, milliseconds: int) -> None:
        self.page.clock.run_for(milliseconds)

    def search(self, text: str) -> None:
        """Types, and waits until the answer for what is half typed has come."""
        self.type(text)
        with self.page.expect_response(lambda answer: is_search(answer.url)):
            self.wait(TYPED_MS)

    def list_queries(self) -> list[tuple[str, bool]]:
        """Lists what was searched for, and whether the page said that it is half typed."""
        return [(query_of(one.url), one.headers.get("x-feedmill-typing") == "1") for one in self.requests]


def query_of(url: str) -> str:
    return parse_qs(urlsplit(url).query).get("q", [""])[0]


def is_search(url: str, query: str = "") -> bool:
    """Whether the page searches, for some query: suggestions have the same parameter."""
    found = query_of(url)
    return urlsplit(url).path == "/" and bool(found) and found == (query or found)


def is_unfinished(url: str) -> bool:
    """Whether a page shows results of a word that is half typed."""
    return parse_qs(urlsplit(url).query).get("prefix", []) == ["1"]


class Held:
    """All further searches of a page, which wait until a test lets them go on."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._routes: list[Route] = []
        page.route(is_search, lambda route: self._routes.append(route))

    def wait_for(self, query: str) -> Route:
        """Returns a search once the browser has sent it."""

        def find() -> list[Route]:
            # the browser's events come while it is asked something
            self._page.evaluate("1")
            return [route for route in self._routes if query_of(route.request.url) == query]

        wait_until(lambda: bool(find()), f"a search for {query}")
        return find()[-1]

    def let_go(self, query: str) -> None:
        """Lets a search go on, and waits for its answer."""
        route = self.wait_for(query)
        with self._page.expect_response(lambda answer: is_search(answer.url, query)):
            route.continue_()


def test_results_come_while_typing_and_the_address_follows(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance)
    page, count = typing.page, typing.page.locator(".count")
    entries = page.evaluate("history.length")
    typing.search("travel")
    expect(count).to_contain_text("of 52 results")
    expect(page.locator("body.has-query")).to_have_count(1)
    expect(page.locator(".signs")).to_have_count(1)
    typing.search(" hotel")
    expect(page).to_have_title("travel hotel – Feedmill")
    assert query_of(page.url) == "travel hotel"
    expect(typing.box).to_be_focused()
    assert page.evaluate("document.getElementById('q').selectionStart") == len("travel hotel")
    assert page.evaluate("history.length") == entries + 1
    # half-typed words are no queries; a pause makes one of them, which is announced then and not before
    said = page.get_by_role("status").filter(has_text="results")
    expect(said).to_have_count(0)
    with page.expect_response(lambda answer: is_search(answer.url)):
        typing.wait(PAUSE_MS)
    expect(said).to_have_count(1)
    assert typing.list_queries() == [("travel", True), ("travel hotel", True), ("travel hotel", False)]
    # what is typed after a pause is another entry of the history
    typing.search(" rates")
    expect(page).to_have_title("travel hotel rates – Feedmill")
    assert page.evaluate("history.length") == entries + 2
    page.go_back()
    expect(page).to_have_title("travel hotel – Feedmill")
    expect(page.get_by_role("combobox")).to_have_value("travel hotel")
    page.go_back()
    expect(page.locator("body.blank")).to_have_count(1)
    page.context.close()


def test_enter_after_typing_leads_to_one_entry(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance, "/?q=hotel")
    page = typing.page
    entries = page.evaluate("history.length")
    page.evaluate("document.getElementById('q').value = ''")
    typing.search("trave")
    typing.search("l")
    expect(page).to_have_title("travel – Feedmill")
    with page.expect_navigation(wait_until="load"):
        typing.box.press("Enter")
    assert query_of(page.url) == "travel"
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    expect(page).to_have_title("hotel – Feedmill")
    page.context.close()


def test_half_a_word_finds_what_begins_with_it_until_enter(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance)
    page, entries = typing.page, typing.page.evaluate("history.length")
    typing.search("trav")
    expect(page.locator(".count")).to_contain_text("of 52 results")
    with page.expect_response(lambda answer: is_search(answer.url)):
        typing.wait(PAUSE_MS)
    expect(page.get_by_role("status").filter(has_text="of 52 results")).to_have_count(1)
    assert is_unfinished(page.url)
    expect(page.locator(".meant, .parting, .missing")).to_have_count(0)
    # another page of the list is of the same list, and so is the way back to it
    follow(page, page.get_by_role("link", name="Next"))
    expect(page.locator(".count")).to_contain_text("of 52 results")
    page.go_back()
    expect(page.locator(".count")).to_contain_text("of 52 results")
    page.clock.run_for(PAUSE_MS)
    # the whole word takes the place of its beginning
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("combobox").press("Enter")
    assert (query_of(page.url), is_unfinished(page.url)) == ("trav", False)
    expect(page.locator(".nothing")).to_contain_text("Nothing was found for trav")
    assert page.evaluate("history.length") == entries + 2
    page.context.close()


def test_a_word_is_whole_after_a_blank_and_before_the_caret(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance)
    typing.search("travel")
    typing.search(" ")
    typing.box.press("Home")
    typing.search("a")
    assert [(query_of(one.url), is_unfinished(one.url)) for one in typing.requests] == [
        ("travel", True),
        ("travel ", False),
        ("atravel ", False),
    ]
    typing.page.context.close()


def test_an_emptied_box_shows_the_start_again(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance, "/?q=hotel")
    page, entries = typing.page, typing.page.evaluate("history.length")
    top = typing.box.bounding_box()
    page.evaluate("document.getElementById('q').select()")
    typing.box.press("Delete")
    with page.expect_response(lambda answer: urlsplit(answer.url).path == "/"):
        typing.wait(TYPED_MS)
    expect(page.locator(".found")).to_have_count(0)
    expect(page.locator(".hint")).to_have_count(1)
    expect(page).to_have_title("Feedmill")
    assert (urlsplit(page.url).path, urlsplit(page.url).query) == ("/", "")
    # the box stays under the caret, and what is typed next takes the place of the start
    expect(typing.box).to_be_focused()
    assert typing.box.bounding_box() == top
    typing.search("travel")
    expect(page.locator(".count")).to_contain_text("of 52 results")
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    expect(page).to_have_title("hotel – Feedmill")
    page.context.close()


def test_a_single_letter_shows_nothing_of_the_words_before_it_after_a_pause(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance, "/?q=hotel")
    page = typing.page
    page.evaluate("document.getElementById('q').select()")
    typing.type("q")
    with page.expect_response(lambda answer: is_search(answer.url, "q")):
        typing.wait(PAUSE_MS)
    expect(page.locator(".nothing")).to_have_count(1)
    page.context.close()


def test_only_the_newest_answer_is_shown(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance)
    held = Held(typing.page)
    typing.type("hotel")
    typing.wait(TYPED_MS)
    held.wait_for("hotel")
    with typing.page.expect_event("requestfailed", lambda one: is_search(one.url, "hotel")):
        typing.type(" rates")
        typing.wait(TYPED_MS)
    held.let_go("hotel rates")
    expect(typing.page).to_have_title("hotel rates – Feedmill")
    assert typing.list_queries() == [("hotel", True), ("hotel rates", True)]
    typing.page.context.close()


def test_half_a_word_that_finds_nothing_changes_nothing_until_a_pause(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance, "/?q=hotel")
    page = typing.page
    page.evaluate("document.getElementById('q').value = ''")
    typing.search("travle")
    expect(page).to_have_title("hotel – Feedmill")
    with page.expect_response(lambda answer: is_search(answer.url)):
        typing.wait(PAUSE_MS)
    expect(page.locator(".meant")).to_contain_text("Showing results for travel")
    expect(typing.box).to_have_value("travle")
    assert query_of(page.url) == "travle"
    page.context.close()


def test_nothing_moves_when_results_come(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance, "/?q=hotel", SHIFTS)
    page = typing.page
    page.evaluate("document.getElementById('q').value = ''")
    for text, title in (("travel", "travel"), (" policy", "travel policy"), (" visa", "travel policy visa")):
        typing.search(text)
        expect(page).to_have_title(f"{title} – Feedmill")
    assert page.evaluate("window.shifts.reduce((sum, one) => sum + one, 0)") < 0.01
    page.context.close()


@pytest.mark.parametrize("status", [503, 429, 302])
def test_a_busy_server_ends_it_quietly(browser: Browser, appliance: Appliance, status: int) -> None:
    typing = Typing(browser, appliance)
    page = typing.page
    page.route(is_search, lambda route: route.fulfill(status=status, headers={"location": "/signin"}))
    typing.search("travel")
    expect(typing.ended).to_have_count(1)
    typing.type(" hotel")
    typing.wait(PAUSE_MS)
    assert typing.list_queries() == [("travel", True)]
    expect(page.locator("body.blank")).to_have_count(1)
    page.unroute_all()
    with page.expect_navigation(wait_until="load"):
        typing.box.press("Enter")
    expect(page).to_have_title("travel hotel – Feedmill")
    page.context.close()


def test_a_slow_server_ends_it(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance)
    held = Held(typing.page)
    typing.type("hotel")
    typing.wait(TYPED_MS)
    held.wait_for("hotel")
    typing.wait(SLOW_MS)
    typing.type(" ra")
    typing.wait(TYPED_MS)
    held.wait_for("hotel ra")
    typing.wait(SLOW_MS)
    held.let_go("hotel ra")
    expect(typing.page).to_have_title("hotel ra – Feedmill")
    expect(typing.ended).to_have_count(1)
    typing.type("tes")
    typing.wait(PAUSE_MS)
    assert typing.list_queries() == [("hotel", True), ("hotel ra", True)]
    typing.page.context.close()


def test_an_answer_that_never_comes_ends_it(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance)
    held = Held(typing.page)
    typing.type("hotel")
    typing.wait(TYPED_MS)
    held.wait_for("hotel")
    with typing.page.expect_event("requestfailed", lambda one: is_search(one.url, "hotel")):
        typing.wait(PATIENCE_MS + PAUSE_MS)
    expect(typing.ended).to_have_count(1)
    typing.type(" rates")
    typing.wait(PAUSE_MS)
    assert "hotel rates" not in [query for query, _ in typing.list_queries()]
    typing.page.context.close()


def test_who_saves_data_gets_results_on_enter_alone(browser: Browser, appliance: Appliance) -> None:
    saving = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"
    typing = Typing(browser, appliance, script=saving)
    typing.type("travel")
    typing.wait(PAUSE_MS)
    assert typing.list_queries() == []
    typing.page.context.close()


def test_a_front_end_switches_it_off(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance, "/?client=still")
    typing.type("travel")
    typing.wait(PAUSE_MS)
    assert typing.list_queries() == []
    typing.page.context.close()


def compose(session: Any, text: str) -> None:
    session.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})


def test_words_that_an_input_method_composes_are_searched_when_they_are_written(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance)
    session = typing.page.context.new_cdp_session(typing.page)
    compose(session, "しゅっちょ")
    typing.wait(PAUSE_MS)
    typing.box.press("Escape")
    assert typing.list_queries() == []
    with typing.page.expect_response(lambda answer: is_search(answer.url)):
        session.send("Input.insertText", {"text": "出張"})
        typing.wait(TYPED_MS)
    expect(typing.page.locator(".count")).to_contain_text("1 result")
    assert typing.list_queries() == [("出張", True)]
    typing.page.context.close()


def test_a_syllable_of_korean_is_searched_while_it_is_composed(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance)
    session = typing.page.context.new_cdp_session(typing.page)
    with typing.page.expect_response(lambda answer: is_search(answer.url)):
        compose(session, "한")
        typing.wait(TYPED_MS)
    assert typing.list_queries() == [("한", True)]
    typing.page.context.close()


def test_results_that_have_the_focus_stay(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance, "/?q=hotel")
    page, held = typing.page, Held(typing.page)
    typing.type(" rates")
    typing.wait(TYPED_MS)
    link = page.locator(".results h2 a").first
    link.focus()
    held.let_go("hotel rates")
    expect(link).to_be_focused()
    expect(page).to_have_title("hotel – Feedmill")
    page.context.close()


def test_filters_hold_while_typing(browser: Browser, appliance: Appliance) -> None:
    typing = Typing(browser, appliance, "/?q=travel&select=department:Finance")
    page = typing.page
    typing.search(" hotel")
    expect(page).to_have_title("travel hotel – Feedmill")
    expect(page.get_by_label("Finance")).to_be_checked()
    assert parse_qs(urlsplit(page.url).query)["select"] == ["department:Finance"]
    follow(page, page.get_by_role("link", name="Without Department: Finance"))
    expect(page).to_have_title("travel hotel – Feedmill")
    page.context.close()
