"""A SAML identity provider made of the library that the server checks with; a test may spoil what it says."""

import base64
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from lxml import etree
from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureConstructionMethod, SignatureMethod
from signxml.signer import XMLSigner

from feedmill.adapters.identity.samlmetadata import ASSERTION, METADATA, PROTOCOL, REDIRECT, SIGNATURE

ENTITY = "https://idp.example.test/metadata"
SIGN_ON = "https://idp.example.test/sso"


class _OldSigner(XMLSigner):
    """Signs with what nobody should accept any more."""

    def check_deprecated_methods(self) -> None: ...


@dataclass(slots=True)
class SamlServer:
    """The provider's keys and what it says."""

    now: Callable[[], datetime]
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
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

    def __post_init__(self) -> None:
        self.certificate = self.certificate or certify(self.key)

    def metadata(self) -> bytes:
        body = "".join(self.certificate.split("-----")[2].split())
        return (
            f'<EntityDescriptor xmlns="{METADATA}" entityID="{ENTITY}"><IDPSSODescriptor protocolSupportEnumeration="{PROTOCOL}">'
            f'<KeyDescriptor use="encryption"><KeyInfo xmlns="{SIGNATURE}"/></KeyDescriptor>'
            f'<KeyDescriptor use="signing"><KeyInfo xmlns="{SIGNATURE}"><X509Data><X509Certificate>{body}</X509Certificate>'
            f'</X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="{REDIRECT}" Location="{SIGN_ON}?tenant=1"/>'
            "</IDPSSODescriptor></EntityDescriptor>"
        ).encode()

    def read_request(self, address: str) -> etree._Element:
        """Reads what a browser was sent with."""
        assert address.startswith(SIGN_ON)
        packed = base64.b64decode(dict(parse_qsl(urlsplit(address).query))["SAMLRequest"])
        return etree.fromstring(zlib.decompress(packed, -15))

    def respond(self, address: str, edit: Callable[[etree._Element], None] | None = None) -> str:
        """Gives the response to a request as it is posted; ``edit`` changes it once it is signed."""
        request = self.read_request(address)
        back = request.get("AssertionConsumerServiceURL", "")
        self.number += 1
        response = self._build(request.get("ID", ""), back, back.removesuffix("/acs") + "/metadata")
        if self.signs == "assertion":
            assertion = response[-1]
            response.remove(assertion)
            response.append(self._sign(assertion))
        elif self.signs == "response":
            response = self._sign(response)
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
<saml:Subject><saml:NameID>{self.name}</saml:NameID>
<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData
 NotOnOrAfter="{write(until)}" Recipient="{self.recipient or back}" InResponseTo="{self.answers or request_id}"/></saml:SubjectConfirmation>
</saml:Subject><saml:Conditions NotBefore="{write(now)}" NotOnOrAfter="{write(until)}"><saml:AudienceRestriction>
<saml:Audience>{self.audience or audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>
<saml:AuthnStatement AuthnInstant="{write(now)}"><saml:AuthnContext><saml:AuthnContextClassRef
>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>
<saml:AttributeStatement><saml:Attribute Name="urn:oid:groups" FriendlyName="groups">{values}</saml:Attribute>
<saml:Attribute Name="login"><saml:AttributeValue>a.smith</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>
</saml:Assertion></samlp:Response>"""
        return etree.fromstring(text)

    def _sign(self, element: etree._Element) -> etree._Element:
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


def certify(key: rsa.RSAPrivateKey, *, name: str = "idp", since: datetime | None = None) -> str:
    """Gives a certificate of a key that nobody signed but itself."""
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = since or datetime(2020, 1, 1)
    built = x509.CertificateBuilder().subject_name(named).issuer_name(named).public_key(key.public_key()).serial_number(1)
    signed = built.not_valid_before(begin).not_valid_after(begin + timedelta(days=36_500)).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()
