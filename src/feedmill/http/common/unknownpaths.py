"""Answers requests to an unknown path, or with an unknown method. If another port has the resource, the answer says which."""

import re
from functools import cache
from typing import Final
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from feedmill.http.common.openapi import RESOURCES, TITLES
from feedmill.http.common.problems import Problem, make_answer, problem_of
from feedmill.http.common.resource import Resource

_PARAMETER: Final = re.compile(r"\\\{[a-z_]+\\\}")


async def answer_http_error(request: Request, exc: Exception) -> JSONResponse:
    """Responds to an unknown path or method; for Starlette's table of exception handlers."""
    if not isinstance(exc, HTTPException):
        return make_answer(Problem.INTERNAL, "internal error")
    return make_answer(problem_of(exc.status_code), describe_http_error(request, exc), exc.headers)


def describe_http_error(request: Request, exc: HTTPException) -> str:
    """Describes an unknown path or method in lower case, with the methods that the address takes, and the port that has the resource."""
    allowed = (exc.headers or {}).get("Allow", "")
    parts = [exc.detail.lower(), f"this address takes {allowed}" if allowed else ""]
    if exc.status_code in (Problem.NOT_FOUND.status, Problem.METHOD_NOT_ALLOWED.status):
        parts.append(find_port(request.method, request.url.path))
    return "; ".join(filter(None, parts))


def find_port(method: str, path: str) -> str:
    """Returns which port has a resource, "" if none has. Shape: of the request only what stands in the table."""
    for resource, pattern in _list_patterns():
        if resource.method == ("get" if method == "HEAD" else method.lower()) and pattern.fullmatch(path):
            port = urlsplit(resource.port).port
            return f"{method} {resource.path} is answered by the {TITLES[resource.port]}, which is {port} by default"
    return ""


@cache
def _list_patterns() -> tuple[tuple[Resource, re.Pattern[str]], ...]:
    return tuple((resource, re.compile(_PARAMETER.sub("[^/]{1,300}", re.escape(resource.path)))) for resource in RESOURCES)
