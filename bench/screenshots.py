"""Pictures of the search page at three widths, light and dark, for people to look at: ``python -m bench.screenshots FOLDER``."""

import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

from tests import library
from tests.appliance import running

WIDTHS = (400, 900, 1400)
SIDE_BY_SIDE = 960
"""The width from which the filters stand beside the results."""

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PAGES = {
    "blank": "/",
    "found": "/?q=travel",
    "narrowed": "/?q=travel&select=department:Finance&select=@filetype:html",
    "foreign": "/?q=travel+inmeta:department+-inmeta:kind",
    "meant": "/?q=travel+expences",
    "dated": "/?q=travel&select=@date:2024-02-01..2025-06-30",
    "nothing": "/?q=travel&select=@filetype:pdf",
    "error": "/nowhere",
    "arabic": "/?q=travel&lang=ar",
    "japanese": "/?q=travel&lang=ja",
}


def take(browser: Browser, base_url: str, folder: Path) -> None:
    """Takes all pictures."""
    for scheme in SCHEMES:
        for width in WIDTHS:
            context = browser.new_context(base_url=base_url, viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            for name, path in PAGES.items():
                page.goto(path)
                page.screenshot(path=str(folder / f"{name}-{width}-{scheme}.png"), full_page=True)
            if width < SIDE_BY_SIDE:
                page.goto(PAGES["narrowed"])
                page.get_by_role("button", name="Filters").click()
                page.screenshot(path=str(folder / f"filters-{width}-{scheme}.png"))
                page.goto(PAGES["found"])
            page.get_by_role("combobox").fill("tra")
            page.get_by_role("option").first.wait_for()
            page.get_by_role("combobox").press("ArrowDown")
            page.screenshot(path=str(folder / f"typing-{width}-{scheme}.png"))
            context.close()


def main(folder: Path) -> None:
    """Starts a server, fills it and takes the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        running(Path(data) / "data", library.SETTINGS) as appliance,
        sync_playwright() as driver,
    ):
        library.fill(appliance)
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        take(browser, f"http://127.0.0.1:{appliance.search_port}", folder)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
