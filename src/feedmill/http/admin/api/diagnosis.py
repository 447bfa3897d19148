"""Why searches find a URL or do not, on the admin port.

GET /api/v1/why   about url=; optionally for user=, namespace= and group=, for the search query= in collection=
"""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from feedmill.core.access.principals import read_identity
from feedmill.http.admin.api.crawling import render_crawl_entry
from feedmill.http.admin.protection import DECIDE
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.feeds.receipts import render_event
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.services.diagnosis import Diagnosing, DiagnosisQuestion, QueryMatch, UrlDiagnosis
from feedmill.wire.decisions import render_early_decision
from feedmill.wire.jsonvalues import write_code

Json = dict[str, Any]


def render_diagnosis(found: UrlDiagnosis, user: str | None = None) -> Json:
    """Returns an answer as JSON."""
    document = found.document
    return {
        "url": found.url,
        "searchable": found.searchable,
        "state": found.state,
        "state_code": write_code(found.state),
        "causes": list(found.causes),
        "visible": found.visible,
        "access": None if found.decision is None else render_early_decision(found.decision, user),
        "query": None if found.match is None else _render_match(found.match),
        "datasource": None if document is None else document.datasource,
        "feed": None if document is None or document.feed_id is None else str(document.feed_id),
        "history": [render_event(event) for event in found.history],
        "crawl": None if found.entry is None else render_crawl_entry(found.entry),
    }


def _render_match(match: QueryMatch) -> Json:
    return {"query": match.query, "matches": match.matches, "rank": match.rank}


def diagnosis_routes(diagnosing: Diagnosing) -> list[DeclaredRoute]:
    async def why(request: Request) -> Response:
        given = request.query_params
        user, groups = given.get("user") or None, given.getlist("group")
        if not given.get("url"):
            raise BadRequest("url= is missing")
        question = DiagnosisQuestion(
            url=given["url"],
            identity=read_identity(user, given.get("namespace", DEFAULT_NAMESPACE), groups) if user or groups else None,
            query=given.get("query", ""),
            collection=given.get("collection", ""),
        )
        return JSONResponse(render_diagnosis(await run_in_threadpool(diagnosing.diagnose, question), user))

    return [DeclaredRoute("/api/v1/why", why, methods=["GET"], requires=DECIDE)]
