"""Which proxy the client takes for a server."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill_client import BadRequest
from feedmill_client._addresses import read_address
from feedmill_client._proxies import choose_proxy

PROXY = "http://proxy.example.com:3128"


def choose(url: str, given: str | None = None, **environment: str) -> str:
    proxy = choose_proxy(read_address(url), given, environment)
    return "" if proxy is None else proxy.shown


def test_scheme_of_the_server_chooses_the_variable() -> None:
    environment = {"http_proxy": "http://a:1", "https_proxy": "http://b:2", "all_proxy": "http://c:3"}
    assert choose("http://x.example.com", **environment) == "http://a:1"
    assert choose("https://x.example.com", **environment) == "http://b:2"
    assert choose("https://x.example.com", http_proxy="http://a:1", all_proxy="http://c:3") == "http://c:3"
    assert choose("https://x.example.com", http_proxy="http://a:1") == ""
    assert choose("http://x.example.com") == ""


def test_small_letters_win_and_an_empty_value_is_none() -> None:
    assert choose("http://x.example.com", HTTP_PROXY=PROXY) == PROXY
    assert choose("http://x.example.com", http_proxy="http://a:1", HTTP_PROXY=PROXY) == "http://a:1"
    assert choose("http://x.example.com", http_proxy="", HTTP_PROXY=PROXY) == ""
    assert choose("http://x.example.com", http_proxy=PROXY, no_proxy="", NO_PROXY="*") == PROXY
    assert choose("http://x.example.com", http_proxy="proxy:3128") == "proxy:3128"


def test_header_of_a_client_names_no_proxy_in_a_cgi_program() -> None:
    assert choose("http://x.example.com", HTTP_PROXY=PROXY, REQUEST_METHOD="GET") == ""
    assert choose("http://x.example.com", http_proxy=PROXY, REQUEST_METHOD="GET") == PROXY
    assert choose("https://x.example.com", HTTPS_PROXY=PROXY, REQUEST_METHOD="GET") == PROXY


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "http://127.9.9.9", "http://[::1]:8080", "http://localhost", "http://a.localhost."]
)
def test_environment_sends_nothing_for_this_machine_to_a_proxy(url: str) -> None:
    assert choose(url, all_proxy=PROXY) == ""
    assert choose(url, PROXY) == PROXY


@pytest.mark.parametrize(
    ("entries", "url", "is_direct"),
    [
        ("example.com", "http://example.com", True),
        ("example.com", "http://a.b.example.com:8080", True),
        (".example.com", "http://a.example.com", True),
        (".example.com", "http://example.com", True),
        ("*.example.com", "http://a.example.com", True),
        ("EXAMPLE.com.", "http://a.Example.COM", True),
        ("example.com", "http://badexample.com", False),
        ("a.example.com", "http://example.com", False),
        ("*", "http://example.com", True),
        ("x, y example.com", "http://example.com", True),
        ("example.com:8080", "http://a.example.com:8080", True),
        ("example.com:8080", "http://a.example.com", False),
        ("example.com:443", "https://example.com", True),
        ("10.0.0.0/8", "http://10.1.2.3", True),
        ("10.0.0.1/8", "http://10.1.2.3", True),
        ("10.0.0.0/8", "http://11.1.2.3", False),
        ("10.1.2.3", "http://10.1.2.3:19900", True),
        ("10.1.2.3:19900", "http://10.1.2.3:19900", True),
        ("10.1.2.3:19901", "http://10.1.2.3:19900", False),
        ("2001:db8::/32", "http://[2001:db8::1]:8080", True),
        ("2001:db8::1", "http://[2001:db8::1]:8080", True),
        ("[2001:db8::1]:8080", "http://[2001:db8::1]:8080", True),
        ("[2001:db8::1]:8081", "http://[2001:db8::1]:8080", False),
        ("0.1.2.3", "http://10.1.2.3", False),
        ("10.0.0.0/99, .", "http://10.1.2.3", False),
        (".", "http://example.com", False),
        ("", "http://example.com", False),
    ],
)
def test_excluded_servers_are_reached_directly(entries: str, url: str, is_direct: bool) -> None:
    assert (choose(url, all_proxy=PROXY, no_proxy=entries) == "") is is_direct
    assert (choose(url, all_proxy=PROXY, NO_PROXY=entries) == "") is is_direct
    assert choose(url, PROXY, no_proxy=entries) == PROXY


@given(st.text(), st.text())
def test_any_environment_names_a_proxy_or_none_or_is_refused(name: str, excluded: str) -> None:
    with suppress(BadRequest):
        proxy = choose_proxy(read_address("http://x.example.com"), None, {"http_proxy": name, "no_proxy": excluded})
        assert proxy is None or not proxy.is_tls


def test_refusal_names_the_variable_and_no_password() -> None:
    with pytest.raises(BadRequest, match="the environment variable HTTP_PROXY names") as raised:
        choose("http://x.example.com", HTTP_PROXY="socks5://ann:secret@proxy:1080")
    assert "secret" not in str(raised.value)
