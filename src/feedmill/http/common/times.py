"""Times in the parameters of a request."""

from collections.abc import Mapping
from datetime import datetime

from feedmill.core.text.dates import parse_iso
from feedmill.model.errors import BadRequest


def find_time(parameters: Mapping[str, str], name: str) -> datetime | None:
    """Returns the time of a parameter, None if it is absent. Errors: BadRequest."""
    text = parameters.get(name, "")
    if not text:
        return None
    # an unescaped plus sign arrives as a space
    moment = parse_iso(text.replace(" ", "+") if "T" in text else text)
    if moment is None:
        raise BadRequest(f"{name}= is '{text[:100]}', which is no time; write 2026-03-01 or 2026-03-01T12:30:00")
    return moment
