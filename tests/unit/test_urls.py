import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.urls.validation import MAX_URL_CHARACTERS, check_url, host_of, is_fully_qualified
from feedmill.model.feed import LogLevel


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://www.Example.com/a", "www.example.com"),
        ("HTTPS://u:p@example.com:8443?x", "example.com"),
        ("googleconnector://ds.localhost/doc?docid=1", "ds.localhost"),
        ("smb://server/share", "server"),
        ("http://[::1]:80/", "[::1]"),
        ("http://10.0.0.1", "10.0.0.1"),
        ("\\\\server.example.com\\share", "server.example.com"),
        ("unc:\\\\server\\share", "server"),
        ("http://a.example.com#x", "a.example.com"),
        ("http://a@b@c.example.com/", "c.example.com"),
    ],
)
def test_url_with_authority_has_a_host(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize("url", ["", "a", "/a", "//host/a", "http:/a", "mailto:a@b", "1http://a.b/", ":", "://a.b"])
def test_url_without_authority_has_no_host(url: str) -> None:
    assert host_of(url) is None


@pytest.mark.parametrize("url", ["http://", "http:///a", "http://:80/", "http://u@/", "http://a.b:port/", "file:///a"])
def test_url_with_empty_or_senseless_host_has_none(url: str) -> None:
    assert host_of(url) is None


@pytest.mark.parametrize(
    ("host", "answer"), [("a.b", True), ("a.b.", True), ("a.", False), ("a", False), ("10.0.0.1", True), ("[::1]", True)]
)
def test_host_is_fully_qualified_with_a_dot_or_an_address(host: str, answer: bool) -> None:
    assert is_fully_qualified(host) is answer


def test_check_of_url_returns_errors_and_warnings() -> None:
    levels = {
        "http://a.example.com/": (None, None),
        "http://intranet/": (LogLevel.WARNING, LogLevel.ERROR),
        "": (LogLevel.ERROR, LogLevel.ERROR),
        "nothing": (LogLevel.ERROR, LogLevel.ERROR),
        "http://a.example.com/".ljust(MAX_URL_CHARACTERS, "x"): (None, None),
        "http://a.example.com/".ljust(MAX_URL_CHARACTERS + 1, "x"): (LogLevel.ERROR, LogLevel.ERROR),
    }
    for url, expected in levels.items():
        notes = [check_url(url, require_fqdn=require_fqdn) for require_fqdn in (False, True)]
        assert tuple(note and note.level for note in notes) == expected


@given(url=st.text(max_size=60), require_fqdn=st.booleans())
def test_check_of_any_text_returns_a_note_or_none(url: str, require_fqdn: bool) -> None:
    note = check_url(url, require_fqdn=require_fqdn)
    if note is None:
        assert host_of(url)


@given(
    scheme=st.from_regex(r"[a-z][a-z0-9+.-]{0,8}", fullmatch=True),
    host=st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True),
    rest=st.from_regex(r"(:[0-9]{1,5})?(/[ -~]{0,20})?", fullmatch=True),
)
def test_url_of_the_general_form_has_its_host(scheme: str, host: str, rest: str) -> None:
    assert host_of(f"{scheme}://{host}{rest}") == host
