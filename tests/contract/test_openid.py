"""Signing in by OpenID Connect, against a provider on real HTTP."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from feedmill.adapters.identity.jsonhttp import check_safe_url
from feedmill.core.access.userroles import RoleRules
from feedmill.model.errors import BadRequest
from feedmill.model.userrole import UserRole
from tests.builders.requests import PASSWORD
from tests.contract.openidharness import arrive, open_with, redirect_to_provider
from tests.contract.openidserver import CLIENT, OpenIdServer, new_key, running_openid
from tests.contract.signinharness import SignInHarness, users
from tests.fakes import ManualClock


@pytest.fixture
def provider() -> Iterator[OpenIdServer]:
    with running_openid(int(ManualClock().seconds())) as server:
        yield server


@pytest.fixture
def harness(provider: OpenIdServer, tmp_path: Path) -> Iterator[SignInHarness]:
    opened = open_with(tmp_path, provider, roles=RoleRules(viewers=("STAFF",)))
    yield opened
    opened.search.store.close()


def test_openid_lets_in_the_user_with_groups_and_role_and_leads_back(harness: SignInHarness, provider: OpenIdServer) -> None:
    browser = harness.browser()
    assert 'href="/signin/oidc/corp?to=/"' in browser.get("/signin").text
    assert browser.get("/search?q=x&access=a").status == 401
    back = urlsplit(provider.authorize(redirect_to_provider(browser, "/search")))
    answer = browser.get(f"{back.path}?{back.query}")
    assert (answer.status, answer.headers["location"]) == (303, "/search")
    assert users(harness, browser) == [("ad", "corp.example.com", "ann")]
    identity = harness.seen[-1].identity
    assert [(group.domain, group.name, group.namespace) for group in identity.groups] == [("", "staff", "ad"), ("CORP", "eng", "ad")]
    assert harness.seen[-1].role is UserRole.VIEWER
    assert harness.events()[-1] == ("signin.accepted", r"corp.example.com\ann (ad)")
    assert "feedmill_flow" not in browser.cookies


def test_openid_asks_with_pkce_state_and_nonce_that_are_new_each_time(harness: SignInHarness) -> None:
    first, second = (dict(parse_qsl(urlsplit(redirect_to_provider(harness.browser())).query)) for _ in range(2))
    assert first["tenant"] == "1"
    assert '"' not in harness.browser().get("/signin/oidc/corp").headers["set-cookie"]
    assert first["redirect_uri"] == "http://search.example.com/signin/oidc/corp/back"
    assert first["scope"] == "openid profile email"
    assert all(first[name] != second[name] and len(first[name]) >= 32 for name in ("state", "nonce", "code_challenge"))


def test_openid_adds_its_namespace_to_a_session(harness: SignInHarness, provider: OpenIdServer) -> None:
    harness.signing.accounts.add("a.smith", PASSWORD)
    browser = harness.browser()
    browser.sign_in("a.smith")
    assert arrive(browser, provider.authorize(redirect_to_provider(browser))) == 303
    assert users(harness, browser) == [("Default", "", "a.smith"), ("ad", "corp.example.com", "ann")]


SPOILT: dict[str, Callable[[OpenIdServer], object]] = {
    "other issuer": lambda server: server.claims.update(iss="https://evil.example"),
    "other audience": lambda server: server.claims.update(aud="another"),
    "shared audience": lambda server: server.claims.update(aud=[CLIENT, "another"]),
    "other party": lambda server: server.claims.update(azp="another"),
    "old": lambda server: server.claims.update(exp=server.now_seconds - 120),
    "no end": lambda server: server.claims.update(exp=None),
    "other nonce": lambda server: server.claims.update(nonce="x"),
    "no nonce": lambda server: server.claims.update(nonce=None),
    "no subject": lambda server: server.claims.update(sub=None),
    "no user": lambda server: server.claims.update(preferred_username=None),
    "blank user": lambda server: server.claims.update(preferred_username=" "),
    "user of lists": lambda server: server.claims.update(preferred_username=["ann"]),
    "groups elsewhere": lambda server: server.claims.update(groups=None, _claim_names={"groups": "src1"}),
    "unsigned": lambda server: setattr(server, "algorithm", "none"),
    "key of another": lambda server: setattr(server, "key", new_key()),
    "refused": lambda server: setattr(server, "refuses", "invalid_client"),
    "userinfo of another": lambda server: (server.claims.update(groups=None), server.userinfo.update(sub="4711", groups=["admins"])),
}


@pytest.mark.parametrize("spoil", list(SPOILT.values()), ids=list(SPOILT))
def test_openid_answer_that_is_invalid_signs_no_user_in(
    harness: SignInHarness, provider: OpenIdServer, spoil: Callable[[OpenIdServer], object]
) -> None:
    browser = harness.browser()
    address = redirect_to_provider(browser)
    spoil(provider)
    assert arrive(browser, provider.authorize(address)) == 403
    assert users(harness, browser) == []
    assert harness.events()[-1][0] == "signin.failed"


def test_openid_answer_counts_for_the_browser_that_began_and_once(harness: SignInHarness, provider: OpenIdServer) -> None:
    attacker, victim = harness.browser(), harness.browser()
    stolen = provider.authorize(redirect_to_provider(attacker))
    assert arrive(victim, stolen) == 403
    redirect_to_provider(victim)
    assert arrive(victim, stolen) == 403
    assert users(harness, victim) == []
    assert arrive(attacker, stolen) == 303
    assert arrive(attacker, stolen) == 403


def test_openid_attempt_ends_in_time_and_cannot_be_forged(harness: SignInHarness, provider: OpenIdServer) -> None:
    browser = harness.browser()
    back = provider.authorize(redirect_to_provider(browser))
    flow = browser.cookies["feedmill_flow"]
    harness.clock.turn(minutes=11)
    assert arrive(browser, back) == 403
    for forged in ("", "x", ".", flow[:-1], "e30=." + flow.partition(".")[2], flow.partition(".")[0] + "."):
        browser.cookies["feedmill_flow"] = forged
        assert arrive(browser, back) == 403


@pytest.mark.parametrize(
    "query", ["", "error=access_denied", "code=x", "state=&code=", "code=" + "x" * 5_000], ids=["none", "error", "code", "empty", "long"]
)
def test_openid_answer_without_an_attempt_is_refused(harness: SignInHarness, query: str) -> None:
    assert harness.browser().get(f"/signin/oidc/corp/back?{query}").status == 403


def test_openid_answer_of_another_provider_is_refused(harness: SignInHarness, provider: OpenIdServer) -> None:
    browser = harness.browser()
    back = provider.authorize(redirect_to_provider(browser)).replace("iss=http", "iss=https")
    assert arrive(browser, back) == 403


def test_openid_takes_groups_from_userinfo_where_the_token_has_none(harness: SignInHarness, provider: OpenIdServer) -> None:
    provider.claims["groups"] = None
    provider.userinfo = {"sub": "0815", "groups": "board"}
    browser = harness.browser()
    assert arrive(browser, provider.authorize(redirect_to_provider(browser))) == 303
    browser.get("/?q=x")
    assert [group.name for group in harness.seen[-1].identity.groups] == ["board"]


@pytest.mark.parametrize(("kind", "algorithm"), [("RSA", "PS256"), ("EC", "ES256")])
def test_openid_follows_new_keys(harness: SignInHarness, provider: OpenIdServer, kind: str, algorithm: str) -> None:
    browser = harness.browser()
    assert arrive(browser, provider.authorize(redirect_to_provider(browser))) == 303
    provider.key = provider.shown = new_key(kind)
    provider.algorithm = algorithm
    harness.clock.turn(minutes=2)
    assert arrive(browser, provider.authorize(redirect_to_provider(browser))) == 303
    count_before = provider.requested_paths.count("/keys")
    provider.key = new_key(kind)
    assert arrive(browser, provider.authorize(redirect_to_provider(browser))) == 403
    assert provider.requested_paths.count("/keys") <= count_before + 1


def test_openid_discovery_of_another_issuer_is_trouble(harness: SignInHarness, provider: OpenIdServer) -> None:
    provider.about["issuer"] = "https://evil.example"
    assert harness.browser().get("/signin/oidc/corp").status == 503
    provider.about = {"authorization_endpoint": "http://evil.example/"}
    assert harness.browser().get("/signin/oidc/corp").status == 503


def test_openid_of_an_unknown_name_is_not_there(harness: SignInHarness) -> None:
    assert harness.browser().get("/signin/oidc/nobody").status == 404


@pytest.mark.parametrize("url", ["http://example.com/", "ftp://localhost/", "https://", "file:///etc/passwd", "http://[", "x"])
def test_address_that_secrets_may_not_be_sent_to_is_refused(url: str) -> None:
    with pytest.raises(BadRequest):
        check_safe_url(url)
