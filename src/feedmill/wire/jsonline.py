"""Reads the objects of JSON lines that commands take, such as the questions of a batch."""

import json
from typing import Any

from feedmill.model.errors import BadRequest


def parse_object(line: str, example: str) -> dict[str, Any]:
    """Returns the object of one line. Shape: ``example`` shows people one. Errors: BadRequest, with the fault and its column."""
    try:
        given = json.loads(line)
    except json.JSONDecodeError as exc:
        # the line within the text is always the first; the caller names that of the file
        raise BadRequest(f"no json: {exc.msg.removesuffix(' at')}, column {exc.colno}") from exc
    except (ValueError, RecursionError) as exc:
        raise BadRequest(f"no json: {exc}") from exc
    if not isinstance(given, dict):
        raise BadRequest(f"no json object, such as {example}")
    return given
