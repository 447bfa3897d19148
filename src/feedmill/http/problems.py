"""Errors of the JSON resources: one shape, one table from the house's errors to statuses.

Shape: ``{"error": {"code", "message", "docs"}}``; the code is for programs, the message for people, docs the page of the manual.
"""

import json
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Send

from feedmill.http.answers import Body, Drain, send_early
from feedmill.model.errors import BadRequest, Busy, Conflict, Corrupt, Denied, DiskFull, FeedmillError, NotFound, Overtaken, TooLarge

DOCS: Final = "docs/reference/errors.md"


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of error as it leaves: status and code."""

    status: int
    code: str


BAD_REQUEST: Final = Problem(400, "bad_request")
UNAUTHORIZED: Final = Problem(401, "unauthorized")
FORBIDDEN: Final = Problem(403, "forbidden")
NOT_FOUND: Final = Problem(404, "not_found")
METHOD_NOT_ALLOWED: Final = Problem(405, "method_not_allowed")
CONFLICT: Final = Problem(409, "conflict")
OVERTAKEN: Final = Problem(412, "overtaken")
TOO_LARGE: Final = Problem(413, "too_large")
TOO_MANY_FAILURES: Final = Problem(429, "too_many_failures")
INTERNAL: Final = Problem(500, "internal")
BUSY: Final = Problem(503, "busy")
DISK_FULL: Final = Problem(507, "disk_full")

PROBLEMS: Final = {
    problem.status: problem
    for problem in (
        BAD_REQUEST,
        UNAUTHORIZED,
        FORBIDDEN,
        NOT_FOUND,
        METHOD_NOT_ALLOWED,
        CONFLICT,
        OVERTAKEN,
        TOO_LARGE,
        TOO_MANY_FAILURES,
        INTERNAL,
        BUSY,
        DISK_FULL,
    )
}
"""All kinds, by their status."""

_TABLE: Final[tuple[tuple[type[FeedmillError], Problem], ...]] = (
    (TooLarge, TOO_LARGE),
    (BadRequest, BAD_REQUEST),
    (NotFound, NOT_FOUND),
    (Overtaken, OVERTAKEN),
    (Conflict, CONFLICT),
    (Denied, FORBIDDEN),
    (DiskFull, DISK_FULL),
    (Busy, BUSY),
    (Corrupt, INTERNAL),
)
"""From the house's errors to problems; the first that fits counts, so that special ones stand before general ones."""


def find_problem(error: FeedmillError) -> Problem:
    """Gives the problem that an error is to the asker."""
    return next((problem for kind, problem in _TABLE if isinstance(error, kind)), INTERNAL)


def problem_of(status: int) -> Problem:
    """Gives the problem that a status stands for; one without is a bad request below 500, else internal."""
    return PROBLEMS.get(status) or (BAD_REQUEST if status < INTERNAL.status else INTERNAL)


def describe_problem(problem: Problem, message: str) -> dict[str, dict[str, str]]:
    """Gives a problem's JSON."""
    return {"error": {"code": problem.code, "message": message, "docs": f"{DOCS}#{problem.code}"}}


async def answer_problem(_request: Request, exc: Exception) -> JSONResponse:
    """Answers a request that ended in one of the house's errors; for Starlette's table of exception handlers."""
    problem = find_problem(exc) if isinstance(exc, FeedmillError) else INTERNAL
    return JSONResponse(describe_problem(problem, str(exc)), problem.status)


async def send_problem(body: Body, send: Send, problem: Problem, message: str, drain: Drain) -> None:
    """Answers with a problem before the body was read, and closes the connection."""
    text = json.dumps(describe_problem(problem, message))
    await send_early(body, send, problem.status, text, drain, content_type=b"application/json")
