"""What a provider does that encrypts for a server: XML Encryption, with whatever algorithms a test wants."""

import base64
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP, PKCS1v15
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from lxml import etree

XENC, XENC11, DSIG = "http://www.w3.org/2001/04/xmlenc#", "http://www.w3.org/2009/xmlenc11#", "http://www.w3.org/2000/09/xmldsig#"
GCM = f"{XENC11}aes256-gcm"
GCM_128 = f"{XENC11}aes128-gcm"
CBC_256 = f"{XENC}aes256-cbc"
CBC_128 = f"{XENC}aes128-cbc"
OAEP_SHA1 = f"{XENC}rsa-oaep-mgf1p"
OAEP_SHA256 = f"{XENC11}rsa-oaep"
RSA_15 = f"{XENC}rsa-1_5"


def encrypt_element(text: bytes, certificate: str, *, by: str = GCM, key_by: str = OAEP_SHA1, aside: bool = False) -> str:
    """Returns the content of an ``EncryptedAssertion``; ``aside`` puts the key beside the data rather than into it."""
    public = x509.load_pem_x509_certificate(certificate.encode()).public_key()
    assert isinstance(public, rsa.RSAPublicKey)
    secret = os.urandom(16 if "128" in by else 32)
    key = (
        f'<e:EncryptedKey xmlns:e="{XENC}"><e:EncryptionMethod Algorithm="{key_by}">{_parameters(key_by)}</e:EncryptionMethod>'
        f"{_value(_wrap(public, secret, key_by))}</e:EncryptedKey>"
    )
    info = "" if aside else f'<d:KeyInfo xmlns:d="{DSIG}">{key}</d:KeyInfo>'
    data = (
        f'<e:EncryptedData xmlns:e="{XENC}" Type="{XENC}Element"><e:EncryptionMethod Algorithm="{by}"/>'
        f"{info}{_value(_close(secret, text, by))}</e:EncryptedData>"
    )
    return data + (key if aside else "")


def encrypt_assertion(assertion: etree._Element, certificate: str, **given: object) -> etree._Element:
    """Returns an assertion as an ``EncryptedAssertion``."""
    inner = encrypt_element(etree.tostring(assertion, with_tail=False), certificate, **given)  # type: ignore[arg-type]
    return etree.fromstring(f'<a:EncryptedAssertion xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion">{inner}</a:EncryptedAssertion>')


def _wrap(public: rsa.RSAPublicKey, secret: bytes, by: str) -> bytes:
    if by == RSA_15:
        return public.encrypt(secret, PKCS1v15())
    hashed = hashes.SHA256() if by == OAEP_SHA256 else hashes.SHA1()
    return public.encrypt(secret, OAEP(mgf=MGF1(hashed), algorithm=hashed, label=None))


def _parameters(by: str) -> str:
    if by != OAEP_SHA256:
        return ""
    return f'<d:DigestMethod xmlns:d="{DSIG}" Algorithm="{XENC}sha256"/><f:MGF xmlns:f="{XENC11}" Algorithm="{XENC11}mgf1sha256"/>'


def _close(secret: bytes, text: bytes, by: str) -> bytes:
    if "gcm" in by:
        start = os.urandom(12)
        return start + AESGCM(secret).encrypt(start, text, None)
    start, missing = os.urandom(16), 16 - len(text) % 16
    closer = Cipher(AES(secret), CBC(start)).encryptor()
    return start + closer.update(text + bytes(missing - 1) + bytes([missing])) + closer.finalize()


def _value(data: bytes) -> str:
    return f"<e:CipherData><e:CipherValue>{base64.b64encode(data).decode()}</e:CipherValue></e:CipherData>"
