"""The site of a URL."""

import pytest

from feedmill.core.crawling.sites import MAX_SITE_CHARACTERS, site_of


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://example.com/a?b#c", "http://example.com"),
        ("HTTP://Example.COM:80", "http://example.com"),
        ("https://example.com:8443/", "https://example.com:8443"),
        ("https://example.com:80/", "https://example.com:80"),
        ("http://example.com:/", "http://example.com"),
        ("http://user:pass@example.com/", "http://example.com"),
        ("http://[2001:DB8::1]:81/x", "http://[2001:db8::1]:81"),
        ("http://bücher.example/", "http://bücher.example"),
        ("smb://files.example/share/x", "smb://files.example"),
        ("file:///srv/a", "file://"),
        ("mailto:a@b.c", "mailto://"),
        ("nonsense", ""),
        ("", ""),
    ],
)
def test_site_of_a_url_is_scheme_host_and_port(url: str, site: str) -> None:
    assert site_of(url) == site


def test_site_of_an_endless_host_is_cut() -> None:
    assert len(site_of(f"http://{'x' * 10_000}/")) == MAX_SITE_CHARACTERS
