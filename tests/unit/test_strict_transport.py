"""When browsers must come back over TLS alone."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from feedmill.http.common.stricttransport import StrictTransport
from tests.asgi import ask_app


@pytest.mark.parametrize(
    ("scheme", "public_url", "host", "has_header"),
    [
        ("https", "", "search.example.com", True),
        ("http", "", "search.example.com", False),
        ("http", "https://search.example.com", "search.example.com", True),
        ("http", "https://Search.example.com:443", "SEARCH.example.com", True),
        ("http", "https://search.example.com", "search.example.com:8080", False),
        ("http", "https://search.example.com", "127.0.0.1:8080", False),
        ("http", "http://search.example.com", "search.example.com", False),
    ],
)
def test_answers_over_tls_alone_carry_the_header(scheme: str, public_url: str, host: str, has_header: bool) -> None:
    app = Starlette(middleware=[Middleware(StrictTransport, public_url=public_url)])
    answer = ask_app(app, "GET", "/", scheme=scheme, headers={"host": host})
    assert answer.headers.get("strict-transport-security") == ("max-age=2592000" if has_header else None)
