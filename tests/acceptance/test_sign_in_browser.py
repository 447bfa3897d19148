"""The page to sign in on, in a browser, with and without script."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import programs
from tests.appliance import Appliance, running
from tests.browsers import DESKTOP, PHONE, follow, launched, needs_chromium, new_page
from tests.builders.requests import PASSWORD

SETTINGS = """
[[signin.oidc]]
name = "corp"
label = "Example Ltd"
issuer = "https://127.0.0.1:9/"
client_id = "feedmill"
"""

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("page") / "data", SETTINGS) as server:
        for name, namespace in (("ann", "Default"), ("a.smith", "ad")):
            words = ("users", "add", name, "--namespace", namespace, "--password-stdin", "--data", server.data)
            programs.run(*words, given=PASSWORD).check_returncode()
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


def open_page(browser: Browser, appliance: Appliance, *, script: bool, dark: bool = False) -> Page:
    page = new_page(browser, appliance, PHONE, script=script, dark=dark)
    page.goto("/?q=travel")
    follow(page, page.get_by_role("banner").get_by_role("link", name="Sign in"))
    return page


def test_people_sign_in_and_out_without_script(browser: Browser, appliance: Appliance) -> None:
    page = open_page(browser, appliance, script=False)
    door = page.get_by_role("group", name="Default")
    door.get_by_label("Name").fill("ann")
    door.get_by_label("Password").fill("wrong")
    follow(page, page.get_by_role("button", name="Sign in"))
    expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    assert door.get_by_label("Name").input_value() == "ann"
    expect(door.get_by_label("Password")).to_be_focused()
    door.get_by_label("Password").fill(PASSWORD)
    follow(page, page.get_by_role("button", name="Sign in"))
    expect(page).to_have_url(f"http://127.0.0.1:{appliance.search_port}/?q=travel")
    expect(page.get_by_text("Signed in as ann")).to_be_visible()
    cookie = next(each for each in page.context.cookies() if each["name"] == "GSA_SESSION_ID")
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    follow(page, page.get_by_role("button", name="Sign out"))
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    expect(page).to_have_url(f"http://127.0.0.1:{appliance.search_port}/?q=travel")
    expect(page.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()
    page.reload()
    expect(page.get_by_text("You are signed out.")).to_have_count(0)
    assert "GSA_SESSION_ID" not in {each["name"] for each in page.context.cookies()}
    page.context.close()


def sign_in(page: Page) -> None:
    page.goto("/signin?to=/%3Fq%3Dtravel")
    door = page.get_by_role("group", name="Default")
    door.get_by_label("Name").fill("ann")
    door.get_by_label("Password").fill(PASSWORD)
    follow(page, page.get_by_role("button", name="Sign in"))


def type_query(page: Page, text: str) -> None:
    """Types a query, and lets so much time of the page pass that it searches for it."""
    page.clock.pause_at(page.evaluate("Date.now()") + 1_000)
    page.get_by_role("combobox").fill(text)
    with page.expect_response(lambda answer: f"/?q={text}" in answer.url):
        page.clock.run_for(1_100)


def test_signing_out_is_announced_and_leads_back_to_what_was_typed(browser: Browser, appliance: Appliance) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = new_page(browser, appliance, DESKTOP)
    page.clock.install()
    sign_in(page)
    type_query(page, "hotel")
    page.clock.resume()
    # the last word may go on, because the caret stands at its end
    expect(page.locator('.account input[name="to"][value="/?q=hotel&prefix=1"]')).to_have_count(1)
    follow(page, page.get_by_role("button", name="Sign out"))
    assert page.url.endswith("/?q=hotel&prefix=1")
    expect(page.get_by_role("status").filter(has_text="You are signed out.")).to_be_attached()
    found = Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()
    page.context.close()


def test_long_name_of_a_user_takes_no_line_of_its_own_on_a_phone(browser: Browser, appliance: Appliance) -> None:
    page = new_page(browser, appliance, PHONE)
    sign_in(page)
    expect(page.get_by_role("banner").get_by_role("link", name="Signed in as")).to_have_text("Signed in as ann", use_inner_text=True)
    assert page.locator(".account > a").evaluate("link => getComputedStyle(link).display") == "block", "a flex box would drop the blank"
    page.evaluate("document.querySelector('.account bdi').textContent = 'CORP/' + 'alexandra.longname.'.repeat(5)")
    name = page.get_by_role("link", name="Signed in as").bounding_box()
    button = page.get_by_role("button", name="Sign out").bounding_box()
    assert name is not None
    assert button is not None
    assert name["x"] + name["width"] <= button["x"]
    assert abs(name["y"] + name["height"] / 2 - button["y"] - button["height"] / 2) < 4
    page.context.close()


def test_page_shows_that_another_tab_ended_the_session(browser: Browser, appliance: Appliance) -> None:
    page = new_page(browser, appliance, DESKTOP)
    page.clock.install()
    sign_in(page)
    other = page.context.new_page()
    other.goto("/signout?to=/%3Fq%3Dtravel")
    follow(other, other.get_by_role("button", name="Sign out everywhere"))
    expect(other.get_by_role("region", name="You are signed out.")).to_be_visible()
    assert other.url.endswith("/?q=travel")
    # what the page has still shown is replaced with the next results, and its button leads back too
    type_query(page, "hotel")
    expect(page.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()
    page.context.close()


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["light", "dark"])
def test_sign_in_page_is_clean_for_axe_and_fits_a_phone(browser: Browser, appliance: Appliance, dark: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(browser, appliance, script=True, dark=dark)
    page.get_by_role("group", name="ad").get_by_label("Name").fill("a.smith")
    follow(page, page.get_by_role("button", name="Sign in"))
    expect(page.get_by_role("link", name="Sign in with Example Ltd")).to_be_visible()
    found = Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()
