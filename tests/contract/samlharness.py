"""A harness whose people sign in by SAML, and the steps of a browser that does."""

from functools import cache
from pathlib import Path
from typing import Any

from feedmill.adapters.identity.saml.keys import ServerKey, make_key, read_key
from feedmill.adapters.identity.saml.metadata import read_metadata
from feedmill.adapters.identity.saml.provider import SamlIdentityProvider, SamlOptions
from feedmill.core.access.userroles import RoleRules
from tests.contract.samlserver import SamlServer
from tests.contract.signinharness import HOST, Browser, SignInHarness, open_signin_harness
from tests.fakes import ManualClock

FROM_ELSEWHERE = {"origin": "https://idp.example.test", "sec_fetch_site": "cross-site"}


@cache
def our_key() -> ServerKey:
    """Returns the key of the server in all tests of this process: a new one takes half a second of CPU time."""
    return read_key(make_key(ManualClock().now))


def open_with(folder: Path, provider: SamlServer, *, public_url: str = f"http://{HOST}", **given: Any) -> SignInHarness:
    clock = ManualClock()
    provider.now = clock
    provider.server_certificate = our_key().certificate
    options = SamlOptions(
        name="corp",
        label="Corp",
        namespace="ad",
        provider=read_metadata(provider.metadata()),
        key=our_key(),
        roles=RoleRules(managers=("ENG",)),
        **given,
    )
    return open_signin_harness(folder, clock=clock, saml=(SamlIdentityProvider(options, clock),), public_url=public_url)


def redirect_to_provider(browser: Browser) -> str:
    answer = browser.get("/signin/saml/corp?to=/search")
    assert answer.status == 302
    return answer.headers["location"]


def post(browser: Browser, encoded: str) -> tuple[int, str]:
    """Sends the form as the provider's page does: without the cookies, since it is another site."""
    saved, browser.cookies = browser.cookies, {}
    answer = browser.post("/signin/saml/corp/acs", {"SAMLResponse": encoded, "RelayState": "x"}, **FROM_ELSEWHERE)
    browser.cookies = saved
    return answer.status, answer.headers.get("location", "")


def arrive(browser: Browser, encoded: str) -> int:
    status, onward = post(browser, encoded)
    return browser.get(onward).status if status == 303 else status
