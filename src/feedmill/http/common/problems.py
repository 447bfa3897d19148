"""Errors of the JSON resources: one shape, and one table from our errors to statuses.

Shape: ``{"error": {"code", "message", "docs"}}``. The code is for programs, the message for people, and docs is the page of the manual.
"""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Send

from feedmill.http.common.answers import Body, Drain, Headers, send_early
from feedmill.model.errors import BadRequest, Busy, Conflict, Corrupt, Denied, DiskFull, FeedmillError, NotFound, TooLarge, VersionConflict

DOCS: Final = "docs/reference/errors.md"


class Problem(Enum):
    """A kind of error in responses, by its status."""

    BAD_REQUEST = 400
    UNAUTHORIZED = 401
    FORBIDDEN = 403
    NOT_FOUND = 404
    METHOD_NOT_ALLOWED = 405
    CONFLICT = 409
    OVERTAKEN = 412
    TOO_LARGE = 413
    MISDIRECTED = 421
    TOO_MANY_FAILURES = 429
    INTERNAL = 500
    BUSY = 503
    DISK_FULL = 507

    @property
    def status(self) -> int:
        """The status of the response."""
        return self.value

    @property
    def code(self) -> str:
        """The name that programs use."""
        return self.name.lower()


_TABLE: Final[tuple[tuple[type[FeedmillError], Problem], ...]] = (
    (TooLarge, Problem.TOO_LARGE),
    (BadRequest, Problem.BAD_REQUEST),
    (NotFound, Problem.NOT_FOUND),
    (VersionConflict, Problem.OVERTAKEN),
    (Conflict, Problem.CONFLICT),
    (Denied, Problem.FORBIDDEN),
    (DiskFull, Problem.DISK_FULL),
    (Busy, Problem.BUSY),
    (Corrupt, Problem.INTERNAL),
)
"""The problem of each of our errors. The first match counts, so special errors stand before general ones."""


def find_problem(error: Exception) -> Problem:
    """Returns the problem for an error; foreign errors are internal."""
    return next((problem for kind, problem in _TABLE if isinstance(error, kind)), Problem.INTERNAL)


def problem_of(status: int) -> Problem:
    """Returns the problem for a status; an unlisted status is a bad request below 500, otherwise internal."""
    otherwise = Problem.BAD_REQUEST if status < Problem.INTERNAL.status else Problem.INTERNAL
    return next((problem for problem in Problem if problem.status == status), otherwise)


def describe_problem(problem: Problem, message: str) -> dict[str, dict[str, str]]:
    """Returns a problem's JSON."""
    return {"error": {"code": problem.code, "message": message, "docs": f"{DOCS}#{problem.code}"}}


def make_answer(problem: Problem, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Returns the response for a problem."""
    return JSONResponse(describe_problem(problem, message), problem.status, headers=headers)


async def answer_problem(_request: Request, exc: Exception) -> JSONResponse:
    """Responds to a request that ended in one of our errors; for Starlette's table of exception handlers."""
    return make_answer(find_problem(exc), str(exc))


async def answer_http_error(_request: Request, exc: Exception) -> JSONResponse:
    """Responds to an unknown path or method; for Starlette's table of exception handlers."""
    if not isinstance(exc, HTTPException):
        return make_answer(Problem.INTERNAL, "internal error")
    return make_answer(problem_of(exc.status_code), str(exc.detail).lower(), exc.headers)


async def send_problem(body: Body, send: Send, problem: Problem, message: str, drain: Drain, headers: Headers = ()) -> None:
    """Sends a problem before the body was read, and closes the connection."""
    text = json.dumps(describe_problem(problem, message))
    await send_early(body, send, problem.status, text, drain, content_type=b"application/json", headers=headers)
