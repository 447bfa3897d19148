"""Pages of other sites read what the settings permit, and every response says to caches that it depends on the origin."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.types import ASGIApp

from feedmill.core.urls.hostnames import HostNames
from feedmill.http.common.crossorigin import CrossOriginHeaders
from feedmill.http.common.currentuser import find_current_user
from feedmill.http.common.hostcheck import HostCheck
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.services.signin.throttle import ThrottleLimits
from tests.asgi import Answer, ask_app
from tests.builders.requests import PASSWORD
from tests.contract.searchharness import SearchHarness, open_harness
from tests.contract.signinharness import ADMIN_TOKEN, PROXY, SignInHarness, open_signin_harness

ALLOWED = "https://www.example.com"
OTHER = "https://evil.example.org"
HOST = "search.example.com"
JSON = {"content-type": "application/json"}
PREFLIGHT = {"access-control-request-method": "GET", "access-control-request-headers": "authorization,content-type"}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path_factory.mktemp("origins"))
    made.add([made.make("http://a.com/1", "word " * 300, title="Word")])
    yield made
    made.store.close()


def serve(app: ASGIApp, *origins: str) -> ASGIApp:
    """Returns an application behind the layers of the search port."""
    return CrossOriginHeaders(HostCheck(app, names=lambda: HostNames.parse([HOST]), setting="search.hosts"), allowed=origins)


def port(harness: SearchHarness, *origins: str) -> ASGIApp:
    return serve(search_app(harness.services(), SearchSite(allow_origins=origins)), *origins)


def allows(answer: Answer) -> tuple[str | None, str | None]:
    return answer.headers.get("access-control-allow-origin"), answer.headers.get("access-control-allow-credentials")


@pytest.mark.parametrize("path", ["/api/v1/search", "/api/v1/suggest", "/search", "/suggest", "/opensearch.xml", "/api/v1/nothing"])
def test_named_origin_reads_with_credentials_and_others_nothing(harness: SearchHarness, path: str) -> None:
    app = port(harness, ALLOWED, "http://tools.example.com:8080")
    for origin in (ALLOWED, "http://tools.example.com:8080"):
        answer = ask_app(app, "GET", path, headers={"origin": origin})
        assert allows(answer) == (origin, "true")
        assert answer.headers["access-control-expose-headers"] == "Link, Retry-After, WWW-Authenticate, X-Request-Id"
        assert "Origin" in answer.headers["vary"]
    for origin in (OTHER, "null", "*", "", "http://www.example.com", "https://www.example.com:444", f"{ALLOWED}.evil.org", f"{ALLOWED}/"):
        answer = ask_app(app, "GET", path, headers={"origin": origin})
        assert not [name for name in answer.headers if name.startswith("access-control")], origin
        assert "Origin" in answer.headers["vary"]
    assert "Origin" in ask_app(app, "GET", path).headers["vary"]


def test_any_origin_reads_without_credentials(harness: SearchHarness) -> None:
    app = port(harness, "*", ALLOWED)
    for origin in (ALLOWED, OTHER, "null"):
        answer = ask_app(app, "GET", "/api/v1/search", headers={"origin": origin})
        assert allows(answer) == ("*", None)
        assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/api/v1/search", "/search", "/api/v1/nothing"])
def test_preflight_permits_two_methods_and_two_headers(harness: SearchHarness, method: str, path: str) -> None:
    asked = {**PREFLIGHT, "access-control-request-method": method}
    for setting, origin, credentials in ((ALLOWED, ALLOWED, "true"), ("*", OTHER, None)):
        answer = ask_app(port(harness, setting), "OPTIONS", path, headers={**asked, "origin": origin})
        assert (answer.status, answer.body) == (204, b"")
        assert allows(answer) == ("*" if setting == "*" else origin, credentials)
        assert answer.headers["access-control-allow-methods"] == "GET, POST"
        assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
        assert "Origin" in answer.headers["vary"]


def test_preflight_permits_what_clients_of_assistants_send(harness: SearchHarness) -> None:
    answer = ask_app(port(harness, ALLOWED), "OPTIONS", "/mcp", headers={**PREFLIGHT, "origin": ALLOWED})
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type, mcp-protocol-version"


@pytest.mark.parametrize("origins", [(), (ALLOWED,)])
def test_preflight_of_an_unknown_origin_permits_nothing(harness: SearchHarness, origins: tuple[str, ...]) -> None:
    for origin in (OTHER, "null"):
        answer = ask_app(port(harness, *origins), "OPTIONS", "/api/v1/search", headers={**PREFLIGHT, "origin": origin})
        assert answer.status == 403
        assert answer.headers["content-type"] == "application/problem+json"
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "Origin" in answer.headers["vary"]


def test_preflight_needs_no_sign_in_and_options_without_a_question_is_no_preflight(signed: SignInHarness) -> None:
    app = serve(signed_port(signed), ALLOWED)
    wrong = {"authorization": "Bearer wrong", "origin": ALLOWED}
    assert ask_app(app, "OPTIONS", "/api/v1/search", headers={**PREFLIGHT, **wrong}).status == 204
    assert ask_app(app, "OPTIONS", "/api/v1/search", headers={"origin": ALLOWED}).status == 405


def test_named_origin_may_post_and_others_may_not(harness: SearchHarness) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    for origin, status in ((ALLOWED, 200), (OTHER, 403), ("null", 403), (f"http://{HOST}", 200)):
        app = port(harness, ALLOWED)
        retrieved = ask_app(app, "POST", "/api/v1/retrieve", body=b'{"query": "word"}', headers={**JSON, "origin": origin})
        answer = ask_app(app, "POST", "/search", body=b"q=word", headers={**form, "origin": origin})
        assert answer.status == retrieved.status == status, origin
        assert allows(answer) == allows(retrieved)
        assert (allows(answer)[0] is not None) == (origin == ALLOWED)
        assert "Origin" in answer.headers["vary"]


# --- errors and pages ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def signed(tmp_path: Path) -> Iterator[SignInHarness]:
    made = open_signin_harness(tmp_path, bounds=ThrottleLimits())
    made.signing.accounts.add("ann", PASSWORD)
    yield made
    made.search.store.close()


def signed_port(harness: SignInHarness) -> ASGIApp:
    return search_app(harness.search.services(), SearchSite(signin=harness.site, allow_origins=(ALLOWED,)))


def test_errors_may_be_read_by_named_origins_and_depend_on_the_origin(signed: SignInHarness) -> None:
    app = serve(signed_port(signed), ALLOWED)

    def ask(origin: str, status: int, path: str = "/api/v1/search", method: str = "GET", host: str = HOST, **headers: str) -> None:
        answer = ask_app(app, method, path, host=host, headers={"origin": origin, **headers})
        assert answer.status == status
        assert (allows(answer)[0] == origin) == (origin == ALLOWED)
        assert "Origin" in answer.headers["vary"]

    for origin in (ALLOWED, OTHER):
        ask(origin, 401, authorization="Bearer wrong")
        ask(origin, 404, "/api/v1/documents/x")
        ask(origin, 400, "/api/v1/documents")
        ask(origin, 421, host="other.example.com")
        ask(origin, 401, "/seedlist/myserver")
        for _ in range(20):
            ask_app(app, "GET", "/api/v1/search", headers={"authorization": "Basic YW5uOndyb25n"})
        ask(origin, 429, authorization="Basic YW5uOndyb25n")
    ask(ALLOWED, 405, method="DELETE")
    ask(OTHER, 403, method="POST")


def test_a_failure_of_the_program_depends_on_the_origin_too() -> None:
    async def fail(_scope: object, _receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": ()})  # type: ignore[operator]
        await send({"type": "http.response.body"})  # type: ignore[operator]

    answer = ask_app(serve(fail, ALLOWED), "GET", "/", headers={"origin": ALLOWED})
    assert (answer.status, answer.headers["vary"], allows(answer)) == (500, "Origin", (ALLOWED, "true"))


@pytest.mark.parametrize("path", ["/", "/search?q=word&proxystylesheet=x", "/signin", "/signout", "/nothing"])
def test_no_page_is_shared_because_its_forms_hold_codes(signed: SignInHarness, path: str) -> None:
    name, _, query = path.partition("?")
    answer = ask_app(serve(signed_port(signed), ALLOWED), "GET", name, query=query, headers={"origin": ALLOWED})
    assert not [header for header in answer.headers if header.startswith("access-control")]
    assert "Origin" in answer.headers["vary"]


def test_head_and_compressed_responses_stay_private_and_depend_on_both_headers(harness: SearchHarness) -> None:
    sent = {"origin": ALLOWED, "accept-encoding": "gzip"}
    for method in ("GET", "HEAD"):
        answer = ask_app(port(harness, ALLOWED), method, "/api/v1/search", query="q=word", headers=sent)
        assert answer.status == 200
        assert {name.strip() for name in answer.headers["vary"].split(",")} == {"Accept-Encoding", "Origin"}
        assert answer.headers["cache-control"] == "private, no-cache"
        assert allows(answer) == (ALLOWED, "true")
    static = ask_app(port(harness, ALLOWED), "GET", "/static/search.js", headers=sent)
    again = ask_app(port(harness, ALLOWED), "GET", "/static/search.js", headers={**sent, "if-none-match": static.headers["etag"]})
    assert again.status == 304
    assert "Origin" in again.headers["vary"]


@pytest.mark.parametrize(
    ("allowed", "origin", "named"),
    [
        ("*", OTHER, False),
        ("*", "null", False),
        ("*", f"http://{HOST}", True),
        ("*", "https://find.example.com", True),
        ("*", "", True),
        (ALLOWED, ALLOWED, True),
        (ALLOWED, OTHER, True),
    ],
)
def test_user_whom_a_proxy_names_is_anonymous_for_any_origin(tmp_path: Path, allowed: str, origin: str, named: bool) -> None:
    seen = []

    def identify(request: Request) -> AccessFilter:
        seen.append(find_current_user(request).is_signed_in)
        return ANONYMOUS

    harness = open_signin_harness(tmp_path, public_url="https://find.example.com")
    site = SearchSite(identify=identify, signin=harness.site, allow_origins=(allowed,))
    headers = {"x-forwarded-user": "ann"} | ({"origin": origin} if origin else {})
    app = serve(search_app(harness.search.services(), site), allowed)
    answer = ask_app(app, "GET", "/api/v1/search", headers=headers, peer=PROXY)
    assert (answer.status, seen) == (200, [named])
    # what the request itself proves counts for every origin
    seen.clear()
    proof = {"authorization": f"Bearer {ADMIN_TOKEN}"} | ({"origin": origin} if origin else {})
    assert ask_app(app, "GET", "/api/v1/search", headers=proof).status == 200
    assert seen == [True]
    harness.search.store.close()
