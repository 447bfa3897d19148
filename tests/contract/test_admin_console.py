"""The page of the admin port: who gets it, by which form, and what it shows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from feedmill.model.userrole import UserRole
from tests.builders.requests import PASSWORD
from tests.contract.signinharness import ADMIN_TOKEN, Browser, SignInHarness, opened_with_all_roles, read_form

STATUS = {
    "started_at": "2026-05-04T03:02:01+00:00",
    "documents": 12345,
    "feeds_waiting": 2,
    "crawl": {"urls": 7, "sites": 3, "paused": True},
    "queues": [
        {"name": "extract", "waiting": 1, "oldest_seconds": 75.4, "stuck": True, "reason": "<b>full</b> disk"},
        {"name": "index", "waiting": 0, "oldest_seconds": None, "stuck": False, "reason": None},
    ],
    "pull_sources": [{"name": "hr", "kind": "database", "last_run": {"state": "failed", "reason": "no such table"}}],
    "warnings": ["gate.trusted is all"],
}


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SignInHarness]:
    with opened_with_all_roles(tmp_path) as opened:
        yield opened


def open_browser(harness: SignInHarness, peer: str = "127.0.0.1") -> Browser:
    app = harness.admin(read_status=lambda: STATUS, find_problems=lambda: ["queue extract has not moved for 75 seconds"])
    return Browser(app, peer=peer)


def test_admin_console_signed_out_leads_to_the_form(harness: SignInHarness) -> None:
    browser = open_browser(harness)
    answer = browser.get("/")
    assert (answer.status, answer.headers["location"], answer.headers["cache-control"]) == (302, "/signin", "no-store")
    page = browser.get("/signin")
    assert page.status == 200
    assert read_form(page.text).hidden["code"]
    assert read_form(page.text).visible == {"uDefault": "text", "pwDefault": "password"}
    assert "feedmill_form" in browser.cookies
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert "without signing in" not in page.text


@pytest.mark.parametrize("role", [role for role in UserRole if role.may_act_as(UserRole.VIEWER)])
def test_admin_console_shows_the_state_of_the_server(harness: SignInHarness, role: UserRole) -> None:
    browser = open_browser(harness)
    answer = browser.sign_in(role.value)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    page = browser.get("/")
    assert page.status == 200
    assert page.headers["cache-control"] == "no-store"
    shown = (
        f'<b dir="auto">{role.value}</b>, role {role.value}',
        "queue extract has not moved for 75 seconds",
        "gate.trusted is all",
        "<dd>2026-05-04 03:02 UTC</dd>",
        "12,345",
        "7 of 3 sites, paused",
        "<td>75 s</td><td>stuck: &lt;b&gt;full&lt;/b&gt; disk</td>",
        "<td>0</td><td></td><td>empty</td>",
        "<td>failed: no such table</td>",
    )
    assert [text for text in shown if text not in page.text] == []


def test_admin_console_refuses_a_searcher_and_lets_them_sign_out(harness: SignInHarness) -> None:
    browser = open_browser(harness)
    browser.sign_in("searcher")
    page = browser.get("/")
    assert (page.status, "12,345" in page.text) == (403, False)
    assert "This page needs the role viewer." in page.text
    assert 'href="/signout"' in page.text


def test_admin_console_form_needs_password_code_and_own_origin(harness: SignInHarness) -> None:
    browser = open_browser(harness)
    form = read_form(browser.get("/signin").text)
    fields = {**form.hidden, "uDefault": "viewer", "pwDefault": PASSWORD}
    assert browser.post("/signin", fields | {"pwDefault": "wrong password"}).status == 403
    assert browser.post("/signin", fields | {"code": "0" * 64}).status == 403
    assert browser.post("/signin", fields, origin="http://evil.example").status == 403
    assert browser.get("/").status == 302
    assert browser.post("/signin", fields).status == 303
    assert browser.get("/").status == 200


def test_admin_console_sign_out_needs_the_code(harness: SignInHarness) -> None:
    browser = open_browser(harness)
    browser.sign_in("viewer")
    form = read_form(browser.get("/signout").text)
    assert browser.post("/signout", {}).status == 200
    assert browser.get("/").status == 200
    answer = browser.post(form.action, form.hidden)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert browser.get("/").status == 302
    assert "You are signed out." in browser.get("/signin").text


def test_admin_console_takes_the_token_and_no_header_of_a_proxy(harness: SignInHarness) -> None:
    browser = open_browser(harness)
    assert browser.get("/", authorization=f"Bearer {ADMIN_TOKEN}").status == 200
    assert browser.get("/", authorization="Bearer x").status == 401
    assert browser.get("/", x_forwarded_user="administrator").status == 302


def test_admin_console_answers_this_machine_alone(harness: SignInHarness) -> None:
    browser = open_browser(harness, peer="192.168.1.9")
    assert [browser.get(path).status for path in ("/", "/signin", "/signout", "/static/search.css")] == [403] * 4


def test_admin_console_loads_its_own_files(harness: SignInHarness) -> None:
    browser = open_browser(harness)
    browser.sign_in("viewer")
    addresses = [part.partition('"')[0] for part in browser.get("/").text.split('href="/static/')[1:]]
    assert len(addresses) == 3
    assert {browser.get(f"/static/{address}").status for address in addresses} == {200}
