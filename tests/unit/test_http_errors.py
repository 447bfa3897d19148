"""Every error of the libraries below the HTTP client becomes UpstreamFailure, with a reason that an operator can act on."""

import errno
import socket
import ssl
import zlib

import h11
import pytest

from feedmill.adapters.http.errors import FOREIGN, TimedOut, translate, translating
from feedmill.model.errors import UpstreamFailure

REASONS: list[tuple[Exception, str]] = [
    (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('10.0.0.1', 443)"), "it cannot be reached: Connection refused"),
    (OSError(errno.ENETUNREACH, "x"), "it cannot be reached: Network is unreachable"),
    (OSError("it has no address"), "it cannot be reached: it has no address"),
    (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "its name is not known"),
    (ssl.SSLError(1, "[SSL] wrong version number"), "TLS fails: it is not spoken there"),
    (h11.RemoteProtocolError("x"), "it does not speak HTTP as it should"),
    (h11.LocalProtocolError("x"), "it does not speak HTTP as it should"),
    (UnicodeError("label too long"), "it has no name that can be looked up"),
    (zlib.error("incorrect header check"), "its answer is compressed in a way that cannot be read"),
    (TimeoutError(), "it does not answer in time"),
]


@pytest.mark.parametrize(("foreign", "reason"), REASONS, ids=[type(foreign).__name__ for foreign, _ in REASONS])
def test_foreign_error_is_translated_with_a_reason(foreign: Exception, reason: str) -> None:
    with pytest.raises(UpstreamFailure) as caught, translating():
        raise foreign
    assert str(caught.value) == reason
    assert caught.value.__cause__ is foreign
    assert isinstance(caught.value, TimedOut) is isinstance(foreign, TimeoutError)


def test_certificate_that_is_not_trusted_is_named_as_the_reason() -> None:
    foreign = ssl.SSLCertVerificationError(1, "x")
    foreign.verify_message = "self-signed certificate"
    assert str(translate(foreign)) == "its certificate is not believed: self-signed certificate"


def test_every_kind_of_foreign_error_has_a_case() -> None:
    assert {kind for kind in FOREIGN if not any(isinstance(foreign, kind) for foreign, _ in REASONS)} == set()


def test_error_of_the_program_is_not_hidden() -> None:
    with pytest.raises(KeyError), translating():
        raise KeyError("x")
