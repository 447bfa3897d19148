"""Authorization decision queries over SOAP: the bytes that are sent, and what is read from answers, sound and hostile."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from feedmill.model.decision import Verdict
from feedmill.model.errors import UpstreamFailure
from feedmill.model.identity import Subject
from feedmill.model.scope import Scope
from feedmill.wire.samlauthorization.adapt import match_statements
from feedmill.wire.samlauthorization.parse import parse_statements
from feedmill.wire.samlauthorization.render import is_writable, render_list, render_queries, resource_of
from feedmill.wire.samlauthorization.schema import Envelope, Query, Statement
from feedmill.wire.xmlstream.small import MAX_DEPTH

NOW = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
ANN = Subject(scope=Scope.USER, name="ann", domain="corp.example.com")
ENVELOPE = Envelope(issuer="urn:search", issued_at=NOW, user=ANN)
PERMIT, DENY, UNDECIDED = Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE
DOC, OTHER = "https://wiki.example.com/doc/1", "https://wiki.example.com/doc/2"

SENT = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<soap11:Envelope xmlns:soap11="http://schemas.xmlsoap.org/soap/envelope/"><soap11:Body>'
    '<samlp:AuthzDecisionQuery xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
    ' ID="_a" IssueInstant="2026-03-01T12:30:15.250Z" Version="2.0" Resource="https://wiki.example.com/doc/1?a=1&amp;b=2">'
    "<saml:Issuer>urn:search</saml:Issuer>"
    '<samlp:Extensions><goog:SecmgrCredential xmlns:goog="http://www.google.com/" name="ann" namespace="Default"'
    ' domain="corp.example.com" password="p&quot;w"><goog:Group name="staff" namespace="Default"/></goog:SecmgrCredential>'
    "</samlp:Extensions>"
    "<saml:Subject><saml:NameID>ann</saml:NameID></saml:Subject>"
    '<saml:Action Namespace="urn:oasis:names:tc:SAML:1.0:action:ghpp">GET</saml:Action></samlp:AuthzDecisionQuery>'
    '<samlp:AuthzDecisionQuery xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
    ' ID="_b" IssueInstant="2026-03-01T12:30:15.250Z" Version="2.0" Resource="https://wiki.example.com/doc/2">'
    "<saml:Issuer>urn:search</saml:Issuer>"
    "<saml:Subject><saml:NameID>ann</saml:NameID></saml:Subject>"
    '<saml:Action Namespace="urn:oasis:names:tc:SAML:1.0:action:ghpp">GET</saml:Action></samlp:AuthzDecisionQuery>'
    "</soap11:Body></soap11:Envelope>"
)


def answer(
    to: str, resource: str, decision: str, *, name: str = "ann", conditions: str = "", action: str = "GET", status: str = "Success"
) -> str:
    """Returns one ``samlp:Response`` as an adaptor writes it."""
    return (
        f'<saml2p:Response xmlns:saml2p="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r{to}" InResponseTo="{to}" Version="2.0">'
        f'<saml2p:Status><saml2p:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:{status}"/></saml2p:Status>'
        f'<saml2:Assertion xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion" Version="2.0"><saml2:Issuer>urn:pdp</saml2:Issuer>'
        f"<saml2:Subject><saml2:NameID>{name}</saml2:NameID></saml2:Subject>{conditions}"
        f'<saml2:AuthzDecisionStatement Decision="{decision}" Resource="{resource}">'
        f'<saml2:Action Namespace="urn:oasis:names:tc:SAML:1.0:action:ghpp">{action}</saml2:Action>'
        "</saml2:AuthzDecisionStatement></saml2:Assertion></saml2p:Response>"
    )


def audiences(*restrictions: Sequence[str]) -> str:
    """Returns conditions that name the audience of an assertion."""
    written = ("".join(f"<saml2:Audience>{name}</saml2:Audience>" for name in names) for names in restrictions)
    inner = "".join(f"<saml2:AudienceRestriction>{names}</saml2:AudienceRestriction>" for names in written)
    return f"<saml2:Conditions>{inner}</saml2:Conditions>"


def soap(*bodies: str, head: str = "") -> bytes:
    inner = "".join(bodies)
    return f'{head}<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>{inner}</S:Body></S:Envelope>'.encode()


def decide(data: bytes, queries: Sequence[Query] = (Query(id="_a", resource=DOC), Query(id="_b", resource=OTHER))) -> dict[str, Verdict]:
    found, _ = match_statements(queries, parse_statements(data), subject="ann", issuer="urn:search", now=NOW)
    return {query.id: verdict for query, verdict in found.items()}


def test_queries_of_one_user_stand_in_one_body() -> None:
    group = Subject(scope=Scope.GROUP, name="staff")
    envelope = Envelope(issuer="urn:search", issued_at=NOW, user=ANN, groups=(group,), password='p"w')
    queries = [Query(id="_a", resource=f"{DOC}?a=1&b=2"), Query(id="_b", resource=OTHER)]
    assert render_queries(envelope, queries).decode() == SENT
    assert 'p"w' not in repr(envelope)


def test_queries_without_the_extension_name_the_domain_in_the_subject() -> None:
    envelope = Envelope(issuer="urn:search", issued_at=NOW, user=ANN, holds_credential=False, password="secret")
    sent = render_queries(envelope, [Query(id="_a", resource=DOC)])
    assert b"<saml:NameID>ann@corp.example.com</saml:NameID>" in sent
    assert b"Extensions" not in sent
    assert b"secret" not in sent


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30), st.text(max_size=30))
def test_queries_are_well_formed_whatever_the_names(name: str, password: str) -> None:
    user = Subject(scope=Scope.USER, name=name)
    if not is_writable(user):
        return
    envelope = Envelope(issuer=name, issued_at=NOW, user=user, password=password)
    root = ElementTree.fromstring(render_queries(envelope, [Query(id="_a", resource=DOC)]))
    found = root.find(".//{urn:oasis:names:tc:SAML:2.0:assertion}NameID")
    assert found is not None
    assert found.text == name
    credential = root.find(".//{http://www.google.com/}SecmgrCredential")
    assert credential is not None
    assert credential.get("name") == name


@pytest.mark.parametrize("name", ["", "a\x00b", "\ud800", "\x1b"], ids=ascii)
def test_user_that_xml_cannot_name_is_not_queried(name: str) -> None:
    assert not is_writable(Subject(scope=Scope.USER, name=name))


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        ("http://h.example:5678/doc/ümlaut/日本.txt", "http://h.example:5678/doc/ümlaut/日本.txt"),
        ("http://h.example/a b|c", "http://h.example/a%20b%7Cc"),
        ("http://h.example/100%", "http://h.example/100%25"),
        ("http://h.example/a%20b?x={1}", "http://h.example/a%20b?x=%7B1%7D"),
        ("http://[::1]:80/a[1]", "http://[::1]:80/a%5B1%5D"),
        ("http://h.example/a\x00\u2028", "http://h.example/a%00%E2%80%A8"),
        ("googleconnector://c.localhost/doc?docid=1", "googleconnector://c.localhost/doc?docid=1"),
    ],
    ids=ascii,
)
def test_resource_is_a_legal_uri(url: str, resource: str) -> None:
    assert resource_of(url) == resource


@given(st.text(max_size=60))
@example("http://[a b]/")
def test_resource_holds_nothing_that_no_uri_may(url: str) -> None:
    resource = resource_of(url)
    assert not re.search(r"[\x00-\x20\"<>\\^`{|}]", resource)
    assert resource_of(resource) == resource


LISTED = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<soap11:Envelope xmlns:soap11="http://schemas.xmlsoap.org/soap/envelope/"><soap11:Body>'
    '<samlp:AuthzDecisionQuery xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
    ' ID="_a" IssueInstant="2026-03-01T12:30:15.250Z" Version="2.0" Resource="">'
    "<saml:Issuer>urn:search</saml:Issuer>"
    '<samlp:Extensions><goog:GsaAuthz xmlns:goog="http://www.google.com/" version="2"/>'
    '<goog:Resource xmlns:goog="http://www.google.com/" uri="https://wiki.example.com/doc/1?a=1&amp;b=2"/>'
    '<goog:Resource xmlns:goog="http://www.google.com/" uri="https://wiki.example.com/doc/2"/>'
    '<goog:SecmgrCredential xmlns:goog="http://www.google.com/" name="ann" namespace="Default" domain="corp.example.com">'
    "</goog:SecmgrCredential></samlp:Extensions>"
    "<saml:Subject><saml:NameID>ann</saml:NameID></saml:Subject>"
    '<saml:Action Namespace="urn:oasis:names:tc:SAML:1.0:action:ghpp">GET</saml:Action></samlp:AuthzDecisionQuery>'
    "</soap11:Body></soap11:Envelope>"
)


def test_one_query_lists_documents_in_the_extension() -> None:
    queries = [Query(id="_a", resource=f"{DOC}?a=1&b=2"), Query(id="_a", resource=OTHER)]
    assert render_list(ENVELOPE, queries).decode() == LISTED


def test_one_answer_decides_about_each_document_that_was_listed() -> None:
    def statement(resource: str, decision: str) -> str:
        return f'<saml2:AuthzDecisionStatement Decision="{decision}" Resource="{resource}"/>'

    extra = statement(OTHER, "Deny") + statement(f"{DOC}/unasked", "Permit") + statement(f"{DOC}/twice", "Permit")
    whole = answer("_a", DOC, "Permit").replace("</saml2:Assertion>", extra + statement(f"{DOC}/twice", "Deny") + "</saml2:Assertion>")
    queries = [Query(id="_a", resource=resource) for resource in (DOC, OTHER, f"{DOC}/twice", f"{DOC}/missing")]
    found, reasons = match_statements(queries, parse_statements(soap(whole)), subject="ann", issuer="urn:search", now=NOW)
    assert [found[query] for query in queries] == [PERMIT, DENY, DENY, UNDECIDED]
    assert reasons == ("an answer is about another document than its question", "1 of 4 questions are not answered")


def test_answers_count_by_id_in_any_order() -> None:
    assert decide(soap(answer("_b", OTHER, "Deny"), answer("_a", DOC, "Permit"))) == {"_a": PERMIT, "_b": DENY}


@pytest.mark.parametrize(
    "data",
    [
        soap(),
        soap(answer("_a", OTHER, "Permit"), answer("_b", DOC, "Permit")),
        soap(answer("_x", DOC, "Permit"), answer("", DOC, "Permit")),
        soap(answer("_a", DOC, "Permit", name="bob")),
        soap(answer("_a", DOC, "Permit", name="ann<saml2:Other/>")),
        soap(answer("_a", DOC, "Permit", status="Responder")),
        soap(answer("_a", DOC, "permit"), answer("_b", OTHER, "")),
        soap(answer("_a", DOC, "Permit", action="POST")),
        soap(answer("_a", DOC, "Permit", conditions='<saml2:Conditions NotOnOrAfter="2026-03-01T12:00:00Z"/>')),
        soap(answer("_a", DOC, "Permit", conditions='<saml2:Conditions NotBefore="2026-03-01T13:00:00Z"/>')),
        soap(answer("_a", DOC, "Permit", conditions='<saml2:Conditions NotOnOrAfter="soon"/>')),
        soap(answer("_a", DOC, "Permit", conditions=audiences(["urn:other"]))),
        soap(answer("_a", DOC, "Permit", conditions=audiences(["urn:search"], ["urn:other"]))),
        soap(answer("_a", DOC, "Permit", conditions=audiences([]))),
        soap(answer("_a", DOC, "Permit"), answer("_a", DOC, "Indeterminate")),
        soap("<Advice>" + answer("_a", DOC, "Permit") + "</Advice>"),
        soap(answer("_a", DOC, "Permit").replace("urn:oasis:names:tc:SAML:2.0:assertion", "urn:other")),
    ],
    ids=[
        *(
            "empty",
            "swapped",
            "unasked",
            "other-user",
            "name-with-element",
            "failed",
            "words",
            "action",
            "expired",
            "early",
            "senseless-time",
        ),
        *("audience", "one-audience-of-two", "no-audience", "contradiction"),
        *("nested", "namespace"),
    ],
)
def test_answer_that_does_not_fit_decides_nothing(data: bytes) -> None:
    assert decide(data) == {"_a": UNDECIDED, "_b": UNDECIDED}


def test_denial_beats_a_permit_of_the_same_question() -> None:
    both = soap(answer("_a", DOC, "Permit"), answer("_a", DOC, "Deny"), answer("_a", DOC, "Permit"))
    assert decide(both)["_a"] is DENY


def test_answer_in_its_time_counts() -> None:
    times = '<saml2:Conditions NotBefore="2026-03-01T13:30:00.123456789+01:00" NotOnOrAfter="2026-03-01T12:31:00"/>'
    statements = parse_statements(soap(answer("_a", DOC, "Permit", conditions=times)))
    high = NOW.replace(minute=31, second=0, microsecond=0)
    low = high - timedelta(minutes=1) + timedelta(microseconds=123456)
    expected = Statement(in_response_to="_a", resource=DOC, verdict=PERMIT, subject="ann", not_before=low, not_after=high)
    assert statements == [expected]
    assert decide(soap(answer("_a", DOC, "Permit", conditions=times)))["_a"] is PERMIT


def test_answer_meant_for_its_requester_counts() -> None:
    meant = audiences(["urn:other", " urn:search\n"], ["urn:search"])
    assert decide(soap(answer("_a", DOC, "Permit", conditions=meant)))["_a"] is PERMIT


def test_reasons_name_what_was_passed_over() -> None:
    statements = parse_statements(soap(answer("_a", OTHER, "Permit"), answer("_x", DOC, "Permit")))
    _, reasons = match_statements([Query(id="_a", resource=DOC)], statements, subject="ann", issuer="urn:search", now=NOW)
    assert reasons == (
        "an answer is about another document than its question",
        "an answer is to no question of the request",
        "1 of 1 questions are not answered",
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (soap(head='<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'), "document type declaration"),
        (soap(head='<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd">'), "document type declaration"),
        (
            soap("<S:Fault><faultcode>S:Server</faultcode><faultstring>no \n room</faultstring></S:Fault>"),
            "'no room'",
        ),
        (soap("<S:Fault/>"), "without a text"),
        (b"", "not XML"),
        (b"<html><body>Sign in</body></html>", "no SOAP envelope"),
        (soap(answer("_a", DOC, "Permit"))[:-20], "not XML"),
        (soap("<a>" * MAX_DEPTH + "</a>" * MAX_DEPTH), "nested"),
        (soap(answer("_a", DOC, "Permit", name="n" * 20_000)), "longer"),
        (b'<?xml version="1.0" encoding="utf-7"?><a/>', "encoding"),
        (b'<?xml version="1.0" encoding="shift_jis"?><a/>', "encoding"),
        (soap(answer("_a", "&e;", "Permit")), "not XML"),
    ],
    ids=["xxe", "dtd", "fault", "bare-fault", "nothing", "html", "cut", "deep", "long-name", "utf-7", "shift-jis", "entity"],
)
def test_answer_that_is_none_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UpstreamFailure, match=re.escape(reason)):
        parse_statements(data)


SOUND = soap(answer("_a", DOC, "Permit"), answer("_b", OTHER, "Deny"))


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: soap(text)))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(UpstreamFailure):
        parse_statements(data)


@given(st.integers(0, len(SOUND) - 1), st.integers(0, 255), st.integers(0, 40))
def test_damaged_answer_never_permits_what_was_denied(place: int, byte: int, cut: int) -> None:
    damaged = SOUND[:place] + bytes([byte]) + SOUND[place + cut :]
    try:
        verdicts = decide(damaged)
    except UpstreamFailure:
        return
    assert verdicts["_b"] is not PERMIT
