"""Logging out by OpenID Connect, begun by either side."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.contract.openidharness import arrive, open_with, redirect_to_provider
from tests.contract.openidserver import CLIENT, OpenIdServer, new_key, running_openid
from tests.contract.signinharness import Browser, SignInHarness, read_form, users
from tests.fakes import ManualClock


@pytest.fixture
def provider() -> Iterator[OpenIdServer]:
    with running_openid(int(ManualClock().seconds())) as server:
        yield server


@pytest.fixture
def harness(provider: OpenIdServer, tmp_path: Path) -> Iterator[SignInHarness]:
    opened = open_with(tmp_path, provider)
    yield opened
    opened.search.store.close()


def signed_in(harness: SignInHarness, provider: OpenIdServer) -> Browser:
    browser = harness.browser()
    assert arrive(browser, provider.authorize(redirect_to_provider(browser))) == 303
    return browser


def sign_out(browser: Browser) -> str:
    return browser.post("/signout", read_form(browser.get("/signout").text).hidden).text


def send_logout(harness: SignInHarness, token: str) -> int:
    """Sends a token as the provider's own server does."""
    program = harness.browser(is_browser=False)
    return program.post("/signin/oidc/corp/logout", {"logout_token": token}).status


def test_who_signs_out_here_is_led_to_the_provider_and_back(harness: SignInHarness, provider: OpenIdServer) -> None:
    browser = signed_in(harness, provider)
    page = sign_out(browser)
    assert users(harness, browser) == []
    address = page.partition('content="0; url=')[2].partition('"')[0].replace("&amp;", "&")
    assert address.startswith(f"{provider.issuer}/logout?tenant=1&")
    parameters = parse_qs(urlsplit(address).query)
    assert parameters["client_id"] == [CLIENT]
    assert parameters["id_token_hint"][0].count(".") == 2
    left = urlsplit(parameters["post_logout_redirect_uri"][0])
    assert (left.netloc, left.path) == ("search.example.com", "/signin/oidc/corp/left")
    answer = browser.get(left.path)
    assert (answer.status, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize("what", ["no place", "unwanted", "silent"])
def test_who_signs_out_here_is_out_whatever_the_provider_has(provider: OpenIdServer, tmp_path: Path, what: str) -> None:
    if what == "no place":
        provider.about = {"end_session_endpoint": None}
    harness = open_with(tmp_path, provider, single_logout=what != "unwanted")
    browser = signed_in(harness, provider)
    if what == "silent":
        provider.about = {"issuer": "https://another.example"}
        harness.clock.turn(minutes=30)
        browser.get("/?q=x")
        harness.clock.turn(minutes=40)
    answer = browser.post("/signout", read_form(browser.get("/signout").text).hidden)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert users(harness, browser) == []
    harness.search.store.close()


def test_provider_ends_all_sessions_of_a_user_or_one(harness: SignInHarness, provider: OpenIdServer) -> None:
    first, second, other = (signed_in(harness, provider) for _ in range(3))
    provider.claims = {"sub": "0816"}
    stays = signed_in(harness, provider)
    sid = f"session of {provider.states[1]}"
    assert send_logout(harness, provider.logout_token(sub=None, sid=sid)) == 200
    assert [bool(users(harness, browser)) for browser in (first, second, other, stays)] == [True, False, True, True]
    assert send_logout(harness, provider.logout_token(jti="second")) == 200
    assert [bool(users(harness, browser)) for browser in (first, other, stays)] == [False, False, True]
    assert send_logout(harness, provider.logout_token(jti="third", sub="nobody")) == 200


SPOILT: dict[str, dict[str, Any]] = {
    "issuer": {"iss": "https://evil.example"},
    "audience": {"aud": "another"},
    "id token": {"events": None, "nonce": "x"},
    "nonce": {"nonce": "x"},
    "event": {"events": {"http://schemas.openid.net/event/other": {}}},
    "events": {"events": "http://schemas.openid.net/event/backchannel-logout"},
    "old": {"iat": int(ManualClock().seconds()) - 1_000},
    "no time": {"iat": None},
    "over": {"exp": int(ManualClock().seconds()) - 1_000},
    "no id": {"jti": None},
    "nobody": {"sub": None},
    "numbers": {"sub": 815, "sid": 1},
}


@pytest.mark.parametrize("given", list(SPOILT.values()), ids=list(SPOILT))
def test_logout_token_that_is_invalid_ends_no_session(harness: SignInHarness, provider: OpenIdServer, given: dict[str, Any]) -> None:
    browser = signed_in(harness, provider)
    assert send_logout(harness, provider.logout_token(**given)) == 400
    assert users(harness, browser) != []


def test_logout_token_counts_once_and_only_by_the_providers_key(harness: SignInHarness, provider: OpenIdServer) -> None:
    browser = signed_in(harness, provider)
    genuine = provider.logout_token()
    ours, provider.key = provider.key, new_key()
    assert send_logout(harness, provider.logout_token()) == 400
    provider.key, provider.algorithm = ours, "none"
    assert send_logout(harness, provider.logout_token()) == 400
    assert send_logout(harness, "") == 400
    assert send_logout(harness, "x" * 20_000) == 400
    assert users(harness, browser) != []
    provider.algorithm = "RS256"
    assert send_logout(harness, genuine) == 200
    again = signed_in(harness, provider)
    assert send_logout(harness, genuine) == 400
    assert users(harness, again) != []


def test_logout_of_an_unknown_provider_is_not_there(harness: SignInHarness) -> None:
    assert harness.browser(is_browser=False).post("/signin/oidc/nobody/logout", {"logout_token": "x"}).status == 404
    assert harness.browser().get("/signin/oidc/nobody/left").status == 404
