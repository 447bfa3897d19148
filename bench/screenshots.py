"""Pictures of every state of the search page, for people to look at: ``python -m bench.screenshots FOLDER [NAME...]``.

Each state is shown in each of the looks: widths, colours, languages, media. A picture is called ``STATE-LOOK.png``; with names, only states
and looks that begin with one of them are taken. ``index.html`` shows all pictures of a state in a row.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Route, sync_playwright

from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.http.common.problems import Problem
from feedmill.http.pages.branding import Brand
from feedmill.http.pages.languages import choose_language
from feedmill.http.pages.rendering import Pages, show_error
from feedmill.http.search.resultpage import show_page
from feedmill.model.messages import message
from feedmill.model.results import ResultPage, Snippet
from feedmill.model.search import SearchRequest
from feedmill.model.serving import Serving
from feedmill.services.deadline import Deadline
from tests import library, programs
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.requests import PASSWORD, make_basic
from tests.builders.results import make_result
from tests.officefiles import make_docx, make_zip, paragraph

SETTINGS: Final = (
    library.SETTINGS
    + """
[signin.proxy]
trusted = ["127.0.0.0/8"]
secret_header = "X-Proxy-Secret"
secret = "of the pictures"
"""
)
PROXY: Final = {"X-Proxy-Secret": "of the pictures", "X-Forwarded-User": "ann.author@example.org"}
FILES: Final = "http://files.example.org/"
STRANGE_HOST: Final = "search.strange.example"
WRONG_PASSWORDS: Final = 12
"""More than the server lets one user try."""

Act = Callable[[Page], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a browser shows pages. Units: ``width`` in CSS pixels."""

    width: int = 1400
    lang: str = "en"
    scheme: Literal["light", "dark"] = "light"
    media: Literal["screen", "print"] = "screen"
    motion: Literal["reduce", "no-preference"] = "no-preference"
    colours: Literal["active", "none"] = "none"


LOOKS: Final = {
    **{f"{scheme}-{width}": Look(width=width, scheme=scheme) for scheme in ("light", "dark") for width in (400, 900, 1400)},
    **{
        f"{lang}-{width}": Look(width=width, lang=lang)
        for lang in ("ar", "he", "ja", "ko", "zh-Hans", "zh-Hant", "de")
        for width in (400, 1400)
    },
    "reduced-400": Look(width=400, motion="reduce"),
    "forced-400": Look(width=400, colours="active"),
    "forced-1400": Look(colours="active"),
    "print-900": Look(width=900, media="print"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A state of a page: its address, and what is done there."""

    path: str
    act: Act | None = None
    #: of an account that a proxy names
    is_proxied: bool = False
    host: str = "127.0.0.1"
    #: as tall as the screen: what is fixed to its edges stays there
    is_screen: bool = False


# --- what a person does -----------------------------------------------------------------------------------------------------------


def _open_filters(page: Page) -> None:
    """Opens the filters where they are a sheet, and the longer lists in them."""
    opener = page.locator(".bar .open")
    if opener.is_visible():
        opener.click()
    for _ in range(2):
        page.locator("#filters details:not([open]) > summary").first.click()


def _choose_value(page: Page) -> None:
    """Applies a filter by its box."""
    opener = page.locator(".bar .open")
    if opener.is_visible():
        opener.click()
    page.locator("#filters input[type=checkbox]").nth(1).check()
    page.locator("main .chosen").wait_for()


def _type(page: Page) -> None:
    page.locator("#q").fill("tra")
    page.locator("#suggestions li").first.wait_for()
    page.locator("#q").press("ArrowDown")


def _open_orders(page: Page) -> None:
    chooser = page.locator(".bar .choose")
    if chooser.is_visible():
        chooser.click()


def _sign_in_as(name: str, password: str) -> Act:
    def act(page: Page) -> None:
        page.locator("input[type=text]").fill(name)
        page.locator("input[type=password]").fill(password)
        with page.expect_navigation(wait_until="load"):
            page.locator(".card button").click()

    return act


def _sign_out(page: Page) -> None:
    _sign_in_as("ann", PASSWORD)(page)
    with page.expect_navigation(wait_until="load"):
        page.locator(".account button").click()


# --- the states -------------------------------------------------------------------------------------------------------------------

STATES: Final = {
    "start": State(path="/"),
    "typing": State(path="/?q=", act=_type, is_screen=True),
    "results": State(path="/?q=travel"),
    "second": State(path="/?q=travel&start=20"),
    "orders": State(path="/?q=travel", act=_open_orders, is_screen=True),
    "facets": State(path="/?q=travel", act=_open_filters, is_screen=True),
    "chosen": State(path="/?q=travel&select=department:Finance&select=@filetype:html"),
    "choosing": State(path="/?q=travel", act=_choose_value, is_screen=True),
    "days": State(path="/?q=travel&select=@date:2024-02-01..2025-06-30"),
    "nothing": State(path="/?q=zebrafish+quarantine"),
    "operators": State(path="/?q=zebrafish+filetype:pdf+-quarantine"),
    "typo": State(path="/?q=travel+expences"),
    "parts": State(path="/?q=zebrafish+hotel"),
    "hitless": State(path="/?q=travel&select=@filetype:pdf&select=department:Research"),
    "copy-html": State(path=f"/cache?url={FILES}guide.html&q=travel"),
    "copy-pdf": State(path=f"/cache?url={FILES}guide.pdf&q=travel"),
    "copy-office": State(path=f"/cache?url={FILES}guide.docx&q=travel"),
    "copy-archive": State(path=f"/cache?url={FILES}guide.zip&q=travel"),
    "similar": State(path="/?q=related:http://intranet.example.org/travel-expenses/0.html&back=q%3Dtravel"),
    "signin": State(path="/signin?to=/%3Fq%3Dtravel"),
    "wrong": State(path="/signin?to=/%3Fq%3Dtravel", act=_sign_in_as("ann", "wrong")),
    "locked": State(path="/signin?to=/%3Fq%3Dtravel", act=_sign_in_as("locked", PASSWORD)),
    "signedin": State(path="/signin?to=/%3Fq%3Dtravel", act=_sign_in_as("ann", PASSWORD)),
    "signedout": State(path="/signin?to=/%3Fq%3Dtravel", act=_sign_out),
    "signout": State(path="/signout?to=/%3Fq%3Dtravel"),
    "proxied": State(path="/?q=travel", is_proxied=True),
    "proxied-signout": State(path="/signout?to=/%3Fq%3Dtravel", is_proxied=True),
    "deadline": State(path="/staged/deadline"),
    "deadline-none": State(path="/staged/deadline-none"),
    "error-404": State(path="/nowhere"),
    "error-421": State(path="/", host=STRANGE_HOST),
    "error-500": State(path="/staged/error-500"),
    "error-503": State(path="/staged/error-503"),
    "manual": State(path="/manual/howto/brand-the-pages.html"),
}


def _stage(name: str, lang: str) -> str:
    """Returns a page that a healthy server shows by chance alone."""
    choice, pages = choose_language(lang, ""), Pages()
    if name.startswith("error-"):
        problem = Problem(int(name.removeprefix("error-")))
        text = message("the search cannot be answered now; try again later")
        values = {**show_error(problem, text), "query": "travel", "again": "/?q=travel", "request_id": "5f0c2a9be37d4c11"}
        return pages.render("error.html", choice, Brand(), **values)
    deadline = Deadline(seconds=5.0)
    deadline.give_up()
    texts = ("Expenses of travel", "Whoever travels abroad asks for approval", "Rates agreed with hotels near our offices")
    results = [
        make_result(f"http://intranet.example.org/{number}.html", title=f"Travel, part {number}", snippet=Snippet(text=text))
        for number, text in enumerate(texts, 1)
    ]
    found = ResultPage(query="travel", start=0, warnings=deadline.warnings, deadline_warnings=deadline.warnings, seconds=5.01)
    if name == "deadline":
        found = ResultPage(
            query="travel",
            start=0,
            total=len(results),
            results=tuple(results),
            warnings=deadline.warnings,
            deadline_warnings=deadline.warnings,
            seconds=5.01,
        )
    plan = CompiledSearchConfig(Serving()).plan(SearchRequest(query="travel"))
    values = {"page": show_page(found, plan), "account": None, "similar_to": "", "notice": None}
    return pages.render("search.html", choice, Brand(), **values)


# --- the documents ----------------------------------------------------------------------------------------------------------------

GUIDE: Final = """
<html lang="en"><head><title>Guide to travel</title></head><body>
<nav><a href="/">Home</a> <a href="/guides">Guides</a></nav>
<h1>Guide to travel</h1><p>This guide says how <b>travel</b> is requested, booked and refunded, and <a href="/rates">at which rates</a>.</p>
<h2>Before you travel</h2><ol><li>Ask for approval.</li><li>Book the train.<ul><li>Second class below three hours</li><li>First class
above</li></ul></li><li>Note the number of your travel request.</li></ol>
<h2>Rates</h2><table><tr><th>Country</th><th>A day</th><th>A night</th></tr><tr><td>Austria</td><td>40 EUR</td><td>108 EUR</td></tr>
<tr><td>Japan</td><td>52 EUR</td><td>190 EUR</td></tr></table>
<blockquote><p>Receipts are handed in within thirty days of the travel.</p></blockquote>
<h2>By the command line</h2><pre>travel request --to Wien \\
    --days 3</pre>
<dl><dt>Receipt</dt><dd>A bill that says who was paid for what.</dd></dl></body></html>
"""


def _fill(appliance: Appliance, browser: Browser) -> None:
    """Feeds the library, and a document of each format that the copies show."""
    library.fill(appliance)
    page = browser.new_page()
    page.set_content(GUIDE)
    pdf = page.pdf(tagged=True, outline=True)
    page.close()
    headed = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{}</w:t></w:r></w:p>'.format
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("Japan", "52 EUR", "190 EUR"))
    docx = make_docx(
        headed("Guide to travel")
        + paragraph("This guide says how travel is requested, booked and refunded.")
        + headed("Rates")
        + f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    )
    archive = make_zip(
        {"guide/travel.html": GUIDE, "guide/rates.txt": "Rates of travel\nAustria 40\nJapan 52\n", "guide/travel.docx": docx}
    )
    records = [
        make_record(f"{FILES}guide.html", GUIDE, last_modified="2026-03-02"),
        make_record(f"{FILES}guide.pdf", pdf, mimetype="application/pdf", last_modified="2026-03-02"),
        make_record(f"{FILES}guide.docx", docx, mimetype="application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        make_record(f"{FILES}guide.zip", archive, mimetype="application/zip"),
    ]
    appliance.feed(make_feed(*records), "files")
    for name in ("ann", "locked"):
        programs.run("users", "add", name, "--password-stdin", "--data", appliance.data, given=PASSWORD).check_returncode()


# --- the pictures -----------------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(browser: Browser, look: Look, port: int) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": look.width, "height": 900},
        color_scheme=look.scheme,
        reduced_motion=look.motion,
        forced_colors=look.colours,
        locale=look.lang,
    )
    page = context.new_page()

    def stage(route: Route) -> None:
        route.fulfill(content_type="text/html; charset=utf-8", body=_stage(urlsplit(route.request.url).path.rpartition("/")[2], look.lang))

    page.route("**/staged/*", stage)

    def add_proxy(route: Route) -> None:
        route.continue_(headers={**route.request.headers, **PROXY})

    page.route(f"http://localhost:{port}/**", add_proxy)
    yield page
    context.close()


def _take(page: Page, state: State, look: Look, port: int, path: Path) -> None:
    page.context.clear_cookies()
    page.emulate_media(media="screen")
    host = "localhost" if state.is_proxied else state.host
    page.goto(f"http://{host}:{port}{state.path}")
    if state.act is not None:
        state.act(page)
    # what a person does, they do on a screen
    page.emulate_media(media=look.media)
    page.screenshot(path=str(path), full_page=not state.is_screen, animations="disabled")


def _lock(appliance: Appliance) -> None:
    """Locks an account, for minutes."""
    for _ in range(WRONG_PASSWORDS):
        appliance.request("GET", appliance.search_port, "/?access=a", headers={"Authorization": make_basic("locked", "wrong")})


def take(browser: Browser, appliance: Appliance, folder: Path, names: tuple[str, ...] = ()) -> None:
    """Takes the pictures of the states and looks that begin with one of the names, all of them without names."""
    states, port = _pick(STATES, names), appliance.search_port
    for called, look in _pick(LOOKS, names).items():
        _lock(appliance)
        with _opened(browser, look, port) as page:
            for name, state in states.items():
                _take(page, state, look, port, folder / f"{name}-{called}.png")


def _pick(known: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    picked = {name: value for name, value in known.items() if name.startswith(names or ("",))}
    return picked or dict(known)


def _write_index(folder: Path) -> None:
    """Writes a page that shows the pictures of a state in a row."""
    rows = []
    for name in STATES:
        pictures = sorted(path.name for path in folder.glob("*.png") if re.fullmatch(rf"{name}-({'|'.join(LOOKS)})\.png", path.name))
        shown = "".join(f'<a href="{one}"><img src="{one}" width="280" loading="lazy" alt="{one}"></a> ' for one in pictures)
        rows.append(f"<h2>{name}</h2><p>{shown}</p>")
    (folder / "index.html").write_text(f"<!doctype html><title>Pictures</title>{''.join(rows)}")


def main(folder: Path, names: tuple[str, ...]) -> None:
    """Starts a server, fills it and takes the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        running(Path(data) / "data", SETTINGS) as appliance,
        sync_playwright() as driver,
    ):
        rules = f"MAP {STRANGE_HOST} 127.0.0.1"
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", f"--host-resolver-rules={rules}"])
        _fill(appliance, browser)
        take(browser, appliance, folder, names)
        browser.close()
    _write_index(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(sys.argv[2:]))
