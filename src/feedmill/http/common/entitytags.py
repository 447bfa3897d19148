"""Answers with an ``ETag``, so that a client whose copy is still the same gets no body again. Source: RFC 9110, 8.8.3 and 13.1.2."""

import hashlib
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response


def respond_tagged(request: Request, body: bytes, media_type: str, headers: Mapping[str, str]) -> Response:
    """Returns a body with its tag, or that the client has it. Both have the headers."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    tagged = {**headers, "ETag": tag}
    return Response(status_code=304, headers=tagged) if tag in known else Response(body, media_type=media_type, headers=tagged)
