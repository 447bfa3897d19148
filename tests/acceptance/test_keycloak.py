"""Signing in at a whole server over a real Keycloak, by its own form for signing in: OpenID Connect and SAML."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from lxml import etree

from tests.acceptance.keycloak import HOME, PASSWORD, REALM, REASON, Keycloak, Page, WebBrowser, read_forms, running_keycloak, user
from tests.appliance import Appliance
from tests.browsers import launched, needs_chromium
from tests.builders.feedxml import make_feed, make_record

pytestmark = pytest.mark.skipif(not HOME, reason=REASON)

SETTINGS = """
[[signin.oidc]]
name = "kc"
label = "Keycloak by OpenID"
namespace = "openid"
issuer = "{realm}"
client_id = "feedmill"
client_secret = "a client's secret"

[[signin.saml]]
name = "kc"
label = "Keycloak by SAML"
namespace = "saml"
metadata_file = "{metadata}"
groups_attribute = "member"

[[signin.saml]]
name = "forms"
label = "Keycloak by SAML with forms"
namespace = "forms"
metadata_file = "{forms}"
groups_attribute = "member"
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Both servers."""

    keycloak: Keycloak
    server: Appliance

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.search_port}"

    def found(self, browser: WebBrowser, query: str = "handbook") -> list[str]:
        """Returns what a browser finds."""
        page = browser.get(f"{self.url}/api/v1/search?q={quote(query)}")
        assert page.status == 200, page.text
        return sorted(result["url"].rpartition("/")[2] for result in json.loads(page.text)["results"])

    def enter(self, browser: WebBrowser, way: str, name: str) -> Page:
        """Goes from the page for signing in over Keycloak's form and back."""
        shown = browser.get(f"{self.url}/signin?to=/")
        assert f"/signin/{way}/kc?to=/" in shown.text
        return browser.sign_in(browser.get(f"{self.url}/signin/{way}/kc?to=/"), name)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("keycloak")
    with running_keycloak(Path(HOME), folder / "keycloak.log") as keycloak:
        metadata, forms = folder / "descriptor.xml", folder / "forms.xml"
        server = Appliance(folder / "data", SETTINGS.format(realm=keycloak.realm_url, metadata=metadata, forms=forms))
        url = f"http://127.0.0.1:{server.search_port}"
        keycloak.call("POST", "", realm_of(url))
        metadata.write_bytes(keycloak.descriptor())
        forms.write_bytes(drop_redirected_logout(metadata.read_bytes()))
        server.start()
        try:
            add_saml_client(keycloak, f"{url}/signin/saml/kc")
            add_saml_client(keycloak, f"{url}/signin/saml/forms")
            feed(server)
            yield Place(keycloak, server)
        finally:
            server.stop()


def drop_redirected_logout(metadata: bytes) -> bytes:
    """Returns the metadata of a provider that hears of logouts by forms alone."""
    root = etree.fromstring(metadata)
    for service in root.findall(".//{*}SingleLogoutService"):
        parent = service.getparent()
        if service.get("Binding", "").endswith("HTTP-Redirect") and parent is not None:
            parent.remove(service)
    return etree.tostring(root)


def realm_of(url: str) -> dict[str, Any]:
    names = {"claim.name": "groups", "full.path": "true", "id.token.claim": "true", "access.token.claim": "false"}
    mapper = {"name": "groups", "protocol": "openid-connect", "protocolMapper": "oidc-group-membership-mapper", "config": names}
    client = {
        "clientId": "feedmill",
        "secret": "a client's secret",
        "redirectUris": [f"{url}/signin/oidc/kc/back"],
        "publicClient": False,
        "directAccessGrantsEnabled": False,
        "frontchannelLogout": False,
        "attributes": {
            "pkce.code.challenge.method": "S256",
            "post.logout.redirect.uris": f"{url}/signin/oidc/kc/left",
            "backchannel.logout.url": f"{url}/signin/oidc/kc/logout",
            "backchannel.logout.session.required": "true",
        },
        "protocolMappers": [mapper],
    }
    people = [user("bob", "/staff", "/Führung & Büro"), user("eve", "/visitors")]
    groups = [{"name": "staff"}, {"name": "visitors"}, {"name": "Führung & Büro"}]
    return {"realm": REALM, "enabled": True, "groups": groups, "users": people, "clients": [client]}


def add_saml_client(keycloak: Keycloak, url: str) -> None:
    """Makes a client of what the server says of itself."""
    about = WebBrowser().get(f"{url}/metadata").text.encode()
    client = keycloak.call("POST", f"/{REALM}/client-description-converter", about, kind="application/xml")
    groups = {"attribute.name": "member", "attribute.nameformat": "Basic", "single": "true", "full.path": "false"}
    mapper = {"name": "groups", "protocol": "saml", "protocolMapper": "saml-group-membership-mapper", "config": groups}
    assert client["attributes"]["saml.encryption.certificate"]
    assert client["attributes"]["saml.client.signature"] == "true"
    client["attributes"] |= {"saml_name_id_format": "username", "saml_force_name_id_format": "true"}
    keycloak.call("POST", f"/{REALM}/clients", client | {"protocolMappers": [mapper]})


def feed(server: Appliance) -> None:
    """Feeds one document for all users, and for each way one for a group of each user and one for bob alone."""

    def acl(scope: str, name: str, namespace: str) -> str:
        return f'<acl><principal scope="{scope}" access="permit" namespace="{namespace}">{name}</principal></acl>'

    records = [make_record("http://kc.example/public", "handbook")]
    for way in ("openid", "saml"):
        for shown, name in (("staff", "staff"), ("visitors", "visitors"), ("board", "Führung &amp; Büro")):
            records.append(make_record(f"http://kc.example/{way}-{shown}", "handbook", acl=acl("group", name, way)))
        records.append(make_record(f"http://kc.example/{way}-bob", "handbook", acl=acl("user", "bob", way)))
    assert server.feed(make_feed(*records), "kc")["state"] == "completed"


@pytest.mark.parametrize(("way", "namespace"), [("oidc", "openid"), ("saml", "saml")])
def test_user_of_keycloak_finds_what_their_groups_may_see(place: Place, way: str, namespace: str) -> None:
    bob, eve = WebBrowser(), WebBrowser()
    assert place.found(bob) == ["public"]
    page = place.enter(bob, way, "bob")
    assert (page.status, page.url) == (200, f"{place.url}/"), (bob.hops, page.text[:3000])
    assert place.found(bob) == sorted(["public", f"{namespace}-bob", f"{namespace}-staff", f"{namespace}-board"])
    assert place.enter(eve, way, "eve").status == 200
    assert place.found(eve) == sorted(["public", f"{namespace}-visitors"])


@pytest.mark.parametrize("way", ["oidc", "saml"])
def test_wrong_password_at_keycloak_opens_nothing(place: Place, way: str) -> None:
    browser = WebBrowser()
    page = browser.sign_in(browser.get(f"{place.url}/signin/{way}/kc?to=/"), "bob", "wrong" + PASSWORD)
    assert page.url.startswith(place.keycloak.url)
    assert place.found(browser) == ["public"]


def test_both_ways_at_once_are_one_person_with_a_user_in_each_namespace(place: Place) -> None:
    browser = WebBrowser()
    place.enter(browser, "oidc", "bob")
    page = browser.get(f"{place.url}/signin/saml/kc?to=/")  # a user who is signed in at Keycloak sees no form again
    assert page.url == f"{place.url}/", browser.hops
    assert len(place.found(browser)) == 7


SIGNED = {"saml.encrypt": "false", "saml.assertion.signature": "false", "saml.server.signature": "true"}
CBC = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
GCM = "http://www.w3.org/2009/xmlenc11#aes256-gcm"
ENCRYPTED = {"saml.encrypt": "true", "saml.assertion.signature": "true", "saml.server.signature": "false"}


@pytest.mark.parametrize(
    ("attributes", "is_let_in"),
    [
        (SIGNED, True),
        (SIGNED | {"saml.assertion.signature": "true"}, True),
        (ENCRYPTED | {"saml.encryption.algorithm": GCM}, True),
        (ENCRYPTED | {"saml.server.signature": "true", "saml.encryption.algorithm": CBC}, True),
        (ENCRYPTED | {"saml.encryption.algorithm": CBC}, False),
        ({"saml.encrypt": "false", "saml.assertion.signature": "false", "saml.server.signature": "false"}, False),
    ],
    ids=["response", "both", "encrypted-gcm", "encrypted-cbc-signed", "encrypted-cbc", "unsigned"],
)
def test_keycloak_signs_and_encrypts_in_every_way_that_proves_something(place: Place, attributes: dict[str, str], is_let_in: bool) -> None:
    place.keycloak.change_client(f"{place.url}/signin/saml/kc/metadata", attributes)
    browser = WebBrowser()
    page = place.enter(browser, "saml", "bob")
    assert page.status == (200 if is_let_in else 403), (browser.hops, page.text[:2000])
    assert len(place.found(browser)) == (4 if is_let_in else 1)


@pytest.mark.parametrize("way", ["oidc", "saml"])
def test_who_signs_out_here_is_out_at_keycloak_too(place: Place, way: str) -> None:
    browser = signed_in(place, way)
    page = sign_out(place, browser)
    assert page.url == f"{place.url}/", (browser.hops, page.text[:3000])
    assert place.found(browser) == ["public"]
    assert "username" in browser.get(f"{place.url}/signin/{way}/kc?to=/").form("username").fields


def test_provider_that_takes_forms_alone_is_sent_one(place: Place) -> None:
    browser = WebBrowser()
    page = browser.sign_in(browser.get(f"{place.url}/signin/saml/forms?to=/"), "bob")
    assert page.url == f"{place.url}/", (browser.hops, page.text[:3000])
    assert sign_out(place, browser).url == f"{place.url}/", browser.hops
    assert any(hop.startswith(f"POST {place.keycloak.realm_url}/protocol/saml") for hop in browser.hops)
    assert "username" in browser.get(f"{place.url}/signin/saml/forms?to=/").form("username").fields


@needs_chromium
@pytest.mark.parametrize("way", ["oidc/kc", "saml/kc", "saml/forms"])
def test_real_browser_signs_in_and_out(place: Place, way: str) -> None:
    place.keycloak.change_client(f"{place.url}/signin/saml/kc/metadata", SIGNED)
    with launched() as started:
        page = started.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"{place.url}/signin/{way}?to=/")
        page.fill("#username", "eve")
        page.fill("#password", PASSWORD)
        page.click("#kc-login")
        page.wait_for_url(f"{place.url}/")
        page.goto(f"{place.url}/signout")
        page.get_by_role("button", name="Sign out", exact=True).first.click()
        page.wait_for_url(f"{place.url}/")
        page.goto(f"{place.url}/signin/{way}?to=/")
        page.wait_for_selector("#username")


@pytest.mark.parametrize("way", ["oidc", "saml"])
def test_user_that_keycloak_logs_out_is_signed_out_here(place: Place, way: str) -> None:
    place.keycloak.change_client(f"{place.url}/signin/saml/kc/metadata", {}, frontchannelLogout=False)
    first, second, other = signed_in(place, way), signed_in(place, way), signed_in(place, way, "eve")
    place.keycloak.end_sessions_of("bob")
    assert [len(place.found(browser)) for browser in (first, second, other)] == [1, 1, 2]


@pytest.mark.parametrize("binding", ["redirect", "post"])
def test_leaving_one_way_ends_the_other_through_the_browser(place: Place, binding: str) -> None:
    attributes = {"saml.force.post.binding": "true" if binding == "post" else "false"}
    place.keycloak.change_client(f"{place.url}/signin/saml/kc/metadata", attributes, frontchannelLogout=True)
    leaver, stayer = signed_in(place, "oidc"), WebBrowser()
    stayer.cookies = {host: dict(cookies_of_host) for host, cookies_of_host in leaver.cookies.items() if host in place.keycloak.url}
    assert stayer.get(f"{place.url}/signin/saml/kc?to=/").url == f"{place.url}/"
    assert len(place.found(stayer)) == 4
    page = sign_out(place, leaver)
    assert [len(place.found(browser)) for browser in (leaver, stayer)] == [1, 1], (leaver.hops, page.text[:3000])


def signed_in(place: Place, way: str, name: str = "bob") -> WebBrowser:
    place.keycloak.change_client(f"{place.url}/signin/saml/kc/metadata", SIGNED)
    browser = WebBrowser()
    assert place.enter(browser, way, name).url == f"{place.url}/", browser.hops
    assert len(place.found(browser)) > 1
    return browser


def sign_out(place: Place, browser: WebBrowser) -> Page:
    form = next(form for form in read_forms(place.url, browser.get(f"{place.url}/signout").text) if form.action.endswith("/signout"))
    return browser.send(form, {})
