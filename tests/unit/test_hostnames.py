"""Which names a port answers to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.urls.hostnames import HostNames, find_host, normalize_entry
from feedmill.model.errors import BadRequest

NAMES = HostNames.parse(["localhost", "search.example.com", "*.intern.example.com", "münchen.example"])


@pytest.mark.parametrize(
    "authority",
    [
        *("127.0.0.1", "127.0.0.1:8080", "10.1.2.3:1", "[::1]", "[::1]:8080", "[2001:db8::1]", "[::FFFF:127.0.0.1]:80", "[fe80::1%eth0]"),
        *("localhost", "localhost:8080", "LOCALHOST", "localhost.", "localhost:", "Search.Example.COM:443", "search.example.com."),
        *("a.intern.example.com", "a.b.intern.example.com:80", "MÜNCHEN.example", "xn--mnchen-3ya.example", " localhost\t"),
    ],
)
def test_known_name_or_address_is_covered(authority: str) -> None:
    assert NAMES.covers(authority)


@pytest.mark.parametrize(
    "authority",
    [
        *("evil.example", "evil.example:8080", "search.example.com.evil.example", "xsearch.example.com", "intern.example.com"),
        *("xintern.example.com", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "evil.example#localhost"),
        *("user@localhost", "user:secret@127.0.0.1", "localhost:x", "localhost:80:80", "localhost:99999", "localhost:-1", "localhost:+80"),
        *("localhost..", ".", "", ":80", "::1", "[::1", "::1]", "[localhost]", "[127.0.0.1]", "[]", "[::1]x", "local host", "localhost/"),
        *("localhost,evil.example", "http://localhost", "2130706433", "0x7f.1", "127.1", "-localhost", "localhost\\evil", "a" * 300),
        *("\u2488localhost", "ｅvil.example", "\udcff"),
    ],
)
def test_other_name_is_not_covered(authority: str) -> None:
    assert not NAMES.covers(authority)


def test_any_covers_every_name_that_is_well_formed() -> None:
    anyone = HostNames.parse(["*"])
    assert anyone.covers("evil.example:80")
    assert not anyone.covers("user@evil.example")
    assert not anyone.covers("[")


@pytest.mark.parametrize("entry", ["", "a:80", "http://a", "a/b", "*a.example", "a.*.example", "*.*", "*.127.0.0.1", "a b", "user@a", "*."])
def test_entry_that_is_no_name_is_refused(entry: str) -> None:
    with pytest.raises(BadRequest, match="no host name"):
        normalize_entry(entry)


@pytest.mark.parametrize(
    ("entry", "normalized"),
    [
        ("A.Example.", "a.example"),
        ("*.A.example", "*.a.example"),
        ("*", "*"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_entry_is_normalized(entry: str, normalized: str) -> None:
    assert normalize_entry(entry) == normalized


@given(st.text(max_size=60))
def test_any_text_is_read_without_error(text: str) -> None:
    host = find_host(text)
    assert host is None or "@" not in host
