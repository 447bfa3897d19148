"""Errors of the JSON resources: one shape, and one table from our errors to statuses.

Shape: ``{"type", "title", "status", "detail", "code", "request_id"}`` as ``application/problem+json``. ``type`` is the page of the manual,
which the search port shows and to which the other ports lead (``manuallink``). ``detail`` says what is wrong and where. Two members are
our own: ``code`` is the name of the problem for programs, and ``request_id`` leads to the log. Source: RFC 9457.
"""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Send

from feedmill.http.common.answers import Body, Drain, Headers, send_early
from feedmill.model.errors import BadRequest, Busy, Conflict, Corrupt, Denied, DiskFull, FeedmillError, NotFound, TooLarge, VersionConflict
from feedmill.telemetry.requestids import find_request_id

MEDIA_TYPE: Final = "application/problem+json"
PAGE: Final = "/manual/reference/errors.html"
"""The page of the manual on the search port that explains each problem."""


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

    @property
    def title(self) -> str:
        """The name that people read."""
        return self.name.replace("_", " ").capitalize()


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


def describe_problem(problem: Problem, detail: str) -> dict[str, str | int]:
    """Returns a problem's JSON."""
    type_ = f"{PAGE}#{problem.code}"
    request_id = find_request_id()
    named = {"request_id": request_id} if request_id else {}
    return {"type": type_, "title": problem.title, "status": problem.status, "detail": detail, "code": problem.code, **named}


def make_answer(problem: Problem, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Returns the response for a problem."""
    return JSONResponse(describe_problem(problem, message), problem.status, headers=headers, media_type=MEDIA_TYPE)


async def answer_problem(_request: Request, exc: Exception) -> JSONResponse:
    """Responds to a request that ended in one of our errors; for Starlette's table of exception handlers."""
    return make_answer(find_problem(exc), str(exc))


async def answer_failure(request: Request, _exc: Exception) -> Response:
    """Responds to a request that ended in an unexpected error, which the server logs: programs get a problem, others a line of text."""
    if request.url.path.startswith("/api/"):
        return make_answer(Problem.INTERNAL, "internal error")
    request_id = find_request_id()
    return PlainTextResponse(f"Internal Server Error (request {request_id})" if request_id else "Internal Server Error", 500)


async def send_problem(body: Body, send: Send, problem: Problem, message: str, drain: Drain, headers: Headers = ()) -> None:
    """Sends a problem before the body was read, and closes the connection."""
    text = json.dumps(describe_problem(problem, message))
    await send_early(body, send, problem.status, text, drain, content_type=MEDIA_TYPE.encode("ascii"), headers=headers)
