"""What attackers try in order to sign in, or to lock others out, at the level of HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from feedmill.adapters.identity.argon2 import Argon2Hasher
from feedmill.core.urls.networks import Networks
from feedmill.http.common.clientaddress import Client, Clients
from feedmill.model.errors import Busy
from feedmill.model.identity import Subject
from feedmill.model.scope import Scope
from feedmill.model.signin import Credential, TokenScope
from feedmill.services.signin.throttle import ThrottleLimits
from tests.builders.requests import PASSWORD, make_basic
from tests.contract.signinharness import CHEAP, PROXY, Browser, SignInHarness, open_signin_harness, read_form

SESSION = "GSA_SESSION_ID"
EDGE = "10.9.0.1"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SignInHarness]:
    opened = open_signin_harness(
        tmp_path, bounds=ThrottleLimits(by_both=3, by_address=6, by_name=9), client_proxies=Networks.parse([EDGE, "10.9.1.0/24"])
    )
    opened.signing.accounts.add("ann", PASSWORD)
    yield opened
    opened.search.store.close()


def is_in(harness: SignInHarness, browser: Browser) -> bool:
    browser.get("/?q=x")
    return harness.seen[-1].is_signed_in


# --- sessions -------------------------------------------------------------------------------------------------------------------


def test_cookie_from_before_signing_in_again_or_out_opens_nothing(harness: SignInHarness) -> None:
    harness.signing.accounts.add("ann", PASSWORD, namespace="ad")
    browser = harness.browser()
    browser.sign_in("ann")
    first = dict(browser.cookies)
    browser.sign_in("ann", namespace="ad")
    second = dict(browser.cookies)
    assert first[SESSION] != second[SESSION]
    assert not is_in(harness, harness.browser(cookies=first))
    browser.post("/signout", read_form(browser.get("/signout").text).hidden)
    assert SESSION not in browser.cookies
    assert not is_in(harness, harness.browser(cookies=second))


def test_failed_attempt_leaves_the_session_as_it_was(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    before = browser.cookies[SESSION]
    assert browser.sign_in("ann", "wrong password").status == 403
    assert browser.cookies[SESSION] == before
    assert is_in(harness, browser)


def test_looking_at_the_page_to_sign_out_signs_no_user_out(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    for path in ("/signout", "/signout?everywhere=1", "/signin", "/signin?to=/signout"):
        assert browser.get(path).status == 200
    assert is_in(harness, browser)


def test_code_of_one_session_signs_no_other_user_out(harness: SignInHarness) -> None:
    attacker, victim = harness.browser(), harness.browser()
    attacker.sign_in("ann")
    victim.sign_in("ann")
    code = read_form(attacker.get("/signout").text).hidden["code"]
    victim.post("/signout", {"code": code})
    assert is_in(harness, victim)


# --- forms of other sites -------------------------------------------------------------------------------------------------------


def list_posts(harness: SignInHarness) -> list[str]:
    assert isinstance(harness.app, Starlette)
    routes = [route for route in harness.app.routes if isinstance(route, Route)]
    return sorted({route.path for route in routes if set(route.methods or ()) - {"GET", "HEAD"}})


def test_no_form_of_another_site_changes_anything(harness: SignInHarness) -> None:
    posts = list_posts(harness)
    assert {"/signin", "/signout", "/security-manager/samlauthn"} <= set(posts)
    browser = harness.browser()
    browser.sign_in("ann")
    form = read_form(browser.get("/signin").text).hidden
    for path in posts:
        for headers in ({"origin": "https://evil.example"}, {"origin": "null"}):
            answer = browser.post(path.replace("{name}", "corp"), {**form, "everywhere": "1"}, sec_fetch_site="cross-site", **headers)
            by_signature = path.startswith(("/signin/saml/", "/signin/oidc/"))
            assert answer.status in ((403, 404, 400) if by_signature else (403,)), (path, answer.status)
    assert is_in(harness, browser)


@pytest.mark.parametrize(
    ("public_url", "origin", "expected"),
    [
        ("https://people.example.com", "https://people.example.com", 303),
        ("https://People.example.com:443/", "https://people.example.com", 303),
        ("https://people.example.com:8443", "https://people.example.com:8443", 303),
        ("https://people.example.com", "http://people.example.com", 403),
        ("https://people.example.com", "https://people.example.com.evil.example", 403),
        ("https://people.example.com", "null", 403),
    ],
)
def test_form_of_the_own_page_counts_behind_a_proxy_that_renames_the_server(
    tmp_path: Path, public_url: str, origin: str, expected: int
) -> None:
    harness = open_signin_harness(tmp_path, public_url=public_url)
    harness.signing.accounts.add("ann", PASSWORD)
    browser = harness.browser(headers={"host": "127.0.0.1:8080"})
    form = read_form(browser.get("/signin").text)
    filled = {**form.hidden, "uDefault": "ann", "pwDefault": PASSWORD}
    assert browser.post(form.action, filled, origin=origin).status == expected


# --- guessing -------------------------------------------------------------------------------------------------------------------


def test_unknown_name_and_wrong_password_get_the_same_answer(harness: SignInHarness) -> None:
    answers = [harness.browser().get("/api/v1/search?q=x", authorization=make_basic(name, "wrong password")) for name in ("ann", "nobody")]
    assert answers[0].status == answers[1].status == 401
    assert answers[0].body == answers[1].body
    assert answers[0].headers == answers[1].headers
    pages = []
    for name in ("ann", "nob"):
        browser = harness.browser(peer=f"192.168.7.{len(name)}")
        text = browser.sign_in(name, "wrong password").text
        pages.append(text.replace(name, "NAME").replace(read_form(text).hidden["code"], "CODE"))
    assert pages[0] == pages[1]


def test_guessing_one_name_from_many_addresses_keeps_its_owner_out_of_nowhere_he_was(harness: SignInHarness) -> None:
    owner = harness.browser(peer="192.168.1.20")
    assert owner.sign_in("ann").status == 303
    for number in range(9):
        harness.browser(peer=f"192.168.2.{number}").get("/?q=x", authorization=make_basic("ann", f"guess {number}"))
    assert harness.browser(peer="192.168.3.1").get("/?q=x", authorization=make_basic("ann")).status == 429
    assert owner.get("/?q=x", authorization=make_basic("ann")).status == 200
    assert owner.sign_in("ann").status == 303


@pytest.mark.parametrize(
    "write", ["CORP\\{blanks}ann", "x{number}\\ann", "ann@x{number}", "/{blanks}ann", "A\u0301n{marks}n", "ANN", "ａｎｎ"]
)
def test_another_way_to_write_a_name_allows_no_more_guesses(tmp_path: Path, write: str) -> None:
    class Loose:
        """A directory that takes any domain, and compares without accents and blanks, as Active Directory does."""

        name, namespace = "corp", "ad"
        verifications = 0

        def verify(self, name: str, password: str) -> None:
            self.verifications += 1

    directory = Loose()
    harness = open_signin_harness(tmp_path, directories=(directory,), bounds=ThrottleLimits(by_both=5))
    for number in range(9):
        name = write.format(blanks=" " * number, number=number, marks="\u0308" * number)
        harness.browser().get("/?q=x", authorization=make_basic(name, f"guess {number}"))
    assert directory.verifications == 5


def test_guesses_beyond_the_limit_do_not_reveal_a_password_that_was_verified_before(harness: SignInHarness) -> None:
    def ask(peer: str, password: str) -> int:
        return harness.browser(peer=peer).get("/?q=x", authorization=make_basic("ann", password)).status

    assert ask("192.168.1.20", PASSWORD) == 200
    assert [ask("192.168.2.1", f"guess {number}") for number in range(4)] == [401, 401, 401, 429]
    assert [ask(peer, PASSWORD) for peer in ("192.168.2.1", "192.168.1.20")] == [429, 200]


def test_guesses_behind_a_proxy_that_forwards_addresses_lock_out_no_other_user(harness: SignInHarness) -> None:
    def ask(client: str, password: str = PASSWORD, name: str = "ann") -> int:
        return harness.browser(peer=EDGE).get("/?q=x", authorization=make_basic(name, password), x_forwarded_for=client).status

    harness.signing.accounts.add("bob", PASSWORD)
    # what stands before the last address the guesser wrote himself
    statuses = [ask(f"203.0.113.{number}, 198.51.100.7", f"guess {number}") for number in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    assert ask("198.51.100.8") == 200
    assert ask("198.51.100.7", name="bob") == 200
    assert [entry.event.address for entry in harness.signing.auditing.iter_entries()][-2:] == ["198.51.100.8", "198.51.100.7"]


def test_header_of_addresses_from_anybody_else_counts_for_nothing(harness: SignInHarness) -> None:
    browser = harness.browser(peer="192.168.1.9")
    statuses = [
        browser.get("/?q=x", authorization=make_basic("ann", f"guess {number}"), x_forwarded_for=f"203.0.113.{number}").status
        for number in range(5)
    ]
    assert statuses == [401, 401, 401, 429, 429]
    for peer in ("192.168.1.9", EDGE):  # a proxy that forwards addresses does not name users
        assert harness.browser(peer=peer).get("/?q=x", x_forwarded_for=EDGE, x_forwarded_user="root").status == 200
        assert not harness.seen[-1].is_signed_in


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("198.51.100.7", Client("198.51.100.7")),
        ("1.2.3.4, 198.51.100.7 ,10.9.1.2", Client("198.51.100.7")),
        ("198.51.100.7:4711", Client("198.51.100.7")),
        ("[2001:db8::1]:4711", Client("2001:db8::1")),
        ("2001:DB8::1", Client("2001:db8::1")),
        ("1.2.3.4, unknown", Client(EDGE, is_shared=True)),
        ("1.2.3.4,", Client(EDGE, is_shared=True)),
        ("", Client(EDGE, is_shared=True)),
        ("10.9.1.2", Client(EDGE, is_shared=True)),
        ("1.2.3.4" + ", 10.9.1.2" * 50, Client(EDGE, is_shared=True)),
        ("\x00", Client(EDGE, is_shared=True)),
    ],
    ids=["one", "chain", "port", "v6 port", "v6", "word", "cut", "empty", "proxies", "long", "nul"],
)
def test_client_is_the_last_address_that_is_no_proxy_of_ours(header: str, expected: Client) -> None:
    clients = Clients(proxies=Networks.parse([EDGE, "10.9.1.0/24"]), shared=Networks.parse([PROXY]))
    scope = {"type": "http", "client": (EDGE, 1), "headers": [(b"x-forwarded-for", header.encode("latin-1"))]}
    assert clients.find_client(scope) == expected
    assert clients.find_client({**scope, "client": ("192.168.1.9", 1)}) == Client("192.168.1.9")
    assert clients.find_client({**scope, "client": (PROXY, 1)}) == Client(PROXY, is_shared=True)
    assert clients.find_client({**scope, "client": None}) == Client("")


class Corp:
    """A directory in which only eve is."""

    name = namespace = "ad"

    def verify(self, name: str, password: str) -> Credential | None:
        user = Subject(scope=Scope.USER, name="eve", namespace="ad")
        return Credential(provider="ldap:ad", user=user) if (name, password) == ("eve", PASSWORD) else None


def test_busy_hasher_does_not_let_guesses_at_a_directory_go_uncounted(tmp_path: Path) -> None:
    class Full(Argon2Hasher):
        def is_match(self, password_hash: str, password: str) -> bool:
            raise Busy("too many passwords are being checked")

    harness = open_signin_harness(tmp_path, directories=(Corp(),), hasher=Full(CHEAP), bounds=ThrottleLimits(by_both=3))
    statuses = [harness.browser().get("/?q=x", authorization=make_basic("eve", f"guess {number}")).status for number in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    assert harness.browser(peer="192.168.1.10").get("/?q=x", authorization=make_basic("eve")).status == 200
    harness.search.store.close()


def test_name_that_a_directory_does_not_know_costs_a_hash_too(tmp_path: Path) -> None:
    seen: list[str] = []

    class Counted(Argon2Hasher):
        def is_match(self, password_hash: str, password: str) -> bool:
            seen.append(password)
            return super().is_match(password_hash, password)

    harness = open_signin_harness(tmp_path, directories=(Corp(),), hasher=Counted(CHEAP))
    harness.signing.accounts.add("ann", PASSWORD)
    for name in ("ann", "nobody", "eve"):
        seen.clear()
        assert harness.browser().get("/?q=x", authorization=make_basic(name, "wrong password")).status == 401
        assert seen == ["wrong password"]
    harness.search.store.close()


# --- passwords and tokens -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "password", ["with:a:colon", ":", "Größe größer 8", "密码密码密码", "  blanks  ", "😀" * 8, "a" * 1_024], ids=ascii
)
def test_basic_and_the_page_take_every_password(harness: SignInHarness, password: str) -> None:
    harness.signing.accounts.add("bob", password)
    assert harness.browser().get("/?q=x", authorization=make_basic("bob", password)).status == 200
    assert harness.seen[-1].is_signed_in
    browser = harness.browser()
    assert browser.sign_in("bob", password).status == 303
    assert is_in(harness, browser)


def test_token_is_taken_as_bearer_alone(harness: SignInHarness) -> None:
    made = harness.signing.tokens.add("x", [TokenScope.SEARCH], user="ann")
    assert harness.browser().get("/?q=x", authorization=f"Bearer {made.text}").status == 200
    assert harness.seen[-1].is_signed_in
    for headers in ({"authorization": make_basic("ann", made.text)}, {"authorization": make_basic(made.text, "")}):
        assert harness.browser().get("/?q=x", **headers).status == 401
    for cookie in (f"{SESSION}={made.text}", f"token={made.text}"):
        harness.browser().get(f"/?q=x&token={made.text}&access_token={made.text}", cookie=cookie)
        assert not harness.seen[-1].is_signed_in


@pytest.mark.parametrize(
    "path", ["/?q=x", "/search?q=x&access=a", "/api/v1/search?q=x", "/suggest?q=x", "/cluster?q=x", "/signin", "/signout"]
)
def test_answers_to_a_user_are_stored_by_no_shared_cache(harness: SignInHarness, path: str) -> None:
    browser = harness.browser()
    browser.sign_in("ann")
    answer = browser.get(path)
    assert answer.status == 200
    assert {"private", "no-store"} & set(answer.headers.get("cache-control", "").replace(" ", "").split(",")), answer.headers
