"""A house whose people sign in by OpenID Connect, and the steps of a browser that does."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openidserver import CLIENT, SECRET, OpenIdServer
from signinhouse import Browser, Hands, SignInHouse, open_signin_house

from feedmill.adapters.identity.oidc import OidcOptions, OidcProvider


def open_with(folder: Path, provider: OpenIdServer, **given: Any) -> SignInHouse:
    options = OidcOptions(
        name="corp", label="Corp", namespace="ad", issuer=provider.issuer, client_id=CLIENT, client_secret=SECRET, **given
    )
    clock = Hands()
    return open_signin_house(folder, clock=clock, openid=(OidcProvider(options, clock),))


def depart(browser: Browser, to: str = "/") -> str:
    answer = browser.get(f"/signin/oidc/corp?to={to}")
    assert answer.status == 302
    return answer.headers["location"]


def arrive(browser: Browser, address: str) -> int:
    parts = urlsplit(address)
    return browser.get(f"{parts.path}?{parts.query}").status
