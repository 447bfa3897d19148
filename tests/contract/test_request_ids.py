"""The id of a request stands in its response, in its log lines, its errors and its entries of the audit log."""

import asyncio
import io
import json
import re
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.adapters.auditlog import FolderAuditLog
from feedmill.core.urls.networks import Networks
from feedmill.http.common.problems import Problem, make_answer
from feedmill.http.common.requestids import RequestIds
from feedmill.http.common.searchthreads import run_search
from feedmill.model.audit import AuditKind
from feedmill.services.auditing import Auditing
from feedmill.telemetry.logs import configure_logs
from feedmill.telemetry.requestids import RequestThreads, find_request_id, set_request_id
from tests.asgi import Answer, ask_app

PROXY = "10.1.2.3"
MADE = re.compile("[0-9a-f]{32}")


async def show_id(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the id as the task and a thread of a search see it."""
    await JSONResponse([find_request_id(), await run_search(find_request_id)])(scope, receive, send)


def ask(app: ASGIApp = show_id, peer: str = PROXY, given: str | None = None, **options: Any) -> Answer:
    headers = {} if given is None else {"x-request-id": given}
    return ask_app(RequestIds(app, trusted=Networks.parse(["10.0.0.0/8"])), "GET", "/", peer=peer, headers=headers, **options)


def test_each_request_has_an_id_of_its_own() -> None:
    answers = [ask() for _ in range(20)]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(ids)) == 20
    assert all(MADE.fullmatch(each) for each in ids)
    assert [answer.json for answer in answers] == [[each, each] for each in ids]


@pytest.mark.parametrize("given", ["7b1f", "Root=1-67891233-abcdef012345678912345678", "a/b:c+d=e._-", "0" * 128])
def test_id_of_a_trusted_proxy_stays(given: str) -> None:
    assert ask(given=given).headers["x-request-id"] == given
    assert ask(given=given).json == [given, given]


@pytest.mark.parametrize("given", ["", " ", "a b", "-a", "a\tb", '"a"', "<b>", "a;b", "0" * 129, "ä", "a,b"])
def test_id_that_is_not_well_formed_is_replaced(given: str) -> None:
    assert MADE.fullmatch(ask(given=given).headers["x-request-id"])


def test_id_of_others_and_one_of_several_is_replaced() -> None:
    assert MADE.fullmatch(ask(given="7b1f", peer="192.0.2.1").headers["x-request-id"])
    app = RequestIds(show_id, trusted=Networks.parse(["all"]))

    async def repeat(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "headers": [*scope["headers"], (b"x-request-id", b"b")]}, receive, send)

    assert ask_app(repeat, "GET", "/").headers["x-request-id"] == "b"
    assert MADE.fullmatch(ask_app(repeat, "GET", "/", headers={"x-request-id": "a"}).headers["x-request-id"])


def test_error_names_the_id() -> None:
    answer = ask(make_answer_later(lambda: make_answer(Problem.CONFLICT, "it exists")), given="7b1f")
    assert answer.json["request_id"] == "7b1f"


def make_answer_later(make: Callable[[], ASGIApp]) -> ASGIApp:
    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await make()(scope, receive, send)

    return respond


def test_log_lines_of_a_request_name_it_and_others_do_not() -> None:
    stream = io.StringIO()
    configure_logs("web", form="json", stream=stream)
    log = structlog.get_logger("test")

    async def work(scope: Scope, receive: Receive, send: Send) -> None:
        log.info("inside")
        await run_search(lambda: log.info("in a thread"))
        await JSONResponse({})(scope, receive, send)

    log.info("outside")
    ask(work, given="7b1f")
    lines = {line["event"]: line.get("request_id") for line in map(json.loads, stream.getvalue().splitlines())}
    assert lines == {"outside": None, "inside": "7b1f", "in a thread": "7b1f"}


def test_threads_belong_to_the_request_that_submits_their_work() -> None:
    async def find(threads: Executor, request_id: str) -> str:
        set_request_id(request_id)
        return await asyncio.get_running_loop().run_in_executor(threads, find_request_id)

    async def find_both(threads: Executor) -> list[str]:
        return list(await asyncio.gather(find(threads, "a"), find(threads, "b")))

    with RequestThreads(1) as threads:
        assert asyncio.run(find_both(threads)) == ["a", "b"]
        assert threads.submit(find_request_id).result() == ""


def test_audit_entry_names_the_request_that_caused_it(tmp_path: Path) -> None:
    auditing = Auditing(FolderAuditLog(tmp_path), lambda: datetime(2026, 3, 1, tzinfo=UTC))

    async def work(scope: Scope, receive: Receive, send: Send) -> None:
        auditing.log_event(AuditKind.SIGNED_OUT, details={"everywhere": True})
        await JSONResponse({})(scope, receive, send)

    ask(work, given="7b1f")
    auditing.log_event(AuditKind.SETTINGS_READ)
    assert [entry.event.details for entry in auditing.iter_entries()] == [{"everywhere": True, "request_id": "7b1f"}, {}]
