from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from feedmill.core.urls.targets import parse_target
from feedmill.model.errors import BadRequest


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("http://Wiki.Example.com/a%20b?x=[1]#top", "wiki.example.com", "/a%20b?x=%5B1%5D"),
        ("HTTPS://wiki:443?q", "wiki", "/?q"),
        ("https://[::1]:8443/ü", "[::1]:8443", "/%C3%BC"),
        ("http://münchen.example:8080", "xn--mnchen-3ya.example:8080", "/"),
        ("http://h.example/a\r\nX: y", "h.example", "/a%0D%0AX:%20y"),
    ],
)
def test_target_says_where_a_request_goes(url: str, authority: str, path: str) -> None:
    target = parse_target(url)
    assert (target.authority, target.path) == (authority, path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://h/",
        "http://",
        "http:///a",
        "http://u@h/",
        "http://h\\@x/",
        "http://h x/",
        "http://h\t/",
        "http://h:0/",
        "http://h:99999/",
        "http://[::g]/",
        "http://[1]x/",
        "http://a..b/",
        "http://%68/",
        "http://-h/",
        "//h/",
        " http://h/",
        "http://h\x00/",
        "javascript:1",
    ],
    ids=ascii,
)
def test_url_that_two_readers_could_read_differently_goes_nowhere(url: str) -> None:
    with pytest.raises(BadRequest):
        parse_target(url)


@given(st.text(max_size=40).map(lambda text: f"http://{text}") | st.text(max_size=40))
@example("http://ß.example/\udfff")
def test_target_is_read_the_same_from_what_it_is_written_as(url: str) -> None:
    with suppress(BadRequest):
        target = parse_target(url)
        assert target.url.isascii()
        assert target.url.isprintable()
        assert " " not in target.url
        assert parse_target(target.url) == target
