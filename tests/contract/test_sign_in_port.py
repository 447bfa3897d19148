"""Signing in at the search port: who is let in, by what, and what an attacker gets."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, urlencode

import pytest
from lxml import html

from feedmill.adapters.identity.argon2 import Argon2Hasher
from feedmill.core.access.principals import read_subject
from feedmill.core.signin.sessiondigests import digest_of_user
from feedmill.http.common.currentuser import SIGNED_OUT, SignInMethod
from feedmill.http.common.searchthreads import SearchBounds
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import Scope
from feedmill.model.errors import NotFound
from feedmill.model.signin import TokenScope
from feedmill.model.userrole import UserRole
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.signin.throttle import ThrottleLimits
from tests.asgi import send_request
from tests.builders.access import FOR_ANN
from tests.builders.requests import PASSWORD, make_basic
from tests.contract.signinharness import ADMIN_TOKEN, CHEAP, PROXY, Browser, SignInHarness, open_signin_harness, read_form

SESSION = "GSA_SESSION_ID"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SignInHarness]:
    opened = open_signin_harness(tmp_path)
    opened.signing.accounts.add("ann", PASSWORD)
    yield opened
    opened.search.store.close()


def names(harness: SignInHarness) -> list[tuple[str, str, str]]:
    return [(user.namespace, user.domain, user.name) for user in harness.seen[-1].identity.users]


# --- what the search page says ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["needle", "needle+thread", "nothing", "nedele"])
def test_page_leads_to_sign_in_where_nothing_matches_the_whole_query(harness: SignInHarness, query: str) -> None:
    harness.search.add([harness.search.make(f"http://a.com/{number}", "needle") for number in range(20)])
    text = harness.browser().get(f"/?q={query}").text
    assert text.count("Documents that need a permission are shown only to those who have it.") == (query != "needle")
    signed_in = harness.browser().get(f"/?q={query}", authorization=make_basic("ann")).text
    assert ">Sign in</a>" not in signed_in


def test_copy_that_is_hidden_or_does_not_exist_leads_to_sign_in_and_back(harness: SignInHarness) -> None:
    harness.search.add([harness.search.make("http://a.com/hidden", "needle")], acls={"http://a.com/hidden": FOR_ANN})
    services = harness.search.services()
    copies = CachedCopies(services.documents, harness.search.blobs, services.states)
    app = search_app(services, SearchSite(signin=harness.site, copies=copies))
    for path in ("/cache?q=needle&url=http%3A//a.com/{}", "/search?q=cache%3Ahttp%3A//a.com/{}+needle&proxystylesheet=x"):
        hidden, unknown = (Browser(app).get(path.format(name)) for name in ("hidden", "nowhere"))
        assert (hidden.status, unknown.status) == (404, 404)
        assert hidden.text.replace("hidden", "nowhere") == unknown.text.replace("hidden", "nowhere")
        assert f'href="/signin?{urlencode({"to": path.format("hidden")}, safe="/", quote_via=quote)}"' in hidden.text
    assert ">Sign in</a>" not in Browser(app).get("/nowhere").text
    signed_in = Browser(app)
    signed_in.sign_in("ann")
    assert ">Sign in</a>" not in signed_in.get("/cache?url=http%3A//a.com/hidden").text


@pytest.mark.parametrize(
    ("target", "leads"),
    [
        ("/?q=travel&select=%40site%3Aa", "/?q=travel&amp;select=%40site%3Aa"),
        ("/search?q=travel&access=a", "/search?q=travel"),
        ("/cache?url=http%3A//a.com/&q=travel&lang=de", "/?q=travel&amp;lang=de"),
        ("/cache?url=http%3A//a.com/", "/"),
        ("//evil.example/?q=x", "/"),
        ("/db/x/1?q=x", "/"),
    ],
)
def test_searching_without_signing_in_goes_on_with_the_query(harness: SignInHarness, target: str, leads: str) -> None:
    text = harness.browser().get("/signin?" + urlencode({"to": target})).text
    assert f'<a href="{leads}">Search without signing in</a>' in text


@pytest.mark.parametrize(
    ("name", "password", "said", "invalid"),
    [
        ("", "", "Please fill in your name and password.", ["uDefault", "pwDefault"]),
        ("ann", "", "Please fill in your password.", ["pwDefault"]),
        ("", "secret", "Please fill in your user name.", ["uDefault"]),
        ("ann", "secret", "The name or the password is wrong.", ["uDefault", "pwDefault"]),
    ],
)
def test_sign_in_form_says_what_is_missing(harness: SignInHarness, name: str, password: str, said: str, invalid: list[str]) -> None:
    answer = harness.browser().sign_in(name, password)
    assert answer.status == 403
    page = html.fromstring(answer.text)
    assert [node.text for node in page.iterfind(".//p[@role='alert']")] == [said]
    assert [node.get("name") for node in page.iterfind(".//input[@aria-invalid]")] == invalid
    assert page.find(".//form[@class='card'][@novalidate]") is not None, "the page says it, in its language"


# --- HTTP Basic -----------------------------------------------------------------------------------------------------------------


def test_basic_with_the_right_password_is_the_user(harness: SignInHarness) -> None:
    answer = harness.browser().get("/api/v1/search?q=x", authorization=make_basic("ann"))
    assert answer.status == 200
    assert (names(harness), harness.seen[-1].role, harness.seen[-1].method) == (
        [("Default", "", "ann")],
        UserRole.SEARCHER,
        SignInMethod.BASIC,
    )


@pytest.mark.parametrize(
    "authorization",
    [
        make_basic("ann", "wrong password"),
        make_basic("nobody"),
        make_basic("", PASSWORD),
        make_basic("ann", ""),
        "Basic !!!",
        "Basic YW5u",
        "Bearer nothing",
        "Digest x",
        "",
        "Basic",
        make_basic("ann\0"),
        make_basic("a" * 100_000),
        make_basic("ann", "x" * 100_000),
    ],
    ids=[
        "wrong",
        "unknown",
        "no name",
        "no password",
        "no base64",
        "no colon",
        "token",
        "digest",
        "empty",
        "bare",
        "nul",
        "long",
        "long word",
    ],
)
def test_request_that_authenticates_no_user_is_refused(harness: SignInHarness, authorization: str) -> None:
    answer = harness.browser().get("/api/v1/search?q=x", authorization=authorization)
    assert answer.status == 401
    assert answer.json["code"] == "unauthorized"
    assert "www-authenticate" in answer.headers
    assert harness.seen == []


def test_basic_finds_users_in_any_notation_and_letter_case_and_keeps_their_spelling(harness: SignInHarness) -> None:
    harness.signing.accounts.add(r"CORP\Jörg", PASSWORD, namespace="ad", role=UserRole.VIEWER)
    for written in ("corp/JÖRG", "jörg@Corp", r"CORP\jörg"):
        assert harness.browser().get("/?q=x", authorization=make_basic(written)).status == 200
        assert names(harness) == [("ad", "CORP", "Jörg")]
        assert harness.seen[-1].role is UserRole.VIEWER


def test_basic_of_a_name_in_two_namespaces_is_both_where_the_password_is_the_same(harness: SignInHarness) -> None:
    harness.signing.accounts.add("ann", PASSWORD, namespace="ad")
    harness.signing.accounts.add("ann", "another long password", namespace="sharepoint")
    harness.browser().get("/?q=x", authorization=make_basic("ann"))
    assert names(harness) == [("Default", "", "ann"), ("ad", "", "ann")]


def test_unknown_name_costs_as_much_as_a_wrong_password(tmp_path: Path) -> None:
    class Counted(Argon2Hasher):
        matches: ClassVar[list[str]] = []

        def is_match(self, password_hash: str, password: str) -> bool:
            self.matches.append(password)
            return super().is_match(password_hash, password)

    harness = open_signin_harness(tmp_path, hasher=Counted(CHEAP))
    harness.signing.accounts.add("ann", PASSWORD)
    for name in ("ann", "nobody"):
        Counted.matches.clear()
        assert harness.browser().get("/?q=x", authorization=make_basic(name, "wrong password")).status == 401
        assert Counted.matches == ["wrong password"]


def test_passwords_sent_at_once_are_checked_once(harness: SignInHarness) -> None:
    # no more than the searches of one client that run at once: others wait, and are refused if the machine is too busy
    browsers = [harness.browser() for _ in range(SearchBounds().at_once)]
    with ThreadPoolExecutor(len(browsers)) as pool:
        statuses = list(pool.map(lambda browser: browser.get("/?q=x", authorization=make_basic("ann")).status, browsers))
    assert statuses == [200] * len(browsers)
    assert harness.events() == [("signin.accepted", "ann")]


def test_basic_counts_a_new_password_and_a_removed_user_at_once(harness: SignInHarness) -> None:
    browser = harness.browser(headers={"authorization": make_basic("ann")})
    assert browser.get("/?q=x").status == 200
    harness.signing.accounts.set_password("ann", "another long password")
    assert browser.get("/?q=x").status == 401
    assert harness.browser().get("/?q=x", authorization=make_basic("ann", "another long password")).status == 200
    harness.signing.accounts.remove("ann")
    assert harness.browser().get("/?q=x", authorization=make_basic("ann", "another long password")).status == 401


def test_basic_after_too_many_failures_is_refused_unseen_and_the_right_password_too(tmp_path: Path) -> None:
    harness = open_signin_harness(tmp_path, bounds=ThrottleLimits(by_both=3))
    harness.signing.accounts.add("ann", PASSWORD)
    browser = harness.browser()
    statuses = [browser.get("/?q=x", authorization=make_basic("ann", f"wrong {number}")).status for number in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    refused = browser.get("/?q=x", authorization=make_basic("ann"))
    assert (refused.status, refused.headers["retry-after"]) == (429, "300")
    assert harness.browser(peer="192.168.1.10").get("/?q=x", authorization=make_basic("ann")).status == 200
    harness.clock.turn(minutes=5)
    assert browser.get("/?q=x", authorization=make_basic("ann")).status == 200
    assert [kind for kind, _ in harness.events()] == ["signin.failed"] * 3 + ["signin.refused"] + ["signin.accepted"] * 2


def test_health_and_version_are_shown_whatever_the_request_carries(harness: SignInHarness) -> None:
    for path in ("/healthz", "/sw_version.txt", "/static/search.css"):
        assert harness.browser().get(path, authorization="Basic wrong").status == 200


# --- tokens ---------------------------------------------------------------------------------------------------------------------


def test_token_searches_for_its_user(harness: SignInHarness) -> None:
    made = harness.signing.tokens.add("intranet", [TokenScope.SEARCH], user="ann", days=1)
    browser = harness.browser(headers={"authorization": f"Bearer {made.text}"})
    assert browser.get("/?q=x").status == 200
    assert (names(harness), harness.seen[-1].role) == ([("Default", "", "ann")], UserRole.SEARCHER)
    harness.clock.turn(days=1)
    assert browser.get("/?q=x").status == 401


def test_token_without_the_scope_or_without_a_user_searches_anonymously(harness: SignInHarness) -> None:
    view = harness.signing.tokens.add("monitoring", [TokenScope.VIEW], user="ann")
    free = harness.signing.tokens.add("portal", [TokenScope.SEARCH])
    for made, role in ((view, UserRole.SEARCHER), (free, UserRole.SEARCHER)):
        assert harness.browser().get("/?q=x", authorization=f"Bearer {made.text}").status == 200
        assert (names(harness), harness.seen[-1].role) == ([], role)


def test_token_searches_for_a_user_who_signs_in_elsewhere(harness: SignInHarness) -> None:
    made = harness.signing.tokens.add("intranet", [TokenScope.SEARCH], user="CORP\\Zoe", namespace="directory")
    assert harness.browser().get("/?q=x", authorization=f"Bearer {made.text}").status == 200
    assert (names(harness), harness.seen[-1].role) == ([("directory", "CORP", "Zoe")], UserRole.SEARCHER)
    harness.signing.accounts.add("corp\\zoe", "a good long password", namespace="directory")
    harness.browser().get("/?q=x", authorization=f"Bearer {made.text}")
    assert names(harness) == [("directory", "corp", "zoe")]
    harness.signing.accounts.remove("corp\\zoe", namespace="directory")
    assert harness.browser().get("/?q=x", authorization=f"Bearer {made.text}").status == 401


def test_token_for_more_than_searches_needs_a_local_user(harness: SignInHarness) -> None:
    for scopes in ([TokenScope.VIEW], [TokenScope.SEARCH, TokenScope.ADMINISTER]):
        with pytest.raises(NotFound, match="no local user zoe"):
            harness.signing.tokens.add("x", scopes, user="zoe")


def test_token_ends_with_its_removal_and_with_its_user(harness: SignInHarness) -> None:
    first = harness.signing.tokens.add("a", [TokenScope.SEARCH], user="ann")
    second = harness.signing.tokens.add("b", [TokenScope.SEARCH], user="ann")
    harness.signing.tokens.remove(first.token.id)
    assert harness.browser().get("/?q=x", authorization=f"Bearer {first.text}").status == 401
    harness.signing.accounts.remove("ann")
    assert harness.browser().get("/?q=x", authorization=f"Bearer {second.text}").status == 401


def test_administrators_token_is_an_administrator_who_sees_nothing_more(harness: SignInHarness) -> None:
    assert harness.browser().get("/?q=x", authorization=f"Bearer {ADMIN_TOKEN}").status == 200
    assert (harness.seen[-1].role, names(harness)) == (UserRole.ADMINISTRATOR, [])


# --- the page and its sessions ----------------------------------------------------------------------------------------------------


def test_signing_in_on_the_page_leads_back_and_signing_out_ends_the_session(harness: SignInHarness) -> None:
    browser = harness.browser()
    answer = browser.sign_in("ann", to="/?q=x")
    assert (answer.status, answer.headers["location"]) == (303, "/?q=x")
    page = browser.get("/?q=x")
    assert (names(harness), harness.seen[-1].method) == ([("Default", "", "ann")], SignInMethod.SESSION)
    form = read_form(page.text)
    saved = dict(browser.cookies)
    assert browser.post(form.action, form.hidden).headers["location"] == "/?q=x"
    browser.cookies = saved
    browser.get("/?q=x")
    assert harness.seen[-1] == SIGNED_OUT
    assert harness.events() == [("signin.accepted", "ann"), ("signout", "ann")]


def test_page_after_signing_out_says_so_once_and_lists_the_same_query(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    form = read_form(browser.get("/?q=x&select=@filetype:html&access=a&lang=de").text)
    back = browser.post(form.action, form.hidden).headers["location"]
    assert back == "/?q=x&select=%40filetype%3Ahtml&lang=de"
    typed = browser.get(back, **{"x-feedmill-typing": "1"}).text
    assert "abgemeldet" not in typed
    assert '<section class="notice" aria-label="Sie sind abgemeldet."><span>Sie sind abgemeldet.</span></section>' in browser.get(back).text
    assert "abgemeldet" not in browser.get(back).text


@pytest.mark.parametrize("target", ["", "/", "/signin", "//evil.example/?q=x", "https://evil.example/?q=x", "/cache?url=x", "/?access=a"])
def test_signing_out_leads_to_no_other_page_than_a_list(harness: SignInHarness, target: str) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    form = read_form(browser.get(f"/signout?{urlencode({'to': target})}").text)
    assert browser.post(form.action, {**form.hidden, "to": target}).headers["location"] == "/"
    assert "You are signed out." in browser.get("/").text


def test_page_to_sign_out_leads_back_to_the_list(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    assert '<a href="/signout?to=/%3Fq%3Dx" rel="nofollow"' in browser.get("/?q=x").text
    form = read_form(browser.get("/signout?to=/%3Fq%3Dx").text)
    assert browser.post(form.action, form.hidden).headers["location"] == "/?q=x"


def test_signing_in_forgets_that_one_signed_out(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    form = read_form(browser.get("/").text)
    browser.post(form.action, form.hidden)
    assert "You are signed out." in browser.get("/signin").text
    browser.post(form.action, form.hidden)
    browser.sign_in("ann")
    form = read_form(browser.get("/").text)
    assert "signed out" not in browser.get("/").text


def test_page_says_that_a_session_has_ended_by_itself(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    harness.clock.turn(minutes=61)
    text = browser.get("/?q=x").text
    assert "Your session has ended." in text
    assert '<a href="/signin?to=/%3Fq%3Dx" rel="nofollow">Sign in again</a>' in text
    assert "Your session has ended." in browser.get("/signin").text
    browser.sign_in("ann")
    assert "Your session has ended." not in browser.get("/?q=x").text


def test_signing_out_after_the_session_ended_in_another_tab_leads_back_too(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    form = read_form(browser.get("/?q=x").text)
    browser.post(form.action, form.hidden)
    assert browser.post(form.action, form.hidden).headers["location"] == "/?q=x"
    assert harness.events() == [("signin.accepted", "ann"), ("signout", "ann")]


def test_page_without_results_offers_to_sign_in_until_one_is_signed_in(harness: SignInHarness) -> None:
    offer = 'shown only to those who have it. <a href="/signin?'
    browser = harness.browser()
    assert offer in browser.get("/?q=nowhere").text
    browser.sign_in("ann")
    assert "shown only to those who have it.</li>" in browser.get("/?q=nowhere").text


def test_page_of_another_spelling_offers_to_sign_in_until_one_is_signed_in(harness: SignInHarness) -> None:
    harness.search.add([harness.search.make(f"http://a.com/{number}", "solaris machines") for number in range(3)])
    browser = harness.browser()
    text = browser.get("/?q=solarsi").text
    assert "Showing results for" in text
    assert "need a permission" in text
    browser.sign_in("ann")
    text = browser.get("/?q=solarsi").text
    assert "Showing results for" in text
    assert "need a permission" not in text


def test_signing_in_with_a_wrong_password_says_neither_which_was_wrong_nor_sets_a_session(harness: SignInHarness) -> None:
    wrong, unknown = harness.browser(), harness.browser()
    texts = [wrong.sign_in("ann", "wrong password").text, unknown.sign_in("bob", "wrong password").text]
    assert all("The name or the password is wrong." in text and "wrong password" not in text for text in texts)
    assert SESSION not in wrong.cookies | unknown.cookies


def test_signing_in_for_several_namespaces_is_one_person_with_a_user_in_each(harness: SignInHarness) -> None:
    harness.signing.accounts.add("a.smith", "another long password", namespace="ad")
    browser = harness.browser()
    form = read_form(browser.get("/signin").text)
    assert list(form.visible) == ["uDefault", "pwDefault", "uad", "pwad"]
    half = browser.post(form.action, {**form.hidden, "uDefault": "ann", "pwDefault": PASSWORD, "uad": "a.smith", "pwad": "wrong"})
    assert half.status == 403
    assert "Signed in as" in half.text
    first = browser.cookies[SESSION]
    assert browser.sign_in("a.smith", "another long password", namespace="ad").status == 303
    assert browser.cookies[SESSION] != first
    browser.get("/?q=x")
    assert names(harness) == [("Default", "", "ann"), ("ad", "", "a.smith")]
    harness.signing.accounts.remove("ann")
    browser.get("/?q=x")
    assert names(harness) == [("ad", "", "a.smith")]


def test_session_ends_when_unused_and_after_its_whole_time(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    for _ in range(14):
        harness.clock.turn(minutes=50)
        browser.get("/?q=x")
        assert harness.seen[-1].is_signed_in
    harness.clock.turn(minutes=50)
    browser.get("/?q=x")
    assert not harness.seen[-1].is_signed_in
    browser.sign_in("ann")
    harness.clock.turn(minutes=61)
    browser.get("/?q=x")
    assert not harness.seen[-1].is_signed_in


def test_signing_out_everywhere_ends_the_users_sessions_and_no_others(harness: SignInHarness) -> None:
    harness.signing.accounts.add("bob", PASSWORD)
    harness.signing.accounts.add("a.smith", PASSWORD, namespace="ad")
    here, there, both, other = harness.browser(), harness.browser(), harness.browser(), harness.browser()
    for browser in (here, there, both):
        browser.sign_in("ANN")
    both.sign_in("a.smith", namespace="ad")
    other.sign_in("bob")
    page = here.get("/signout").text
    assert "Ends your session in this browser only." in page
    assert "Ends all your sessions, on your other devices too." in page
    form = read_form(page)
    assert here.post("/signout", {**form.hidden, "code": "0" * 64, "everywhere": "1"}).status == 200
    assert here.post("/signout", {**form.hidden, "everywhere": "1"}).status == 303
    left = []
    for browser in (here, there, both, other):
        browser.get("/?q=x")
        left.append([name for _, _, name in names(harness)])
    assert left == [[], [], ["a.smith"], ["bob"]]


def test_session_that_is_used_while_it_is_withdrawn_does_not_come_back(harness: SignInHarness) -> None:
    harness.signing.accounts.add("a.smith", PASSWORD, namespace="ad")
    browser = harness.browser()
    browser.sign_in("ann")
    browser.sign_in("a.smith", namespace="ad")
    harness.clock.turn(minutes=5)
    assert harness.signing.sessions.withdraw([digest_of_user(read_subject(Scope.USER, "ann"))]) == 1
    for _ in range(2):
        browser.get("/?q=x")
        assert names(harness) == [("ad", "", "a.smith")]
        harness.clock.turn(minutes=5)


def test_session_is_never_one_that_the_browser_chose(harness: SignInHarness) -> None:
    browser = harness.browser(cookies={SESSION: "chosen-by-the-attacker"})
    browser.sign_in("ann")
    assert browser.cookies[SESSION] != "chosen-by-the-attacker"
    stranger = harness.browser(cookies={SESSION: "chosen-by-the-attacker"})
    stranger.get("/?q=x")
    assert harness.seen[-1] == SIGNED_OUT


def test_session_text_is_not_what_the_store_keeps(harness: SignInHarness, tmp_path: Path) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    harness.search.store.close()
    saved = b"".join(path.read_bytes() for path in tmp_path.glob("store.sqlite*"))
    assert browser.cookies[SESSION].encode() not in saved
    assert PASSWORD.encode() not in saved


def test_cookies_are_closed_to_scripts_and_other_sites_and_over_tls_to_plain_http(harness: SignInHarness, tmp_path: Path) -> None:
    plain, tls = harness.browser(), harness.browser(scheme="https")
    plain.sign_in("ann")
    tls.sign_in("ann")
    assert all("HttpOnly" in line and "samesite=lax" in line.lower() and "Path=/" in line for line in plain.set_cookies + tls.set_cookies)
    assert all("Secure" in line and line.startswith("__Host-") and "omain=" not in line for line in tls.set_cookies)
    tls.get("/?q=x")
    assert harness.seen[-1].is_signed_in
    planted = Browser(harness.app, scheme="https", cookies={SESSION: plain.cookies[SESSION]})
    planted.get("/?q=x")
    assert not harness.seen[-1].is_signed_in


def test_cookie_that_stands_twice_is_none(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    text = browser.cookies[SESSION]
    Browser(harness.app).get("/?q=x", cookie=f"{SESSION}={text}; {SESSION}=other")
    assert not harness.seen[-1].is_signed_in


@pytest.mark.parametrize("path", ["/signin", "/security-manager/samlauthn", "/signout"])
def test_form_without_its_code_is_refused(harness: SignInHarness, path: str) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    session = browser.cookies[SESSION]
    for code in ({}, {"code": ""}, {"code": "0" * 64}, {"code": "ü"}):
        answer = browser.post(path, {**code, "uDefault": "ann", "pwDefault": PASSWORD})
        assert answer.status in (200, 403)
        assert browser.cookies[SESSION] == session
    browser.get("/?q=x")
    assert harness.seen[-1].is_signed_in


def test_form_of_another_browser_is_refused(harness: SignInHarness) -> None:
    attacker, victim = harness.browser(), harness.browser()
    form = read_form(attacker.get("/signin").text)
    victim.get("/signin")
    assert victim.post("/signin", {**form.hidden, "uDefault": "ann", "pwDefault": PASSWORD}).status == 403
    assert SESSION not in victim.cookies


def test_form_sent_by_another_site_is_refused(harness: SignInHarness) -> None:
    browser = harness.browser()
    form = read_form(browser.get("/signin").text)
    fields = {**form.hidden, "uDefault": "ann", "pwDefault": PASSWORD}
    assert browser.post("/signin", fields, origin="https://evil.example").status == 403
    assert browser.post("/security-manager/samlauthn", fields, origin="null").status == 403
    assert SESSION not in browser.cookies


def test_programs_of_the_old_appliance_send_its_form_without_a_code(harness: SignInHarness) -> None:
    program = harness.browser(is_browser=False)
    redirect = program.get("/search?q=x&access=a&proxystylesheet=default_frontend")
    assert redirect.status == 302
    form = read_form(program.get(redirect.headers["location"]).text)
    assert form.action == "/security-manager/samlauthn"
    answer = program.post(redirect.headers["location"], {"uDefault": "ann", "pwDefault": PASSWORD})
    assert answer.status == 303
    assert program.get(answer.headers["location"]).status == 200
    assert names(harness) == [("Default", "", "ann")]


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "http:evil.example",
        "/\r\nSet-Cookie: a=b",
        "evil.example",
        "/signin?to=/",
        "",
        "/ü",
        "http://[",
    ],
    ids=ascii,
)
def test_signing_in_leads_to_no_other_site(harness: SignInHarness, target: str) -> None:
    assert harness.browser().sign_in("ann", to=target).headers["location"] == "/"


def test_sign_in_page_escapes_what_it_shows(harness: SignInHarness) -> None:
    harness.signing.accounts.add("ann", PASSWORD, namespace='"><script>')
    text = harness.browser().sign_in('"><script>alert(1)</script>', "wrong password").text
    assert "<script" not in text


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"u=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"{}", "application/json", 400),
        (b"&".join([b"a=b"] * 1_000), "application/x-www-form-urlencoded", 400),
        (b"\xff\xfe", "application/x-www-form-urlencoded", 400),
        (b"%ff%00=%ff", "application/x-www-form-urlencoded", 403),
    ],
    ids=["long", "json", "many", "bytes", "signs"],
)
def test_form_that_is_none_is_refused(harness: SignInHarness, body: bytes, kind: str, status: int) -> None:
    assert harness.browser().send("POST", "/signin", body, {"content-type": kind}).status == status


# --- redirects to sign in --------------------------------------------------------------------------------------------------------


def test_secure_search_without_a_user_is_redirected_to_sign_in_where_that_is_possible(harness: SignInHarness) -> None:
    browser = harness.browser()
    for access in ("a", "s"):
        xml = browser.get(f"/search?q=x&access={access}&output=xml_no_dtd")
        assert (xml.status, xml.headers["www-authenticate"]) == (401, 'Basic realm="feedmill", charset="UTF-8"')
        page = browser.get(f"/search?q=x&access={access}&proxystylesheet=default_frontend")
        assert page.status == 302
        assert page.headers["location"].startswith("/security-manager/samlauthn?to=/search%3Fq%3Dx%26access")
        built_in = browser.get(f"/?q=x&access={access}")
        assert (built_in.status, built_in.headers["location"]) == (302, f"/security-manager/samlauthn?to=/%3Fq%3Dx%26access%3D{access}")
    assert browser.get("/search?q=x&access=p").status == browser.get("/search?q=x").status == 200
    assert browser.get("/search?q=x&access=a", authorization=make_basic("ann")).status == 200
    assert browser.get("/").status == browser.get("/api/v1/search?q=x").status == 200


def test_secure_search_without_a_user_is_answered_where_sign_in_is_off(tmp_path: Path) -> None:
    harness = open_signin_harness(tmp_path)
    for access in ("a", "s", "p"):
        assert harness.browser().get(f"/search?q=x&access={access}").status == 200
    assert "Sign in" not in harness.browser().get("/").text


def test_proxy_that_is_trusted_decides_and_a_session_adds_other_namespaces(harness: SignInHarness) -> None:
    harness.signing.accounts.add("a.smith", PASSWORD, namespace="ad")
    browser = harness.browser(peer=PROXY)
    browser.sign_in("ann")
    browser.sign_in("a.smith", namespace="ad")
    browser.get("/?q=x", x_forwarded_user="root", authorization=make_basic("nobody"))
    assert names(harness) == [("Default", "", "root"), ("ad", "", "a.smith")]
    Browser(harness.app).get("/?q=x", x_forwarded_user="root")
    assert harness.seen[-1] == SIGNED_OUT


def test_page_to_sign_out_says_that_a_proxy_signs_in(harness: SignInHarness) -> None:
    named = harness.browser(peer=PROXY).get("/signout", x_forwarded_user="root").text
    assert "You did not sign in on a page of this server, so it cannot sign you out." in named
    assert "You are not signed in." not in named
    assert "You are not signed in." in harness.browser(peer=PROXY).get("/signout").text


# --- what administrators alone see ----------------------------------------------------------------------------------------------


def test_explain_shows_scores_to_administrators_alone(harness: SignInHarness) -> None:
    harness.search.add([harness.search.make("http://a.com/1", "word")])
    harness.signing.accounts.add("root", PASSWORD, role=UserRole.ADMINISTRATOR)
    harness.signing.accounts.add("mary", PASSWORD, role=UserRole.MANAGER)

    def result(path: str, **headers: str) -> dict[str, object]:
        return dict(harness.browser().get(f"/api/v1/search?q=word{path}", **headers).json["results"][0])

    for authorization in (make_basic("root"), f"Bearer {ADMIN_TOKEN}"):
        explained = result("&explain=1", authorization=authorization)
        assert explained["explanation"] == {"words": explained["score"]}
        plain = result("&explain=0", authorization=authorization)
        assert "explanation" not in plain
        assert isinstance(plain["score"], float)
    for headers in ({"authorization": make_basic("ann")}, {"authorization": make_basic("mary")}, {}):
        shown = result("&explain=1", **headers)
        assert "explanation" not in shown
        assert shown["score"] is None


def test_slow_directory_blocks_no_search(tmp_path: Path) -> None:
    class Slow:
        name, namespace = "corp", "ad"
        gate = threading.Event()

        def verify(self, name: str, password: str) -> None:
            self.gate.wait(180)

    harness = open_signin_harness(tmp_path, directories=(Slow(),), bounds=ThrottleLimits(by_both=1_000, by_address=1_000, by_name=1_000))

    async def crowd() -> tuple[int, int]:
        waiting = [asyncio.create_task(send(harness, authorization=make_basic(f"user{number}"))) for number in range(60)]
        await asyncio.sleep(0.2)
        searched = await asyncio.wait_for(send(harness), 100)
        Slow.gate.set()
        return searched, max(await asyncio.gather(*waiting))

    assert asyncio.run(crowd()) == (200, 401)


async def send(harness: SignInHarness, **headers: str) -> int:
    answer = await send_request(harness.app, "GET", "/api/v1/search", query="q=x", headers=headers, peer="10.9.9.9")
    return answer.status


def test_cookies_go_over_tls_alone_with_a_public_url_of_https(tmp_path: Path) -> None:
    for public_url, is_secure in (("https://search.example.com", True), ("http://search.example.com", False)):
        folder = tmp_path / str(is_secure)
        folder.mkdir()
        harness = open_signin_harness(folder, public_url=public_url)
        harness.signing.accounts.add("ann", PASSWORD)
        page = harness.browser().get("/signin")
        assert all(("Secure" in cookie, cookie.startswith("__Host-")) == (is_secure, is_secure) for cookie in page.cookies)
        assert page.cookies
        assert ("strict-transport-security" in page.headers) == is_secure


def test_sign_in_keeps_the_language_that_a_link_chose(harness: SignInHarness) -> None:
    browser = harness.browser()
    assert "/signin?to=/%3Fq%3Dx%26lang%3Dde&amp;lang=de" in browser.get("/?q=x&lang=de").text
    assert browser.get("/?q=x&lang=de&access=a").headers["location"].endswith("&lang=de")
    form = browser.get("/signin?to=/&lang=de").text
    assert 'action="/signin?lang=de"' in form
    assert ">Passwort</label>" in form
    assert "Dieses Formular ist abgelaufen." in browser.post("/signin?lang=de", [("uDefault", "ann"), ("pwDefault", "x")]).text
