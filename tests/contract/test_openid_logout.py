"""Logging out by OpenID Connect, begun by either side."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from openidhouse import arrive, depart, open_with
from openidserver import CLIENT, OpenIdServer, new_key, running_openid
from signinhouse import Browser, Hands, SignInHouse, read_form, users


@pytest.fixture
def provider() -> Iterator[OpenIdServer]:
    with running_openid(int(Hands().seconds())) as server:
        yield server


@pytest.fixture
def house(provider: OpenIdServer, tmp_path: Path) -> Iterator[SignInHouse]:
    opened = open_with(tmp_path, provider)
    yield opened
    opened.search.store.close()


def signed_in(house: SignInHouse, provider: OpenIdServer) -> Browser:
    browser = house.browser()
    assert arrive(browser, provider.authorize(depart(browser))) == 303
    return browser


def sign_out(browser: Browser) -> str:
    return browser.post("/signout", read_form(browser.get("/signout").text).hidden).text


def tell(house: SignInHouse, token: str) -> int:
    """Sends a token as the provider's own server does."""
    program = house.browser(is_browser=False)
    return program.post("/signin/oidc/corp/logout", {"logout_token": token}).status


def test_who_signs_out_here_is_led_to_the_provider_and_back(house: SignInHouse, provider: OpenIdServer) -> None:
    browser = signed_in(house, provider)
    page = sign_out(browser)
    assert users(house, browser) == []
    address = page.partition('content="0; url=')[2].partition('"')[0].replace("&amp;", "&")
    assert address.startswith(f"{provider.issuer}/logout?tenant=1&")
    told = parse_qs(urlsplit(address).query)
    assert told["client_id"] == [CLIENT]
    assert told["id_token_hint"][0].count(".") == 2
    left = urlsplit(told["post_logout_redirect_uri"][0])
    assert (left.netloc, left.path) == ("search.example.com", "/signin/oidc/corp/left")
    answer = browser.get(left.path)
    assert (answer.status, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize("what", ["no place", "unwanted", "silent"])
def test_who_signs_out_here_is_out_whatever_the_provider_has(provider: OpenIdServer, tmp_path: Path, what: str) -> None:
    if what == "no place":
        provider.about = {"end_session_endpoint": None}
    house = open_with(tmp_path, provider, single_logout=what != "unwanted")
    browser = signed_in(house, provider)
    if what == "silent":
        provider.about = {"issuer": "https://another.example"}
        house.clock.turn(minutes=30)
        browser.get("/?q=x")
        house.clock.turn(minutes=40)
    answer = browser.post("/signout", read_form(browser.get("/signout").text).hidden)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert users(house, browser) == []
    house.search.store.close()


def test_provider_ends_all_sessions_of_a_user_or_one(house: SignInHouse, provider: OpenIdServer) -> None:
    first, second, other = (signed_in(house, provider) for _ in range(3))
    provider.claims = {"sub": "0816"}
    stays = signed_in(house, provider)
    sid = f"session of {provider.states[1]}"
    assert tell(house, provider.logout_token(sub=None, sid=sid)) == 200
    assert [bool(users(house, browser)) for browser in (first, second, other, stays)] == [True, False, True, True]
    assert tell(house, provider.logout_token(jti="second")) == 200
    assert [bool(users(house, browser)) for browser in (first, other, stays)] == [False, False, True]
    assert tell(house, provider.logout_token(jti="third", sub="nobody")) == 200


SPOILT: dict[str, dict[str, Any]] = {
    "issuer": {"iss": "https://evil.example"},
    "audience": {"aud": "another"},
    "id token": {"events": None, "nonce": "x"},
    "nonce": {"nonce": "x"},
    "event": {"events": {"http://schemas.openid.net/event/other": {}}},
    "events": {"events": "http://schemas.openid.net/event/backchannel-logout"},
    "old": {"iat": int(Hands().seconds()) - 1_000},
    "no time": {"iat": None},
    "over": {"exp": int(Hands().seconds()) - 1_000},
    "no id": {"jti": None},
    "nobody": {"sub": None},
    "numbers": {"sub": 815, "sid": 1},
}


@pytest.mark.parametrize("given", list(SPOILT.values()), ids=list(SPOILT))
def test_logout_token_that_is_not_as_it_must_be_ends_nobody(house: SignInHouse, provider: OpenIdServer, given: dict[str, Any]) -> None:
    browser = signed_in(house, provider)
    assert tell(house, provider.logout_token(**given)) == 400
    assert users(house, browser) != []


def test_logout_token_counts_once_and_only_by_the_providers_key(house: SignInHouse, provider: OpenIdServer) -> None:
    browser = signed_in(house, provider)
    genuine = provider.logout_token()
    ours, provider.key = provider.key, new_key()
    assert tell(house, provider.logout_token()) == 400
    provider.key, provider.algorithm = ours, "none"
    assert tell(house, provider.logout_token()) == 400
    assert tell(house, "") == 400
    assert tell(house, "x" * 20_000) == 400
    assert users(house, browser) != []
    provider.algorithm = "RS256"
    assert tell(house, genuine) == 200
    again = signed_in(house, provider)
    assert tell(house, genuine) == 400
    assert users(house, again) != []


def test_logout_of_an_unknown_provider_is_not_there(house: SignInHouse) -> None:
    assert house.browser(is_browser=False).post("/signin/oidc/nobody/logout", {"logout_token": "x"}).status == 404
    assert house.browser().get("/signin/oidc/nobody/left").status == 404
