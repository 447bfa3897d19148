"""A real browser without a window, for the tests that look at pages as people do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.appliance import Appliance
from tests.waiting import PATIENCE_SECONDS

CHROMIUM = Path("/usr/bin/chromium")
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
PATIENCE_MS = PATIENCE_SECONDS * 1_000

needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed; see .ci/packages")


@contextmanager
def launched() -> Iterator[Browser]:
    """Returns a browser while it runs."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"], timeout=PATIENCE_MS)
        yield started
        started.close()


def new_page(browser: Browser, appliance: Appliance, size: dict[str, int], *, script: bool = True, dark: bool = False) -> Page:
    """Returns a blank page of a browser that has no cookies."""
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{appliance.search_port}",
        viewport={"width": size["width"], "height": size["height"]},
        java_script_enabled=script,
        color_scheme="dark" if dark else "light",
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    return page


def follow(page: Page, to_click: Locator) -> None:
    """Clicks what leads to another page, and waits until that is there with its scripts: much of it looks like the one before."""
    with page.expect_navigation(wait_until="load"):
        to_click.click()
