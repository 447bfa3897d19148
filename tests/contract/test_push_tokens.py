"""Tokens of scope ``push`` at the feed port, on a real store: permitted requests, the data sources, and what is recorded of the others."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message

from feedmill.adapters.auditlog import FolderAuditLog
from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.adapters.store.engine import SqlStore
from feedmill.core.urls.networks import Networks
from feedmill.http.feeds.app import gate_app
from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.http.feeds.pushtoken import PushTokens
from feedmill.model.errors import BadRequest
from feedmill.model.signin import TokenScope
from feedmill.services.auditing import Auditing
from feedmill.services.feeds.intake import Intake
from feedmill.services.signin.accounts import TokenService
from feedmill.services.signin.pushcheck import PushCheck
from feedmill.services.signin.throttle import Throttle, ThrottleLimits
from feedmill.services.signin.tokencheck import TokenCheck
from tests.asgi import Answer, ask_app
from tests.builders.requests import make_basic
from tests.fakes import SilentNotifier
from tests.migratedstore import open_migrated

UNAUTHORIZED = "Error - Unauthorized Request"
ADMIN_TOKEN = "the-server's-own"
TYPE = {"content-type": "multipart/form-data; boundary=xx"}


@dataclass(slots=True)
class TokenHarness:
    """A feed port whose settings and clock a test changes."""

    store: SqlStore
    folder: Path
    auditing: Auditing
    tokens: TokenService
    config: GateConfig = field(default_factory=lambda: GateConfig(require_token=True))
    now: datetime = datetime(2026, 3, 1, tzinfo=UTC)
    app: ASGIApp = field(init=False)

    def make(self, *datasources: str, scope: TokenScope = TokenScope.PUSH, days: int | None = None) -> str:
        return self.tokens.add("old script", [scope], datasources=datasources, days=days).text

    def ask(self, method: str, path: str, token: str | None = None, **given: object) -> Answer:
        headers = {"authorization": f"Bearer {token}"} if token is not None else {}
        return ask_app(self.app, method, path, headers=headers, **given)

    def push(self, source: str, headers: Mapping[str, str], path: str = "/xmlfeed", name: str = "datasource") -> Answer:
        body = form((name, source), ("feedtype", "full"), ("data", "<gsafeed/>"))
        return ask_app(self.app, "POST", path, body=body, headers={**TYPE, **headers})

    def feeds(self) -> list[str]:
        with self.store.reading() as unit:
            return [feed.datasource for feed in unit.feeds.reader.list_newest(None, 100)]

    def files(self) -> list[str]:
        return [path.name for path in self.folder.iterdir()]

    def refusals(self) -> list[Mapping[str, object]]:
        return [entry.event.details for entry in self.auditing.iter_entries(kind="push.refused")]


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[TokenHarness]:
    store = open_migrated(tmp_path / "store.db")
    made: TokenHarness

    def clock() -> datetime:
        return made.now

    auditing = Auditing(FolderAuditLog(tmp_path / "audit"), clock)
    made = TokenHarness(store=store, folder=tmp_path / "feeds", auditing=auditing, tokens=TokenService(store, clock))
    intake = Intake(store=store, files=FolderFeedFiles(tmp_path / "feeds", reserve_bytes=0), notifier=SilentNotifier(), clock=clock)
    made.app = gate_app(
        config=lambda: made.config,
        intake=intake,
        dtd="<!ELEMENT gsafeed (group)>",
        count_feed=lambda _kind, _size: None,
        find_problems=list,
        auditing=auditing,
        tokens=PushTokens(
            find=PushCheck(store, clock, ADMIN_TOKEN).find_push_right,
            auditing=auditing,
            throttle=Throttle(ThrottleLimits(by_both=5), lambda: made.now.timestamp()),
        ),
    )
    yield made
    store.close()


def form(*fields: tuple[str, str]) -> bytes:
    parts = [f'--xx\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields]
    return ("".join(parts) + "--xx--\r\n").encode()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def basic(password: str, name: str = "anybody") -> dict[str, str]:
    return {"authorization": make_basic(name, password)}


@pytest.mark.parametrize("path", ["/xmlfeed", "/xmlfeed/", "/xmlgroups", "/xmlgroups/"])
def test_a_push_without_a_token_is_refused_in_the_old_words(harness: TokenHarness, path: str) -> None:
    harness.folder.mkdir(exist_ok=True)
    for headers in ({}, bearer("fm_wrong"), basic("wrong"), basic(""), {"authorization": "Basic %%%"}, {"authorization": "Negotiate x"}):
        answer = harness.push("hr", headers, path)
        assert (answer.status, answer.text) == (401, UNAUTHORIZED), headers
        assert answer.headers["www-authenticate"].split()[0] in ("Basic", "Bearer")
    assert harness.feeds() == []
    assert harness.files() == []


def test_a_token_is_taken_as_bearer_and_as_the_password_of_basic(harness: TokenHarness) -> None:
    token = harness.make()
    for headers in (bearer(token), basic(token), basic(token, ""), basic(token, "größe")):
        assert harness.push("hr", headers).text == "Success"
    assert harness.feeds() == ["hr"] * 4


def test_a_token_does_not_open_for_an_untrusted_address(harness: TokenHarness) -> None:
    token = harness.make()
    harness.config = GateConfig(require_token=True, trusted=Networks.parse(["10.1.2.3"]))
    answer = harness.push("hr", bearer(token))
    assert (answer.status, answer.text) == (200, UNAUTHORIZED)
    assert harness.ask("GET", "/api/v1/feeds", token).status == 403


def test_the_servers_own_token_is_taken(harness: TokenHarness) -> None:
    assert harness.push("hr", bearer(ADMIN_TOKEN)).text == "Success"


@pytest.mark.parametrize("scope", [TokenScope.SEARCH, TokenScope.VIEW, TokenScope.MANAGE, TokenScope.ADMINISTER])
def test_tokens_of_other_scopes_do_not_push(harness: TokenHarness, scope: TokenScope) -> None:
    assert harness.push("hr", bearer(harness.make(scope=scope))).status == 401


def test_a_token_of_scope_push_opens_nothing_but_the_feed_port(harness: TokenHarness) -> None:
    assert TokenCheck(harness.store, lambda: harness.now).find_token_holder(harness.make()) is None


def test_an_expired_or_removed_token_is_refused(harness: TokenHarness) -> None:
    made = harness.tokens.add("x", [TokenScope.PUSH], days=1)
    assert harness.push("hr", bearer(made.text)).status == 200
    harness.now += timedelta(days=1)
    assert harness.push("hr", bearer(made.text)).status == 401
    lasting = harness.tokens.add("x", [TokenScope.PUSH])
    harness.tokens.remove(lasting.token.id)
    assert harness.push("hr", bearer(lasting.text)).status == 401


def test_two_authorization_headers_are_refused(harness: TokenHarness) -> None:
    token = harness.make().encode()
    scope_headers = [(b"host", b"h"), (b"authorization", b"Bearer " + token), (b"authorization", b"Bearer " + token)]
    assert asyncio.run(send_chunks(harness, scope_headers, [b""]))[0] == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/feeds"),
        ("GET", "/api/v1/feeds/1"),
        ("GET", "/api/v1/feeds/1/content"),
        ("GET", "/api/v1/documents"),
        ("GET", "/api/v1/datasources"),
        ("DELETE", "/api/v1/datasources/hr"),
        ("GET", "/api/v1/openapi.json"),
        ("GET", "/api/anything"),
        ("GET", "/push"),
        ("GET", "/anything"),
    ],
)
def test_every_path_but_the_open_ones_wants_a_token(harness: TokenHarness, method: str, path: str) -> None:
    for token in (None, "wrong"):
        answer = harness.ask(method, path, token)
        assert answer.status == 401
        assert UNAUTHORIZED in answer.text
        assert ("error" in answer.text) == path.startswith("/api/")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/getdtd", "/gsafeed.dtd", "/getbacklogcount", "/"])
def test_open_paths_want_none(harness: TokenHarness, path: str) -> None:
    assert harness.ask("GET", path).status in (200, 307)


def test_a_token_for_some_sources_pushes_to_them_alone(harness: TokenHarness) -> None:
    token = harness.make("hr", "wiki")
    assert harness.push("hr", bearer(token)).text == "Success"
    assert harness.push(" wiki ", basic(token)).text == "Success"
    for path, name in (("/xmlfeed", "datasource"), ("/xmlgroups", "groupsource"), ("/xmlgroups", "replace")):
        answer = harness.push("finance", bearer(token), path, name)
        assert (answer.status, answer.text) == (401, UNAUTHORIZED)
    cleanup = ask_app(harness.app, "POST", "/xmlgroups", body=form(("cleanup", "finance")), headers={**TYPE, **bearer(token)})
    assert cleanup.status == 401
    assert harness.push("hr", bearer(token), "/xmlgroups", "groupsource").text == "Success"
    assert sorted(harness.feeds()) == ["hr", "hr", "wiki"]
    assert len(harness.files()) == 3


def test_a_raw_body_is_refused_by_what_its_header_names(harness: TokenHarness) -> None:
    token = harness.make("hr")
    body = b"<gsafeed><header><datasource>finance</datasource><feedtype>full</feedtype></header><group/></gsafeed>"
    headers = {"content-type": "text/xml", **bearer(token)}
    assert ask_app(harness.app, "POST", "/xmlfeed", body=body, headers=headers).status == 401
    assert harness.feeds() == []


def test_a_feed_for_another_source_is_refused_before_the_rest_is_read(harness: TokenHarness) -> None:
    token = harness.make("hr")
    head = form(("datasource", "finance"), ("feedtype", "full"), ("data", "<gsafeed>"))[: -len(b"\r\n--xx--\r\n")]
    headers = [(b"content-type", TYPE["content-type"].encode()), (b"authorization", b"Bearer " + token.encode())]
    status, read = asyncio.run(send_chunks(harness, headers, [head, *[bytes(65_536)] * 1_000]))
    assert status == 401
    assert read < 200
    assert harness.feeds() == []


def test_a_source_that_stands_behind_the_feed_leaves_nothing_behind(harness: TokenHarness) -> None:
    harness.folder.mkdir(exist_ok=True)
    body = form(("data", "x" * 3_000_000), ("feedtype", "full"), ("datasource", "finance"))
    answer = ask_app(harness.app, "POST", "/xmlfeed", body=body, headers={**TYPE, **bearer(harness.make("hr"))})
    assert answer.status == 401
    assert (harness.feeds(), harness.files()) == ([], [])


def test_a_token_for_some_sources_sees_their_feeds_alone(harness: TokenHarness) -> None:
    hr, wiki, everything = harness.make("hr"), harness.make("wiki"), harness.make()
    ids = {name: harness.push(name, bearer(everything)).headers["x-feedmill-feed"] for name in ("hr", "wiki")}
    assert [feed["datasource"] for feed in harness.ask("GET", "/api/v1/feeds", hr).json] == ["hr"]
    assert [feed["datasource"] for feed in harness.ask("GET", "/api/v1/feeds", harness.make("hr", "wiki")).json] == ["wiki", "hr"]
    assert harness.ask("GET", "/api/v1/feeds", hr, query="datasource=wiki").status == 403
    for suffix in ("", "/content"):
        assert harness.ask("GET", f"/api/v1/feeds/{ids['wiki']}{suffix}", wiki).status == 200
        foreign = harness.ask("GET", f"/api/v1/feeds/{ids['wiki']}{suffix}", hr)
        unknown = harness.ask("GET", f"/api/v1/feeds/999{suffix}", hr)
        assert (foreign.status, foreign.text.replace(ids["wiki"], "999")) == (unknown.status, unknown.text) == (404, unknown.text)
    assert harness.ask("DELETE", "/api/v1/datasources/wiki", hr).status == 403
    assert harness.ask("GET", "/api/v1/documents", hr, query="url=http://x/").status == 404
    assert harness.ask("GET", "/api/v1/openapi.json", hr).status == 200
    for path in ("/api/v1/status", "/api/v1/feedsandmore", "/api/v2/feeds", "/api/"):
        assert harness.ask("GET", path, hr).status == 403
    assert harness.ask("GET", "/api/v1/status", everything).status == 404


def test_without_the_setting_a_token_that_is_sent_counts_all_the_same(harness: TokenHarness) -> None:
    harness.config = GateConfig()
    token = harness.make("hr")
    assert harness.push("wiki", {}).status == 200
    assert harness.push("wiki", basic("the password of an old script")).status == 200
    assert harness.push("hr", bearer(token)).status == 200
    for headers in (bearer("wrong"), basic("fm_wrong")):
        assert harness.push("wiki", headers).status == 401
    for headers in (bearer(token), basic(token)):
        assert harness.push("wiki", headers).status == 401


def test_wrong_tokens_fill_no_log_and_keep_no_right_one_out(harness: TokenHarness) -> None:
    token = harness.make()
    for number in range(50):
        assert harness.push("hr", bearer(f"fm_{number}")).status == 401
    assert harness.push("hr", bearer(token)).text == "Success"
    refusals = harness.refusals()
    assert len(refusals) == 6
    assert refusals[0] == {"method": "POST", "path": "/xmlfeed", "reason": "the token is unknown, has expired or is of another scope"}
    assert not any("fm_" in str(refusal) for refusal in refusals)


def test_a_token_used_for_another_source_is_audited(harness: TokenHarness) -> None:
    token = harness.make("hr")
    harness.push("finance", bearer(token))
    harness.ask("DELETE", "/api/v1/datasources/finance", token)
    harness.ask("GET", "/api/v1/status", token)
    harness.push("hr", bearer(token))
    refusals = [(entry.event.actor, entry.event.details["path"]) for entry in harness.auditing.iter_entries(kind="push.refused")]
    assert refusals == [("token old script", path) for path in ("/xmlfeed", "/api/v1/datasources/finance", "/api/v1/status")]


def test_without_stored_tokens_the_setting_lets_no_request_in(harness: TokenHarness) -> None:
    intake = Intake(
        store=harness.store, files=FolderFeedFiles(harness.folder, reserve_bytes=0), notifier=SilentNotifier(), clock=lambda: harness.now
    )
    app = gate_app(config=lambda: harness.config, intake=intake, dtd="", count_feed=lambda *_: None, find_problems=list)
    assert ask_app(app, "GET", "/api/v1/feeds", headers=bearer(harness.make())).status == 401


@pytest.mark.parametrize(
    ("scopes", "given", "text"),
    [
        ([TokenScope.PUSH, TokenScope.SEARCH], {}, "feed port alone"),
        ([TokenScope.PUSH], {"user": "ann"}, "feed port alone"),
        ([TokenScope.SEARCH], {"datasources": ["hr"]}, "scope push"),
        ([TokenScope.PUSH], {"datasources": ["no name"]}, "no source's name"),
        ([TokenScope.PUSH], {"datasources": [f"s{number}" for number in range(101)]}, "at most 100"),
    ],
)
def test_tokens_that_cannot_be_are_refused(harness: TokenHarness, scopes: list[TokenScope], given: dict[str, list[str]], text: str) -> None:
    with pytest.raises(BadRequest, match=text):
        harness.tokens.add("x", scopes, **given)  # type: ignore[arg-type]


async def send_chunks(harness: TokenHarness, headers: list[tuple[bytes, bytes]], chunks: list[bytes]) -> tuple[int, int]:
    """Sends a body in pieces; returns the status and how many pieces were read, including those that were discarded."""
    read = 0
    statuses: list[int] = []

    async def receive() -> Message:
        nonlocal read
        if read == len(chunks):
            await asyncio.Event().wait()
        read += 1
        return {"type": "http.request", "body": chunks[read - 1], "more_body": read < len(chunks)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http", "method": "POST", "path": "/xmlfeed", "raw_path": b"/xmlfeed", "root_path": "", "query_string": b"",
        "scheme": "http", "headers": [(b"host", b"gsa"), *headers], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "http_version": "1.1", "asgi": {},
    }  # fmt: skip
    await harness.app(scope, receive, send)
    return statuses[0], read
