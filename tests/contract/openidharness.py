"""A harness whose people sign in by OpenID Connect, and the steps of a browser that does."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from feedmill.adapters.identity.oidc.provider import OidcOptions, OidcProvider
from tests.contract.openidserver import CLIENT, SECRET, OpenIdServer
from tests.contract.signinharness import Browser, SignInHarness, open_signin_harness
from tests.fakes import ManualClock


def open_with(folder: Path, provider: OpenIdServer, **given: Any) -> SignInHarness:
    options = OidcOptions(
        name="corp", label="Corp", namespace="ad", issuer=provider.issuer, client_id=CLIENT, client_secret=SECRET, **given
    )
    clock = ManualClock()
    return open_signin_harness(folder, clock=clock, openid=(OidcProvider(options, clock),))


def redirect_to_provider(browser: Browser, to: str = "/") -> str:
    answer = browser.get(f"/signin/oidc/corp?to={to}")
    assert answer.status == 302
    return answer.headers["location"]


def arrive(browser: Browser, address: str) -> int:
    parts = urlsplit(address)
    return browser.get(f"{parts.path}?{parts.query}").status
