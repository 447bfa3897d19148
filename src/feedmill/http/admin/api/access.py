"""The resources about access on the admin port.

GET  /api/v1/access/explain         the decision of a URL's ACLs for a user, with its explanation
POST /api/v1/access/explain         many of them: JSON lines in, JSON lines out
GET  /api/v1/access/who             the users and groups that the ACLs of a URL name
GET  /api/v1/access/changes         what changed for a user since a time, a page at a time
GET  /api/v1/access/list/{finding}  findings that an administrator should check, a page at a time
"""

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from feedmill.core.access.principals import read_identity
from feedmill.core.text.dates import parse_iso
from feedmill.http.admin.protection import AUDITED, DECIDE
from feedmill.http.common.bodies import read_body
from feedmill.http.common.paging import NO_CURSOR, link_next, read_cursor, read_limit, write_cursor
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.common.times import find_time
from feedmill.model.accessfinding import Finding
from feedmill.model.audit import Detail
from feedmill.model.errors import BadRequest, NotFound
from feedmill.model.identity import DEFAULT_NAMESPACE, Identity
from feedmill.services.access.accessreview import AccessReview
from feedmill.services.access.explaining import AccessQuestion, Explaining
from feedmill.services.access.history.changes import AccessChanges
from feedmill.wire.decisions import parse_question, render_change, render_decision, render_early_decision, render_named, render_principal

MAX_BATCH_BYTES = 4_000_000
DEFAULT_LIMIT = 100
SUMMARIZED = 100
"""The number of users and URLs of a batch that the audit log names."""

_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTools:
    """The services behind the resources."""

    explaining: Explaining
    changes: AccessChanges
    review: AccessReview


def access_routes(tools: AccessTools) -> list[DeclaredRoute]:
    async def explain(request: Request) -> Response:
        parameters = request.query_params
        question, at = AccessQuestion(url=_require(parameters, "url"), identity=_read_identity(request)), find_time(parameters, "at")
        return JSONResponse(
            render_early_decision(await run_in_threadpool(tools.explaining.explain_with_policy, question, at=at), parameters.get("user"))
        )

    async def explain_batch(request: Request) -> Response:
        body = await read_body(request, MAX_BATCH_BYTES)
        at = find_time(request.query_params, "at")
        questions = await run_in_threadpool(_read_lines, body)
        request.scope[AUDITED] = _summarize(questions)
        return Response(await run_in_threadpool(_explain_lines, tools.explaining, questions, at), media_type="application/jsonl")

    async def who(request: Request) -> Response:
        url = _require(request.query_params, "url")
        named = await run_in_threadpool(tools.explaining.list_named, url, at=find_time(request.query_params, "at"))
        return JSONResponse({"url": url, "principals": [render_named(principal, verdict) for principal, verdict in named]})

    async def changes(request: Request) -> Response:
        answer = await run_in_threadpool(_list_changes, tools.changes, request)
        return JSONResponse(answer, headers=link_next(request, answer["next_cursor"]))

    async def findings(request: Request) -> Response:
        answer = await run_in_threadpool(_list_findings, tools.review, request)
        return JSONResponse(answer, headers=link_next(request, answer["next_cursor"]))

    return [
        DeclaredRoute("/api/v1/access/explain", explain, methods=["GET"], requires=DECIDE),
        DeclaredRoute("/api/v1/access/explain", explain_batch, methods=["POST"], requires=DECIDE),
        DeclaredRoute("/api/v1/access/who", who, methods=["GET"], requires=DECIDE),
        DeclaredRoute("/api/v1/access/changes", changes, methods=["GET"], requires=DECIDE),
        DeclaredRoute("/api/v1/access/list/{finding}", findings, methods=["GET"], requires=DECIDE),
    ]


Lines = list[tuple[str, str | None, Identity]]


def _read_lines(body: bytes) -> Lines:
    questions: Lines = []
    # splits at line feeds alone: names may hold other characters that end lines
    for number, line in enumerate(body.removeprefix(BOM_UTF8).split(b"\n"), start=1):
        if line.strip():
            try:
                questions.append(parse_question(line.decode("utf-8")))
            except UnicodeDecodeError as exc:
                raise BadRequest(f"line {number}: no UTF-8") from exc
            except BadRequest as exc:
                raise BadRequest(f"line {number}: {exc}") from exc
    return questions


def _summarize(questions: Lines) -> dict[str, Detail]:
    """Returns the audit log's summary of a batch."""
    users = list(dict.fromkeys(user or "" for _, user, _ in questions))[:SUMMARIZED]
    urls = list(dict.fromkeys(url for url, _, _ in questions))[:SUMMARIZED]
    return {"questions": len(questions), "users": users, "urls": urls}


def _explain_lines(explaining: Explaining, questions: Lines, at: datetime | None) -> str:
    decisions = explaining.explain_many([AccessQuestion(url=url, identity=identity) for url, _, identity in questions], at=at)
    answers = (render_decision(decision, user) for decision, (_, user, _) in zip(decisions, questions, strict=True))
    return "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)


def _list_changes(changes: AccessChanges, request: Request) -> dict[str, Any]:
    parameters = request.query_params
    since = find_time(parameters, "since")
    if since is None:
        raise BadRequest("since= is missing, such as since=2026-03-01T12:30:00")
    after, until = _read_number(parameters, "after", 0), find_time(parameters, "until")
    if (key := read_cursor(request, list)) is not None:
        after, until = _read_place(key)
    comparison = changes.compare(_read_identity(request), since, until)
    page = changes.list_page(comparison, after=after, limit=read_limit(request, DEFAULT_LIMIT))
    end = comparison.until.isoformat(timespec="microseconds")
    return {
        "since": comparison.since.isoformat(timespec="microseconds"),
        "until": end,
        "changes": [render_change(change) for change in page.changes],
        "next_after": page.next_after,
        # all pages compare with the same end
        "next_cursor": None if page.next_after is None else write_cursor((page.next_after, end)),
    }


def _read_place(key: list[Any]) -> tuple[int, datetime]:
    """Returns what a cursor of changes holds. Errors: BadRequest."""
    until = parse_iso(key[1]) if len(key) == 2 and isinstance(key[0], int) and isinstance(key[1], str) else None
    if until is None:
        raise BadRequest(f"parameter cursor {NO_CURSOR}")
    return key[0], until


def _list_findings(review: AccessReview, request: Request) -> dict[str, Any]:
    parameters, name = request.query_params, request.path_params["finding"]
    known = {finding.value: finding for finding in Finding}
    if name not in known:
        raise NotFound(f"there is no list '{name[:100]}'; there are {', '.join(known)}")
    after = read_cursor(request, int) or _read_number(parameters, "after", 0)
    limit = read_limit(request, DEFAULT_LIMIT)
    if known[name] is Finding.UNRESOLVED:
        groups = list(islice(review.iter_unresolved(), after, after + limit))
        return _make_findings([render_principal(group) for group in groups], after + limit if len(groups) == limit else None)
    found = list(islice(review.iter_documents(known[name], after=after), limit))
    shown = [{"url": document.url, "datasource": document.datasource} for document in found]
    return _make_findings(shown, found[-1].id if len(found) == limit else None)


def _make_findings(found: list[dict[str, Any]], next_after: int | None) -> dict[str, Any]:
    return {"found": found, "next_after": next_after, "next_cursor": None if next_after is None else write_cursor(next_after)}


# --- parameters -----------------------------------------------------------------------------------------------------------------


def _require(parameters: Mapping[str, str], name: str) -> str:
    value = parameters.get(name, "")
    if not value:
        raise BadRequest(f"{name}= is missing")
    return value


def _read_identity(request: Request) -> Identity:
    parameters = request.query_params
    return read_identity(parameters.get("user"), parameters.get("namespace", DEFAULT_NAMESPACE), parameters.getlist("group"))


def _read_number(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > _MAX_DIGITS:
        raise BadRequest(f"{name}= is a number, as next_after of the answer before")
    return int(text)
