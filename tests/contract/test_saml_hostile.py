"""Providers of SAML that write things oddly, and messages that were made to be taken for theirs."""

import base64
import copy
import time
from collections.abc import Callable, Container, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from cryptography.hazmat.primitives.asymmetric import ec
from lxml import etree
from signxml.algorithms import SignatureMethod

from feedmill.adapters.identity.saml.metadata import ASSERTION, NAMES, PROTOCOL, SIGNATURE
from tests.contract.samlharness import arrive, open_with, redirect_to_provider
from tests.contract.samlserver import SamlServer, certify, make_private_key
from tests.contract.signinharness import Browser, SignInHarness, users
from tests.fakes import ManualClock

Edit = Callable[[etree._Element], None]


@pytest.fixture
def provider() -> SamlServer:
    return SamlServer(now=ManualClock())


@pytest.fixture
def harness(provider: SamlServer, tmp_path: Path) -> Iterator[SignInHarness]:
    opened = open_with(tmp_path, provider)
    yield opened
    opened.search.store.close()


def sign_in(harness: SignInHarness, provider: SamlServer, edit: Edit | None = None) -> tuple[int, list[tuple[str, str, str]]]:
    browser = harness.browser()
    status = arrive(browser, provider.respond(redirect_to_provider(browser), edit))
    return status, users(harness, browser)


def find(element: etree._Element, path: str) -> etree._Element:
    found = element.find(path, NAMES)
    assert found is not None
    return found


def edit_before_signing(provider: SamlServer, edit: Edit) -> None:
    """Has the provider say something else, and sign it."""
    genuine = provider.build

    def build(request_id: str, back: str, audience: str) -> etree._Element:
        made = genuine(request_id, back, audience)
        edit(made)
        return made

    provider.build = build


def set_times(before: str, until: str) -> Edit:
    def edit(response: etree._Element) -> None:
        conditions = find(response, ".//a:Conditions")
        conditions.set("NotBefore", before)
        conditions.set("NotOnOrAfter", until)
        find(response, ".//a:SubjectConfirmationData").set("NotOnOrAfter", until)

    return edit


TIMES = {
    "without end": ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", 303),
    "without end, far east": ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", 303),
    "fractions": ("2026-03-01T11:59:59.1234567Z", "2026-03-01T12:05:00.1234567Z", 303),
    "other zone": ("2026-03-01T13:00:00+01:00", "2026-03-01T13:05:00+01:00", 303),
    "no zone": ("2026-03-01T12:00:00", "2026-03-01T12:05:00", 303),
    "a little early": ("2026-03-01T12:00:59Z", "2026-03-01T12:05:00Z", 303),
    "early": ("2026-03-01T12:02:00Z", "2026-03-01T12:05:00Z", 403),
    "over": ("2026-03-01T11:00:00Z", "2026-03-01T11:58:00Z", 403),
    "no time": ("soon", "later", 403),
    "empty": ("", "", 403),
    "year of five digits": ("2026-03-01T12:00:00Z", "12026-03-01T12:00:00Z", 403),
}


@pytest.mark.parametrize(("before", "until", "expected"), list(TIMES.values()), ids=list(TIMES))
def test_saml_times_are_read_however_they_are_written(
    harness: SignInHarness, provider: SamlServer, before: str, until: str, expected: int
) -> None:
    edit_before_signing(provider, set_times(before, until))
    assert sign_in(harness, provider)[0] == expected


def add_audience(response: etree._Element) -> None:
    restriction = etree.SubElement(find(response, ".//a:Conditions"), f"{{{ASSERTION}}}AudienceRestriction")
    etree.SubElement(restriction, f"{{{ASSERTION}}}Audience").text = "https://other.example"


def no_audience(response: etree._Element) -> None:
    conditions = find(response, ".//a:Conditions")
    conditions.remove(find(conditions, "a:AudienceRestriction"))


def no_conditions(response: etree._Element) -> None:
    find(response, ".//a:Assertion").remove(find(response, ".//a:Conditions"))


def no_confirmation(response: etree._Element) -> None:
    find(response, ".//a:Subject").remove(find(response, ".//a:SubjectConfirmation"))


def holder_of_key(response: etree._Element) -> None:
    find(response, ".//a:SubjectConfirmation").set("Method", "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key")


def confirmation(name: str, value: str | None) -> Edit:
    def edit(response: etree._Element) -> None:
        data = find(response, ".//a:SubjectConfirmationData")
        if value is not None:
            data.set(name, value)
        elif name in data.attrib:
            del data.attrib[name]

    return edit


def no_number(response: etree._Element) -> None:
    find(response, ".//a:Assertion").set("ID", "")


def groups_link(response: etree._Element) -> None:
    statement = find(response, ".//a:AttributeStatement")
    statement.remove(find(statement, "a:Attribute"))
    link = etree.SubElement(statement, f"{{{ASSERTION}}}Attribute", {"Name": "http://schemas.microsoft.com/claims/groups.link"})
    etree.SubElement(link, f"{{{ASSERTION}}}AttributeValue").text = "https://graph.example.test/groups"


def other_destination(response: etree._Element) -> None:
    response.set("Destination", "https://other.example/acs")


SIGNED_BUT_WRONG: dict[str, Edit] = {
    "one audience more": add_audience,
    "no audience": no_audience,
    "no conditions": no_conditions,
    "no confirmation": no_confirmation,
    "holder of key": holder_of_key,
    "confirmed from a time on": confirmation("NotBefore", "2026-03-01T12:00:00Z"),
    "confirmed for ever": confirmation("NotOnOrAfter", None),
    "answers nothing": confirmation("InResponseTo", None),
    "for no recipient": confirmation("Recipient", None),
    "no number": no_number,
    "groups left out": groups_link,
    "other destination": other_destination,
}


def list_ways(edits: dict[str, Edit], *, of_a_response: Container[Edit]) -> list[ParameterSet]:
    """Lists what is signed with what is done to it; some can be done only where the whole response is signed."""
    return [
        pytest.param(signs, edit, id=f"{name}-{signs}")
        for name, edit in edits.items()
        for signs in ("assertion", "response")
        if signs == "response" or edit not in of_a_response
    ]


# what has no number cannot be signed alone
@pytest.mark.parametrize(("signs", "edit"), list_ways(SIGNED_BUT_WRONG, of_a_response=[no_number]))
def test_saml_response_that_is_signed_and_not_for_here_signs_no_user_in(
    harness: SignInHarness, provider: SamlServer, signs: str, edit: Edit
) -> None:
    provider.signs = signs
    edit_before_signing(provider, edit)
    assert sign_in(harness, provider) == (403, [])


def forge(response: etree._Element) -> etree._Element:
    """Returns a whole response of another name, without a signature."""
    forged = copy.deepcopy(response)
    forged.set("ID", "_forged")
    for signature in forged.findall(f".//{{{SIGNATURE}}}Signature"):
        parent = signature.getparent()
        assert parent is not None
        parent.remove(signature)
    find(forged, ".//a:NameID").text = "root"
    find(forged, "a:Assertion").set("ID", "_forged_assertion")
    return forged


def take_over(response: etree._Element, forged: etree._Element) -> None:
    """Puts a forged response in the place of the genuine one."""
    for child in list(response):
        response.remove(child)
    response.extend(list(forged))
    response.set("ID", forged.get("ID", ""))


def around(response: etree._Element) -> None:
    """The genuine response within the signature of a forged one (XSW 1)."""
    genuine, forged = copy.deepcopy(response), forge(response)
    signature = copy.deepcopy(find(response, "d:Signature"))
    genuine.remove(find(genuine, "d:Signature"))
    signature.append(genuine)
    forged.insert(1, signature)
    take_over(response, forged)


def beside(response: etree._Element) -> None:
    """The genuine response beside the signature, within a forged one (XSW 2)."""
    genuine, forged = copy.deepcopy(response), forge(response)
    signature = find(genuine, "d:Signature")
    genuine.remove(signature)
    forged.insert(1, signature)
    forged.insert(1, genuine)
    take_over(response, forged)


def inside(response: etree._Element) -> None:
    """The genuine response, signature and all, in an extension of a forged one that copies its signature."""
    genuine, forged = copy.deepcopy(response), forge(response)
    forged.insert(1, copy.deepcopy(find(genuine, "d:Signature")))
    holder = etree.Element(f"{{{PROTOCOL}}}Extensions")
    holder.append(genuine)
    forged.insert(2, holder)
    take_over(response, forged)


def same_number(response: etree._Element) -> None:
    """A forged response of the same number around the genuine one."""
    number = response.get("ID", "")
    beside(response)
    response.set("ID", number)


def empty_reference(response: etree._Element) -> None:
    """A signature that means whatever it stands in."""
    find(response, ".//d:Reference").set("URI", "")
    find(response, ".//a:NameID").text = "root"


def transform(uri: str, text: str = "") -> Edit:
    def edit(response: etree._Element) -> None:
        find(response, ".//a:NameID").text = "root"
        found = find(response, ".//d:Transforms")
        each = etree.SubElement(found, f"{{{SIGNATURE}}}Transform", {"Algorithm": uri})
        if text:
            each.append(etree.fromstring(text))

    return edit


XPATH = f'<XPath xmlns="{SIGNATURE}">false()</XPath>'
XSLT = '<x:stylesheet xmlns:x="http://www.w3.org/1999/XSL/Transform" version="1.0"><x:template match="/"/></x:stylesheet>'


def second_reference(response: etree._Element) -> None:
    info = find(response, ".//d:SignedInfo")
    info.append(copy.deepcopy(find(info, "d:Reference")))


def no_reference(response: etree._Element) -> None:
    info = find(response, ".//d:SignedInfo")
    info.remove(find(info, "d:Reference"))


def by_secret(response: etree._Element) -> None:
    find(response, ".//d:SignatureMethod").set("Algorithm", "http://www.w3.org/2000/09/xmldsig#hmac-sha1")


def two_signatures(response: etree._Element) -> None:
    signature = find(response, ".//d:Signature")
    parent = signature.getparent()
    assert parent is not None
    forged = copy.deepcopy(signature)
    find(forged, "d:SignatureValue").text = "AAAA"
    parent.insert(1, forged)
    find(response, ".//a:NameID").text = "root"


REBUILT = {
    "around": around,
    "beside": beside,
    "inside": inside,
    "same number": same_number,
    "empty reference": empty_reference,
    "xpath": transform("http://www.w3.org/TR/1999/REC-xpath-19991116", XPATH),
    "xslt": transform("http://www.w3.org/TR/1999/REC-xslt-19991116", XSLT),
    "base64": transform("http://www.w3.org/2000/09/xmldsig#base64"),
    "two references": second_reference,
    "no reference": no_reference,
    "by a secret": by_secret,
    "two signatures": two_signatures,
}


# the same for assertions stands beside
@pytest.mark.parametrize(("signs", "edit"), list_ways(REBUILT, of_a_response=[around, beside, inside, same_number]))
def test_saml_response_that_was_rebuilt_around_a_signature_names_no_other_user(
    harness: SignInHarness, provider: SamlServer, signs: str, edit: Edit
) -> None:
    provider.signs = signs
    status, found = sign_in(harness, provider, edit)
    assert (status, found) == (403, [])


def class_period(text: bytes) -> str:
    return base64.b64encode(text).decode()


HEAD = f'<p:Response xmlns:p="{PROTOCOL}" xmlns:a="{ASSERTION}" xmlns:d="{SIGNATURE}" ID="_x"'.encode()
BOMBS = {
    "attribute of entities": b"<!DOCTYPE x ["
    + b"".join(b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 20 if level else b"x" * 20) for level in range(9))
    + b"]>"
    + HEAD
    + b' a="&e8;"/>',
    "deep": HEAD + b">" + b"<a:A>" * 100_000,
    "attributes": HEAD + b" ".join(b' a%d="x"' % place for place in range(60_000)) + b"/>",
    "prefixes": HEAD + b"".join(b' xmlns:n%d="urn:%d"' % (place, place) for place in range(40_000)) + b"/>",
    "children": HEAD + b">" + b"<a:A/>" * 150_000 + b"</p:Response>",
    "signatures": HEAD + b">" + b"<d:Signature/>" * 90_000 + b"</p:Response>",
    "cut short": HEAD + b"><a:Assertion>",
    "another encoding": '<?xml version="1.0" encoding="UTF-16"?><x/>'.encode("utf-16"),
    "unknown encoding": b'<?xml version="1.0" encoding="UTF-7"?><x/>',
    "stylesheet": b'<?xml-stylesheet type="text/xsl" href="http://127.0.0.1:1/"?>' + HEAD + b"/>",
}


@pytest.mark.parametrize("text", list(BOMBS.values()), ids=list(BOMBS))
def test_saml_form_that_is_made_to_take_long_is_refused_soon(harness: SignInHarness, text: bytes) -> None:
    begun = time.process_time()
    assert arrive(harness.browser(), class_period(text)) in (400, 403, 413)
    assert time.process_time() - begun < 10


def test_saml_certificate_that_is_over_counts_as_long_as_the_metadata_have_it(provider: SamlServer, tmp_path: Path) -> None:
    provider.certificate = certify(provider.key, since=datetime(1951, 1, 1), lasting=timedelta(days=30))
    harness = open_with(tmp_path, provider)
    assert sign_in(harness, provider)[0] == 303


@pytest.mark.parametrize("place", [0, 1])
def test_saml_metadata_may_hold_several_certificates(provider: SamlServer, tmp_path: Path, place: int) -> None:
    keys = [make_private_key() for _ in range(2)]
    certificates = [certify(key) for key in keys]
    provider.more_certificates = certificates
    harness = open_with(tmp_path, provider)
    assert sign_in(harness, provider)[0] == 303
    provider.key, provider.certificate = keys[place], certificates[place]
    assert sign_in(harness, provider)[0] == 303


def test_saml_takes_signatures_by_elliptic_curves_and_by_pss(provider: SamlServer, tmp_path: Path) -> None:
    for name in ("pss", "ec"):
        (tmp_path / name).mkdir()
    provider.algorithm = SignatureMethod.SHA256_RSA_MGF1
    harness = open_with(tmp_path / "pss", provider)
    assert sign_in(harness, provider)[0] == 303
    key = ec.generate_private_key(ec.SECP256R1())
    curved = SamlServer(now=provider.now, key=key, algorithm=SignatureMethod.ECDSA_SHA256)
    assert sign_in(open_with(tmp_path / "ec", curved), curved)[0] == 303


def test_saml_group_of_any_script_is_read_and_one_that_is_no_name_signs_no_user_in(provider: SamlServer, tmp_path: Path) -> None:
    harness = open_with(tmp_path, provider)
    provider.groups = ("営業\u3000部", "no\u00a0break", "a, b", r"x\y\z")
    assert sign_in(harness, provider)[0] == 303
    groups = [(group.domain, group.name) for group in harness.seen[-1].identity.groups]
    assert groups == [("", "営業\u3000部"), ("", "no\u00a0break"), ("", "a, b"), ("x", r"y\z")]
    provider.groups = ("staff", "x" * 1_001)
    assert sign_in(harness, provider)[0] == 403


def test_saml_assertion_lasts_no_longer_than_it_must_be_remembered(harness: SignInHarness, provider: SamlServer) -> None:
    edit_before_signing(provider, set_times("2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"))
    browser = harness.browser()
    response = provider.respond(redirect_to_provider(browser))
    saved = dict(browser.cookies)
    assert arrive(browser, response) == 303
    for later in (timedelta(), timedelta(hours=2), timedelta(days=400)):
        harness.clock.now += later
        browser.cookies = dict(saved)
        assert arrive(browser, response) == 403


def steal(harness: SignInHarness, provider: SamlServer, place: str) -> tuple[list[tuple[str, str, str]], Browser]:
    """Has another server of the provider pass on an assertion that a victim's browser brought to it; returns who the thief is then.

    The thief begins here, asks the provider in the same words under its own name, and shows the answer here as if this were that server.
    """
    thief = harness.browser()
    begun = thief.get("/signin/saml/corp")
    number = provider.read_request(begun.headers["location"]).get("ID", "") if begun.status == 302 else "_x"
    back = f"http://{place}/signin/saml/corp/acs"
    response = provider.sign(provider.build(number, back, f"http://{place}/signin/saml/corp/metadata"))
    response_text = base64.b64encode(etree.tostring(response)).decode()
    thief.headers = {"host": place}
    arrive(thief, response_text)
    thief.headers = {}
    return users(harness, thief), thief


def test_saml_assertion_for_another_server_is_not_taken_under_its_name(provider: SamlServer, tmp_path: Path) -> None:
    for public_url in ("http://search.example.com", ""):
        folder = tmp_path / f"{len(public_url)}"
        folder.mkdir()
        harness = open_with(folder, provider, public_url=public_url)
        assert steal(harness, provider, "evil.example")[0] == []
        assert harness.events()[-1][0] == "signin.failed"


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"])
def test_saml_needs_no_public_url_on_the_machine_itself(provider: SamlServer, tmp_path: Path, host: str) -> None:
    harness = open_with(tmp_path, provider, public_url="")
    browser = harness.browser(headers={"host": host})
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 303
    elsewhere = harness.browser()
    for step in ("", "/metadata"):
        assert elsewhere.get(f"/signin/saml/corp{step}").status == 403
