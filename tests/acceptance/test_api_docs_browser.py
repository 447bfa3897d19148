"""The page about the JSON resources in a browser."""

from pathlib import Path

import pytest

from tests.appliance import running
from tests.browsers import DESKTOP, PHONE, launched, needs_chromium, new_page

pytestmark = needs_chromium


@pytest.mark.parametrize(
    ("size", "dark"), [pytest.param(DESKTOP, False, marks=pytest.mark.thorough, id="desktop"), pytest.param(PHONE, True, id="phone")]
)
def test_page_is_clean_for_axe_and_fits(tmp_path: Path, size: dict[str, int], dark: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with running(tmp_path / "data") as server, launched() as browser:
        page = new_page(browser, server, size, dark=dark)
        logged: list[str] = []
        page.on("console", lambda message: logged.append(message.text))
        for port in (server.search_port, server.admin, server.gate):
            page.goto(f"http://127.0.0.1:{port}/api/docs")
            violations = Axe().run(page).response["violations"]
            assert [(each["id"], [node["html"] for node in each["nodes"]][:2]) for each in violations] == []
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert logged == []
        for port in (server.search_port, server.admin, server.gate):
            page.goto(f"http://127.0.0.1:{port}/api/docs")
            page.get_by_role("link", name="OpenAPI document").click()
            page.get_by_text('"openapi":"3.').wait_for()
        page.context.close()
