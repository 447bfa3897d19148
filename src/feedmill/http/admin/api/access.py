"""The resources about access on the admin port.

GET  /api/v1/access/explain         the decision of a URL's ACLs for a user, with its derivation
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
from feedmill.http.admin.protection import AUDITED, DECIDE
from feedmill.http.common.bodies import read_body
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.common.times import find_time
from feedmill.model.audit import Detail
from feedmill.model.errors import BadRequest, NotFound
from feedmill.model.identity import DEFAULT_NAMESPACE, Identity
from feedmill.services.access.accessreview import AccessReview, Finding
from feedmill.services.access.explaining import AccessQuestion, Explaining
from feedmill.services.access.history.changes import AccessChanges
from feedmill.wire.decisions import parse_question, render_change, render_decision, render_early_decision, render_named, render_principal

MAX_BATCH_BYTES = 4_000_000
DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
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
        return JSONResponse(await run_in_threadpool(_list_changes, tools.changes, request))

    async def findings(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(_list_findings, tools.review, request))

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
    comparison = changes.compare(_read_identity(request), since, find_time(parameters, "until"))
    page = changes.list_page(comparison, after=_read_number(parameters, "after", 0), limit=_read_limit(parameters))
    return {
        "since": comparison.since.isoformat(timespec="microseconds"),
        "until": comparison.until.isoformat(timespec="microseconds"),
        "changes": [render_change(change) for change in page.changes],
        "next_after": page.next_after,
    }


def _list_findings(review: AccessReview, request: Request) -> dict[str, Any]:
    parameters, name = request.query_params, request.path_params["finding"]
    known = {finding.value: finding for finding in Finding}
    if name not in known:
        raise NotFound(f"there is no list '{name[:100]}'; there are {', '.join(known)}")
    after, limit = _read_number(parameters, "after", 0), _read_limit(parameters)
    if known[name] is Finding.UNRESOLVED:
        groups = list(islice(review.iter_unresolved(), after, after + limit))
        return {"found": [render_principal(group) for group in groups], "next_after": after + limit if len(groups) == limit else None}
    found = list(islice(review.iter_documents(known[name], after=after), limit))
    return {
        "found": [{"url": document.url, "datasource": document.datasource} for document in found],
        "next_after": found[-1].id if len(found) == limit else None,
    }


# --- parameters -----------------------------------------------------------------------------------------------------------------


def _require(parameters: Mapping[str, str], name: str) -> str:
    value = parameters.get(name, "")
    if not value:
        raise BadRequest(f"{name}= is missing")
    return value


def _read_identity(request: Request) -> Identity:
    parameters = request.query_params
    return read_identity(parameters.get("user"), parameters.get("namespace", DEFAULT_NAMESPACE), parameters.getlist("group"))


def _read_limit(parameters: Mapping[str, str]) -> int:
    limit = _read_number(parameters, "limit", DEFAULT_LIMIT)
    if not 1 <= limit <= MAX_LIMIT:
        raise BadRequest(f"limit= is a number from 1 to {MAX_LIMIT}")
    return limit


def _read_number(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > _MAX_DIGITS:
        raise BadRequest(f"{name}= is a number, as next_after of the answer before")
    return int(text)
