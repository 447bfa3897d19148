import asyncio
import json
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from feedmill.http.common.origin import OriginCheck


def _status(method: str, headers: dict[str, str], allowed: tuple[str, ...] = ()) -> int:
    return int(_answer(method, headers, allowed)[0]["status"])


def _answer(method: str, headers: dict[str, str], allowed: tuple[str, ...] = (), path: str = "/") -> list[Any]:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("a refused body must not be read")

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "scheme": "http", "path": path, "headers": raw}
    asyncio.run(OriginCheck(PlainTextResponse("ok"), allowed)(scope, receive, send))
    return sent


@pytest.mark.parametrize(
    ("method", "origin", "status"),
    [
        ("POST", "http://feeds.example.com:19900", 200),
        ("POST", "HTTP://Feeds.Example.Com:19900", 200),
        ("POST", "http://feeds.example.com", 403),
        ("POST", "https://feeds.example.com:19900", 200),
        ("POST", "http://evil.example.org", 403),
        ("POST", "null", 403),
        ("POST", "", 403),
        ("POST", "http://[feeds.example.com:19900", 403),
        ("POST", "http://feeds.example.com:19900/path", 403),
        ("POST", "file://", 403),
        ("DELETE", "http://evil.example.org", 403),
        ("OPTIONS", "http://evil.example.org", 403),
        ("GET", "http://evil.example.org", 200),
        ("HEAD", "null", 200),
    ],
)
def test_origin_check_request_from_a_page_only_own_site_may_change(method: str, origin: str, status: int) -> None:
    assert _status(method, {"host": "feeds.example.com:19900", "origin": origin}) == status


def test_origin_check_no_origin_lets_programs_through() -> None:
    assert _status("POST", {"host": "feeds.example.com:19900"}) == 200


def test_origin_check_default_port_equals_no_port() -> None:
    assert _status("POST", {"host": "feeds.example.com:80", "origin": "http://feeds.example.com"}) == 200
    assert _status("POST", {"host": "feeds.example.com", "origin": "https://feeds.example.com:443"}) == 200
    assert _status("POST", {"host": "feeds.example.com:80", "origin": "https://feeds.example.com"}) == 403


def test_origin_check_allowed_origin_passes_but_null_never_by_name() -> None:
    assert _status("POST", {"host": "a", "origin": "https://tools.example.com"}, ("https://tools.example.com/",)) == 200
    assert _status("POST", {"host": "a", "origin": "null"}, ("null",)) == 403
    assert _status("POST", {"host": "a", "origin": "null"}, ("*",)) == 200


def test_origin_check_refuses_programs_resources_as_json_and_pages_as_text() -> None:
    foreign = {"host": "a", "origin": "http://evil.example.org"}
    api, page = (_answer("POST", foreign, path=path)[1]["body"] for path in ("/api/v1/settings", "/signin"))
    assert json.loads(api)["code"] == "forbidden"
    assert page == b"requests from another site's page are refused\n"
