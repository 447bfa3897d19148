"""Requests under unknown names are refused before anything else sees them."""

import asyncio

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from feedmill.core.urls.hostnames import HostNames
from feedmill.http.common.hostcheck import TARGET_EXTENSION, HostCheck
from feedmill.http.pages.rendering import render_refusal
from tests.asgi import Answer

Headers = list[tuple[bytes, bytes]]

FEED_CLIENT_PATHS = frozenset({"/getdtd", "/gsafeed.dtd", "/xmlfeed", "/xmlfeed/", "/xmlgroups", "/xmlgroups/", "/getbacklogcount"})


def ask(
    headers: Headers, path: str = "/", *, method: str = "GET", target: bytes = b"", names: tuple[str, ...] = ("known.example",)
) -> Answer:
    check = HostCheck(
        PlainTextResponse("inside"),
        names=lambda: HostNames.parse(names),
        setting="gate.hosts",
        open_paths=FEED_CLIENT_PATHS,
        make_page=render_refusal,
    )
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": headers, "query_string": b""}
    if target:
        scope["extensions"] = {TARGET_EXTENSION: {"authority": target}}
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(check(scope, receive, send))
    named = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], named, b"".join(message.get("body", b"") for message in sent[1:]))


def host(value: bytes) -> Headers:
    return [(b"host", value)]


@pytest.mark.parametrize("value", [b"known.example", b"KNOWN.example:80", b"127.0.0.1", b"[::1]:9"])
def test_known_host_is_passed_on(value: bytes) -> None:
    assert ask(host(value)).body == b"inside"


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/metrics", "/push", "/nothing", "/api/v1/feeds", "/xmlfeed/x", "/getdtd/"])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_unknown_host_is_refused_with_the_setting_on_every_path(path: str, method: str) -> None:
    answer = ask(host(b"evil.example:19900"), path, method=method)
    assert answer.status == 421
    assert "'evil.example:19900'" in answer.text
    assert "gate.hosts" in answer.text
    assert answer.headers["connection"] == "close"


def test_refusal_under_api_is_json() -> None:
    assert ask(host(b"evil.example"), "/api/v1/feeds").json["code"] == "misdirected"


@pytest.mark.parametrize("headers", [[], [(b"host", b"known.example"), (b"host", b"known.example")], host(b""), host(b"known.example\xff")])
def test_missing_repeated_or_unreadable_host_is_refused(headers: Headers) -> None:
    assert ask(headers).status == 421


def test_forwarded_host_counts_for_nothing() -> None:
    assert ask([*host(b"evil.example"), (b"x-forwarded-host", b"known.example"), (b"forwarded", b"host=known.example")]).status == 421


@pytest.mark.parametrize(
    ("value", "target", "status"),
    [
        (b"known.example", b"evil.example", 421),
        (b"evil.example", b"known.example", 421),
        (b"known.example", b"user@known.example", 421),
        (b"known.example", b"127.0.0.1:80", 200),
    ],
)
def test_host_of_the_target_must_be_known_too(value: bytes, target: bytes, status: int) -> None:
    assert ask(host(value), target=target).status == status


@pytest.mark.parametrize("path", sorted(FEED_CLIENT_PATHS))
@pytest.mark.parametrize("headers", [[], host(b"gsa.example.com"), host(b"["), [*host(b"a.example"), *host(b"b.example")]])
def test_old_feed_client_is_answered_under_any_name(path: str, headers: Headers) -> None:
    assert ask(headers, path, method="POST").body == b"inside"


@pytest.mark.parametrize("origin", [b"http://evil.example", b"null", b""])
def test_browser_is_not_taken_for_a_feed_client(origin: bytes) -> None:
    assert ask([*host(b"evil.example"), (b"origin", origin)], "/xmlfeed", method="POST").status == 421


def test_any_name_is_answered_where_the_setting_says_so() -> None:
    assert ask(host(b"evil.example"), names=("*",)).status == 200
    assert ask([], names=("*",)).status == 200


BROWSER = b"text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"


def test_browser_gets_a_page_in_its_language_that_loads_nothing() -> None:
    answer = ask([*host(b"evil.example"), (b"accept", BROWSER), (b"accept-language", b"de-AT,en;q=0.5")])
    assert (answer.status, answer.headers["content-type"]) == (421, "text/html; charset=utf-8")
    assert '<html lang="de" dir="ltr">' in answer.text
    assert "Dieser Port antwortet nicht unter dem Namen „evil.example“" in answer.text
    assert "gate.hosts" in answer.text
    assert "src=" not in answer.text
    assert "href=" not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_page_for_browsers_escapes_the_name() -> None:
    answer = ask([*host(b"<script>alert(1)</script>"), (b"accept", b"text/html")])
    assert "&lt;script&gt;" in answer.text
    assert "<script" not in answer.text


@pytest.mark.parametrize(
    "accepted", [b"", b"*/*", b"application/json", b"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", b"text/plain, text/htmlx"]
)
def test_programs_get_a_line_of_text(accepted: bytes) -> None:
    answer = ask([*host(b"evil.example"), (b"accept", accepted)])
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert (
        answer.text == "this port does not answer under the name 'evil.example'; use its address, or add the name to the setting gate.hosts"
    )


def test_program_that_asks_the_api_for_a_page_gets_json() -> None:
    assert ask([*host(b"evil.example"), (b"accept", BROWSER)], "/api/v1/feeds").json["code"] == "misdirected"
