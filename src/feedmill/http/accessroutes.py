"""What the admin port says of access.

GET  /api/v1/access/explain    the decision of a URL's ACLs for somebody, with its derivation
POST /api/v1/access/explain    many of them: JSON lines in, JSON lines out
"""

import json
from datetime import datetime

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from feedmill.core.dates import parse_iso
from feedmill.core.principals import read_identity
from feedmill.http.bodies import read_body
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.services.explaining import Explaining, Question
from feedmill.wire.decisions import parse_question, render_decision

MAX_BATCH_BYTES = 4_000_000


def access_routes(explaining: Explaining) -> list[Route]:
    """Gives the routes."""

    async def explain(request: Request) -> Response:
        asked = request.query_params
        url, user = asked.get("url", ""), asked.get("user")
        if not url:
            raise BadRequest("url= is missing")
        identity = read_identity(user, asked.get("namespace", DEFAULT_NAMESPACE), asked.getlist("group"))
        decision = await run_in_threadpool(explaining.explain, Question(url=url, identity=identity), at=_read_time(asked.get("at")))
        return JSONResponse(render_decision(decision, user))

    async def explain_batch(request: Request) -> Response:
        body = await read_body(request, MAX_BATCH_BYTES)
        at = _read_time(request.query_params.get("at"))
        return Response(await run_in_threadpool(_explain_lines, explaining, body, at), media_type="application/jsonl")

    return [
        Route("/api/v1/access/explain", explain, methods=["GET"]),
        Route("/api/v1/access/explain", explain_batch, methods=["POST"]),
    ]


def _read_time(text: str | None) -> datetime | None:
    if not text:
        return None
    # a plus sign that was not escaped arrives as a blank
    moment = parse_iso(text.replace(" ", "+") if text.count(" ") == 1 and text.count(":") > 1 and "T" in text else text)
    if moment is None:
        raise BadRequest(f"'{text}' is no time; write 2026-03-01 or 2026-03-01T12:30:00")
    return moment


def _explain_lines(explaining: Explaining, body: bytes, at: datetime | None) -> str:
    asked = []
    for number, line in enumerate(body.decode("utf-8", "replace").splitlines(), start=1):
        if line.strip():
            try:
                asked.append(parse_question(line))
            except BadRequest as exc:
                raise BadRequest(f"line {number}: {exc}") from exc
    decisions = explaining.explain_many([Question(url=url, identity=identity) for url, _, identity in asked], at=at)
    answers = (render_decision(decision, user) for decision, (_, user, _) in zip(decisions, asked, strict=True))
    return "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)
