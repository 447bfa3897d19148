"""Single logout by SAML, begun by either side: the sessions that it ends; an attacker ends none with it."""

import base64
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from lxml import etree

from feedmill.adapters.identity.saml.metadata import ASSERTION, NAMES, POST, PROTOCOL
from feedmill.adapters.identity.saml.signatures import inflate, read_query, verify_element
from tests.contract.samlharness import FROM_ELSEWHERE, arrive, open_with, our_key, redirect_to_provider
from tests.contract.samlserver import LOGOUT, SamlServer, make_private_key, write
from tests.contract.signinharness import Browser, SignInHarness, read_form, users
from tests.fakes import ManualClock

URL = "http://search.example.com/signin/saml/corp"
NAME = "ann@corp.example.com"
BY_POST = f'<SingleLogoutService Binding="{POST}" Location="{LOGOUT}"/>'


@pytest.fixture
def provider() -> SamlServer:
    return SamlServer(now=ManualClock())


@pytest.fixture
def harness(provider: SamlServer, tmp_path: Path) -> Iterator[SignInHarness]:
    opened = open_with(tmp_path, provider)
    yield opened
    opened.search.store.close()


def signed_in(harness: SignInHarness, provider: SamlServer) -> Browser:
    browser = harness.browser()
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 303
    return browser


def is_in(harness: SignInHarness, browser: Browser) -> bool:
    return bool(users(harness, browser))


def sign_out(browser: Browser) -> str:
    """Signs out and returns the page, or "" where the browser is redirected at once."""
    answer = browser.post("/signout", read_form(browser.get("/signout").text).hidden)
    assert answer.status in (200, 303)
    return answer.text if answer.status == 200 else ""


# --- begun here -----------------------------------------------------------------------------------------------------------------


def test_who_signs_out_here_is_led_to_the_provider_with_a_signed_request(harness: SignInHarness, provider: SamlServer) -> None:
    browser = signed_in(harness, provider)
    page = sign_out(browser)
    assert not is_in(harness, browser)
    address = page.partition('content="0; url=')[2].partition('"')[0].replace("&amp;", "&")
    assert address.startswith(f"{LOGOUT}?SAMLRequest=")
    request = etree.fromstring(read_query(urlsplit(address).query, "SAMLRequest", [our_key().certificate]))
    assert request.findtext("a:NameID", "", NAMES) == NAME
    assert request.find("a:NameID", NAMES).get("Format", "").endswith("persistent")  # type: ignore[union-attr]
    assert request.findtext("p:SessionIndex", "", NAMES) == "session1"
    assert request.findtext("a:Issuer", "", NAMES) == f"{URL}/metadata"
    query = provider.query("SAMLResponse", provider.answer_logout(URL, request))
    answer = browser.get(f"/signin/saml/corp/slo?{query}")
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_provider_that_takes_forms_only_is_sent_one(provider: SamlServer, tmp_path: Path) -> None:
    provider.logout = BY_POST
    harness = open_with(tmp_path, provider)
    browser = signed_in(harness, provider)
    page = sign_out(browser)
    form = read_form(page, lambda form: form.action == LOGOUT)
    posted = etree.fromstring(base64.b64decode(form.hidden["SAMLRequest"]))
    signed = verify_element(posted, [our_key().certificate])
    assert signed.tag == f"{{{PROTOCOL}}}LogoutRequest"
    assert [etree.QName(child).localname for child in posted] == ["Issuer", "Signature", "NameID", "SessionIndex"]
    answer = browser.post("/signin/saml/corp/slo", provider.form("SAMLResponse", provider.answer_logout(URL, signed)), **FROM_ELSEWHERE)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    harness.search.store.close()


@pytest.mark.parametrize("is_wanted", [True, False])
def test_provider_without_a_place_or_unwanted_gets_no_logout_request(provider: SamlServer, tmp_path: Path, is_wanted: bool) -> None:
    provider.logout = "" if is_wanted else provider.logout
    harness = open_with(tmp_path, provider, single_logout=is_wanted)
    browser = signed_in(harness, provider)
    assert sign_out(browser) == ""
    assert not is_in(harness, browser)
    assert browser.get("/signin/saml/corp/slo?SAMLRequest=x").status == (403 if is_wanted else 404)
    harness.search.store.close()


def test_answer_that_is_no_success_or_not_the_providers_is_reported_and_changes_nothing(
    harness: SignInHarness, provider: SamlServer
) -> None:
    browser = signed_in(harness, provider)
    request = provider.ask_logout(URL, NAME)
    refused = provider.answer_logout(URL, request, "urn:oasis:names:tc:SAML:2.0:status:Requester")
    forger = SamlServer(now=provider.now, key=make_private_key())
    for query in (provider.query("SAMLResponse", refused), forger.query("SAMLResponse", provider.answer_logout(URL, request))):
        assert harness.browser().get(f"/signin/saml/corp/slo?{query}").status == 403
    assert is_in(harness, browser)


# --- begun at the provider ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binding", ["redirect", "post"])
def test_provider_ends_the_sessions_it_names_and_is_answered(harness: SignInHarness, provider: SamlServer, binding: str) -> None:
    first, second, other = signed_in(harness, provider), signed_in(harness, provider), harness.browser()
    provider.name = "bob@corp.example.com"
    assert arrive(other, provider.respond(redirect_to_provider(other))) == 303
    request = provider.ask_logout(URL, NAME, "session2")
    stranger = harness.browser()  # the message may come without any cookie
    if binding == "redirect":
        answer = stranger.get(f"/signin/saml/corp/slo?{provider.query('SAMLRequest', request, 'keep me')}")
    else:
        answer = stranger.post("/signin/saml/corp/slo", provider.form("SAMLRequest", request) | {"RelayState": "keep me"}, **FROM_ELSEWHERE)
    assert [is_in(harness, browser) for browser in (first, second, other)] == [True, False, True]
    assert answer.status == 303
    assert answer.headers["location"].startswith(f"{LOGOUT}/done?SAMLResponse=")
    query = urlsplit(answer.headers["location"]).query
    assert parse_qs(query)["RelayState"] == ["keep me"]
    response = etree.fromstring(read_query(query, "SAMLResponse", [our_key().certificate]))
    assert response.get("InResponseTo") == request.get("ID")
    status = response.find("p:Status/p:StatusCode", NAMES)
    assert status is not None
    assert status.get("Value", "").endswith(":Success")
    assert ("signout", "") in harness.events()


def test_provider_that_names_no_session_ends_all_of_the_name_and_takes_forms_back(provider: SamlServer, tmp_path: Path) -> None:
    provider.logout = BY_POST
    harness = open_with(tmp_path, provider)
    browsers = [signed_in(harness, provider) for _ in range(2)]
    harness.signing.accounts.add("ann", "a good long password")
    browsers[0].sign_in("ann")
    answer = harness.browser().get(f"/signin/saml/corp/slo?{provider.query('SAMLRequest', provider.ask_logout(URL, NAME))}")
    form = read_form(answer.text, lambda form: form.action == LOGOUT)
    assert "SAMLResponse" in form.hidden
    assert "form-action" not in answer.headers["content-security-policy"]
    assert [[namespace for namespace, _, _ in users(harness, browser)] for browser in browsers] == [["Default"], []]
    harness.search.store.close()


def _drop_signature(query: str) -> str:
    return query.partition("&Signature=")[0]


def _other_algorithm(query: str) -> str:
    return query.replace("rsa-sha256", "rsa-sha1")


def _twice(query: str) -> str:
    return f"{query}&SAMLRequest=x"


def _other_relay(query: str) -> str:
    return query.replace("&SigAlg", "&RelayState=x&SigAlg")


def _bomb(query: str) -> str:
    return query.replace("SAMLRequest=", "SAMLRequest=7c")


@pytest.mark.parametrize(
    "spoil", [_drop_signature, _other_algorithm, _twice, _other_relay, _bomb], ids=lambda spoil: spoil.__name__.strip("_")
)
def test_request_whose_address_was_changed_ends_no_session(
    harness: SignInHarness, provider: SamlServer, spoil: Callable[[str], str]
) -> None:
    browser = signed_in(harness, provider)
    query = spoil(provider.query("SAMLRequest", provider.ask_logout(URL, NAME)))
    assert browser.get(f"/signin/saml/corp/slo?{query}").status == 403
    assert is_in(harness, browser)


@pytest.mark.parametrize("what", ["issuer", "destination", "old", "early", "over", "no id", "no name", "response"])
def test_signed_request_that_is_not_for_here_and_now_ends_no_session(harness: SignInHarness, provider: SamlServer, what: str) -> None:
    browser = signed_in(harness, provider)
    now = provider.now()
    given = {
        "destination": {"Destination": "https://other.example/slo"},
        "old": {"IssueInstant": write(now - timedelta(minutes=10))},
        "early": {"IssueInstant": write(now + timedelta(minutes=10))},
        "over": {"NotOnOrAfter": write(now - timedelta(minutes=2))},
        "no id": {"ID": ""},
    }.get(what, {})
    if what == "issuer":
        provider.issuer = "https://evil.example"
    request = provider.ask_logout(URL, " " if what == "no name" else NAME, **given)
    if what == "response":
        request = provider.answer_logout(URL, request)
    assert browser.get(f"/signin/saml/corp/slo?{provider.query('SAMLRequest', request)}").status == 403
    assert is_in(harness, browser)


def test_request_counts_once_and_only_by_the_providers_key(harness: SignInHarness, provider: SamlServer) -> None:
    browser = signed_in(harness, provider)
    forger = SamlServer(now=provider.now, key=make_private_key())
    request = provider.ask_logout(URL, NAME)
    assert browser.get(f"/signin/saml/corp/slo?{forger.query('SAMLRequest', request)}").status == 403
    assert browser.post("/signin/saml/corp/slo", forger.form("SAMLRequest", request), **FROM_ELSEWHERE).status == 403
    assert is_in(harness, browser)
    query = provider.query("SAMLRequest", provider.ask_logout(URL, NAME))
    assert browser.get(f"/signin/saml/corp/slo?{query}").status == 303
    again = signed_in(harness, provider)
    assert again.get(f"/signin/saml/corp/slo?{query}").status == 403
    assert is_in(harness, again)


def test_request_of_a_fast_clock_counts_once(harness: SignInHarness, provider: SamlServer) -> None:
    signed_in(harness, provider)
    request = provider.ask_logout(URL, NAME, IssueInstant=write(provider.now() + timedelta(minutes=5)))
    query = provider.query("SAMLRequest", request)
    assert harness.browser().get(f"/signin/saml/corp/slo?{query}").status == 303
    harness.clock.turn(minutes=10)
    again = signed_in(harness, provider)
    assert again.get(f"/signin/saml/corp/slo?{query}").status == 403
    assert is_in(harness, again)


def test_flood_of_forged_messages_fills_no_log(harness: SignInHarness) -> None:
    flooder = harness.browser(peer="192.168.5.5")
    for _ in range(40):
        assert flooder.post("/signin/saml/corp/slo", {"SAMLRequest": "x"}, **FROM_ELSEWHERE).status == 403
    assert [kind for kind, _ in harness.events()] == ["signin.failed"] * 20 + ["signin.refused"]
    harness.browser(peer="192.168.5.6").post("/signin/saml/corp/slo", {"SAMLRequest": "x"}, **FROM_ELSEWHERE)
    assert [kind for kind, _ in harness.events()][-1] == "signin.failed"


def test_posted_request_that_was_wrapped_ends_no_session(harness: SignInHarness, provider: SamlServer) -> None:
    browser = signed_in(harness, provider)
    genuine = provider.sign(provider.ask_logout(URL, "another user"))
    forged = provider.ask_logout(URL, NAME)
    signature = genuine.find("d:Signature", NAMES)
    assert signature is not None
    genuine.remove(signature)
    holder = etree.SubElement(forged, f"{{{PROTOCOL}}}Extensions")
    holder.append(genuine)
    forged.insert(1, signature)
    encoded = base64.b64encode(etree.tostring(forged)).decode()
    browser.post("/signin/saml/corp/slo", {"SAMLRequest": encoded}, **FROM_ELSEWHERE)
    assert is_in(harness, browser)


@pytest.mark.parametrize("packed", [b"", b"no deflate", b"\x00" * 10], ids=["nothing", "text", "zeros"])
def test_message_that_is_not_packed_is_refused(packed: bytes) -> None:
    from feedmill.model.errors import Denied

    with pytest.raises(Denied):
        inflate(packed)


def test_message_that_unpacks_to_gigabytes_is_refused() -> None:
    import zlib

    from feedmill.model.errors import Denied

    deflate = zlib.compressobj(9, wbits=-15)
    bomb = b"".join(deflate.compress(bytes(1_000_000)) for _ in range(50)) + deflate.flush()
    with pytest.raises(Denied, match="bytes"):
        inflate(bomb)


def test_assertion_element_is_no_logout_request(harness: SignInHarness, provider: SamlServer) -> None:
    browser = signed_in(harness, provider)
    assertion = etree.fromstring(f'<a:Assertion xmlns:a="{ASSERTION}" ID="_a"><a:Issuer>{provider.issuer}</a:Issuer></a:Assertion>')
    assert browser.get(f"/signin/saml/corp/slo?{provider.query('SAMLRequest', assertion)}").status == 403
    assert is_in(harness, browser)
