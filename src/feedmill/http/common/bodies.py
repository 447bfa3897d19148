"""Reads small request bodies whole, and the JSON in them."""

import json
from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from feedmill.model.errors import BadRequest, TooLarge


async def read_body(request: Request, max_bytes: int, refusal: str = "") -> bytes:
    """Returns a request's body. Shape: ``refusal`` is the error's text. Errors: TooLarge, as soon as the body is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > max_bytes:
            raise TooLarge(refusal or f"the body is larger than {max_bytes} bytes")
    return bytes(body)


def decode_object(raw: bytes, make: Callable[[list[tuple[str, Any]]], dict[str, Any]] = dict) -> dict[str, Any]:
    """Returns the JSON object of a body. Shape: ``make`` makes each object of its members. Errors: BadRequest, also those of ``make``."""
    try:
        body = json.loads(raw, object_pairs_hook=make)
    except (ValueError, RecursionError) as exc:
        raise BadRequest("the body is no JSON") from exc
    if not isinstance(body, dict):
        raise BadRequest("the body is no JSON object")
    return body


def is_whole(text: str) -> bool:
    """Returns whether a text of JSON holds whole characters only, and no half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
