"""When browsers must come back over TLS alone."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from feedmill.http.common.stricttransport import StrictTransport
from tests.asgi import ask_app


async def show_address(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(request.base_url))


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
    app = Starlette(routes=[Route("/", show_address)], middleware=[Middleware(StrictTransport, public_url=public_url)])
    answer = ask_app(app, "GET", "/", scheme=scheme, headers={"host": host})
    assert answer.headers.get("strict-transport-security") == ("max-age=2592000" if has_header else None)
    # addresses in responses are those that the browser uses, also behind a proxy that ends TLS
    assert answer.text == f"{'https' if has_header else 'http'}://{host}/"
