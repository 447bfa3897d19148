"""A SAML identity provider made of the library that the server checks with; a test may spoil what it says."""

import base64
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from urllib.parse import parse_qsl, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from lxml import etree
from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureConstructionMethod, SignatureMethod
from signxml.signer import XMLSigner

from feedmill.adapters.identity.saml.keys import ServerKey
from feedmill.adapters.identity.saml.metadata import ASSERTION, METADATA, PROTOCOL, REDIRECT, SIGNATURE
from feedmill.adapters.identity.saml.signatures import write_query
from tests.contract.samlencrypting import encrypt_assertion

ENTITY = "https://idp.example.test/metadata"
SIGN_ON = "https://idp.example.test/sso"
LOGOUT = "https://idp.example.test/slo"


class _OldSigner(XMLSigner):
    """Signs with an algorithm that a server should no longer accept."""

    def check_deprecated_methods(self) -> None: ...


@cache
def provider_key() -> rsa.RSAPrivateKey:
    """Returns the key of the provider in all tests of this process: a new one takes 0.2 s of CPU time."""
    return make_private_key()


def make_private_key() -> rsa.RSAPrivateKey:
    """Returns a new key."""
    return rsa.generate_private_key(65_537, 2_048)


@dataclass(slots=True)
class SamlServer:
    """The provider's keys and what it says."""

    now: Callable[[], datetime]
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey = field(default_factory=provider_key)
    certificate: str = ""
    signs: str = "assertion"
    algorithm: SignatureMethod = SignatureMethod.RSA_SHA256
    digest: DigestAlgorithm = DigestAlgorithm.SHA256
    name: str = "ann@corp.example.com"
    groups: tuple[str, ...] = ("staff", r"CORP\eng")
    issuer: str = ENTITY
    audience: str = ""
    recipient: str = ""
    answers: str = ""
    lasting: timedelta = timedelta(minutes=5)
    status: str = "urn:oasis:names:tc:SAML:2.0:status:Success"
    number: int = 0
    encrypts: dict[str, object] | None = None
    server_certificate: str = ""
    session_lasting: timedelta | None = None
    more_certificates: list[str] = field(default_factory=list)
    build: Callable[[str, str, str], etree._Element] = field(init=False)
    logout: str = f'<SingleLogoutService Binding="{REDIRECT}" Location="{LOGOUT}" ResponseLocation="{LOGOUT}/done"/>'

    def __post_init__(self) -> None:
        self.certificate = self.certificate or certify(self.key)
        self.build = self._build

    def metadata(self) -> bytes:
        certificates = ["".join(each.split("-----")[2].split()) for each in (self.certificate, *self.more_certificates)]
        keys = "".join(
            f'<KeyDescriptor use="signing"><KeyInfo xmlns="{SIGNATURE}"><X509Data><X509Certificate>{each}'
            "</X509Certificate></X509Data></KeyInfo></KeyDescriptor>"
            for each in certificates
        )
        return (
            f'<EntityDescriptor xmlns="{METADATA}" entityID="{ENTITY}"><IDPSSODescriptor protocolSupportEnumeration="{PROTOCOL}">'
            f'<KeyDescriptor use="encryption"><KeyInfo xmlns="{SIGNATURE}"/></KeyDescriptor>'
            f'{keys}{self.logout}<SingleSignOnService Binding="{REDIRECT}" Location="{SIGN_ON}?tenant=1"/>'
            "</IDPSSODescriptor></EntityDescriptor>"
        ).encode()

    def read_request(self, address: str) -> etree._Element:
        """Reads what a browser was sent with."""
        assert address.startswith(SIGN_ON)
        packed = base64.b64decode(dict(parse_qsl(urlsplit(address).query))["SAMLRequest"])
        return etree.fromstring(zlib.decompress(packed, -15))

    def respond(self, address: str, edit: Callable[[etree._Element], None] | None = None) -> str:
        """Returns the response to a request as it is posted; ``edit`` changes it once it is signed."""
        request = self.read_request(address)
        back = request.get("AssertionConsumerServiceURL", "")
        self.number += 1
        response = self.build(request.get("ID", ""), back, back.removesuffix("/acs") + "/metadata")
        assertion = response[-1]
        response.remove(assertion)
        if self.signs == "assertion":
            assertion = self.sign(assertion)
        if self.encrypts is not None:
            assertion = encrypt_assertion(assertion, self.server_certificate, **self.encrypts)
        response.append(assertion)
        if self.signs == "response":
            response = self.sign(response)
        if edit is not None:
            edit(response)
        return base64.b64encode(etree.tostring(response)).decode()

    def _build(self, request_id: str, back: str, audience: str) -> etree._Element:
        now, until = self.now(), self.now() + self.lasting
        values = "".join(f"<saml:AttributeValue>{group}</saml:AttributeValue>" for group in self.groups)
        text = f"""<samlp:Response xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}" ID="_response{self.number}" Version="2.0"
 IssueInstant="{write(now)}" Destination="{back}" InResponseTo="{request_id}"><saml:Issuer>{self.issuer}</saml:Issuer>
<samlp:Status><samlp:StatusCode Value="{self.status}"/></samlp:Status>
<saml:Assertion ID="_assertion{self.number}" Version="2.0" IssueInstant="{write(now)}"><saml:Issuer>{self.issuer}</saml:Issuer>
<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">{self.name}</saml:NameID>
<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData
 NotOnOrAfter="{write(until)}" Recipient="{self.recipient or back}" InResponseTo="{self.answers or request_id}"/></saml:SubjectConfirmation>
</saml:Subject><saml:Conditions NotBefore="{write(now)}" NotOnOrAfter="{write(until)}"><saml:AudienceRestriction>
<saml:Audience>{self.audience or audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>
<saml:AuthnStatement AuthnInstant="{write(now)}" SessionIndex="session{self.number}"{self._write_end()}>
<saml:AuthnContext><saml:AuthnContextClassRef
>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>
<saml:AttributeStatement><saml:Attribute Name="urn:oid:groups" FriendlyName="groups">{values}</saml:Attribute>
<saml:Attribute Name="login"><saml:AttributeValue>a.smith</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>
</saml:Assertion></samlp:Response>"""
        return etree.fromstring(text)

    def _write_end(self) -> str:
        return f' SessionNotOnOrAfter="{write(self.now() + self.session_lasting)}"' if self.session_lasting else ""

    def ask_logout(self, server_url: str, name: str, *indexes: str, **given: str) -> etree._Element:
        """Returns a request to end sessions, not signed yet."""
        self.number += 1
        values = {"ID": f"_logout{self.number}", "IssueInstant": write(self.now()), "Destination": f"{server_url}/slo"} | given
        attributes = " ".join(f'{key}="{value}"' for key, value in values.items())
        listed = "".join(f"<samlp:SessionIndex>{index}</samlp:SessionIndex>" for index in indexes)
        return etree.fromstring(
            f'<samlp:LogoutRequest xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}" Version="2.0" {attributes}>'
            f"<saml:Issuer>{self.issuer}</saml:Issuer><saml:NameID>{name}</saml:NameID>{listed}</samlp:LogoutRequest>"
        )

    def answer_logout(self, server_url: str, request: etree._Element, status: str = "") -> etree._Element:
        """Returns the answer to a request of the server, not signed yet."""
        return etree.fromstring(
            f'<samlp:LogoutResponse xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}" Version="2.0" ID="_answer"'
            f' IssueInstant="{write(self.now())}" Destination="{server_url}/slo" InResponseTo="{request.get("ID")}">'
            f"<saml:Issuer>{self.issuer}</saml:Issuer><samlp:Status><samlp:StatusCode"
            f' Value="{status or self.status}"/></samlp:Status></samlp:LogoutResponse>'
        )

    def query(self, name: str, message: etree._Element, relay_state: str = "") -> str:
        """Returns a message as the query of an address, signed."""
        assert isinstance(self.key, rsa.RSAPrivateKey)
        key = ServerKey(private=self.key, certificate=self.certificate)
        return write_query(name, message, key, relay_state)

    def form(self, name: str, message: etree._Element) -> dict[str, str]:
        """Returns a message as the fields of a form, signed."""
        return {name: base64.b64encode(etree.tostring(self.sign(message))).decode()}

    def sign(self, element: etree._Element) -> etree._Element:
        old = self.algorithm is SignatureMethod.RSA_SHA1 or self.digest is DigestAlgorithm.SHA1
        signer = (_OldSigner if old else XMLSigner)(
            method=SignatureConstructionMethod.enveloped,
            signature_algorithm=self.algorithm,
            digest_algorithm=self.digest,
            c14n_algorithm=CanonicalizationMethod.EXCLUSIVE_XML_CANONICALIZATION_1_0,
        )
        return signer.sign(element, key=self.key, cert=self.certificate, reference_uri=element.get("ID"), id_attribute="ID")


def write(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def certify(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey,
    *,
    name: str = "idp",
    since: datetime | None = None,
    lasting: timedelta = timedelta(days=36_500),
) -> str:
    """Returns a self-signed certificate of a key."""
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = since or datetime(2020, 1, 1)
    built = x509.CertificateBuilder().subject_name(named).issuer_name(named).public_key(key.public_key()).serial_number(1)
    signed = built.not_valid_before(begin).not_valid_after(begin + lasting).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()
